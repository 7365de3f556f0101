"""Hook points that only observe: told of an event once it is durable, in the background, and done before the driver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from hooks.definition.hook_points import HookType
from hooks.events.envelope import Event
from hooks.events.payloads import ReconcileResult, ResumeStarted, WaitCreated, WaitDeadlineExceeded, WaitResolved
from hooks.ids import ActivityId
from hooks.kernel.state import AttemptState, RunEnding, WaitState
from hooks.pipeline.dispatch import Dispatch, PayloadDocument
from hooks.pipeline.effect_payloads import effect_reconciled
from hooks.pipeline.run_payloads import activities_cancelled, run_finished, run_resumed, wait_created, wait_resolved
from hooks.runtime.hook_asker import HookAsker

_OBSERVED = {ResumeStarted, WaitCreated, WaitResolved, WaitDeadlineExceeded, ReconcileResult, *RunEnding.__args__}


class Observers:
    """Those who observe a run: its beginning again and end, its gates, its cancels, what was learned of effects."""

    def __init__(self, asker: HookAsker) -> None:
        self._asker = asker
        self._observing: set[asyncio.Task[None]] = set()
        self._ordinals: dict[HookType, int] = {}

    def observe(self, event: Event) -> None:
        """Tell those who observe of an event that has become durable; in the background, one task an event."""
        if type(event.payload) not in _OBSERVED:
            return
        occasion, at = self._asker.run_occasion(), event.timestamp
        match event.payload:
            case ResumeStarted():
                self._tell_observers(HookType.RUN_RESUMED, lambda n: run_resumed(occasion, at, ordinal=n))
            case WaitCreated() as created:
                self._tell_observers(
                    HookType.WAIT_CREATED, lambda n: wait_created(occasion, created, at, ordinal=n), created.node_id
                )
            case WaitResolved() | WaitDeadlineExceeded() as resolved:
                for wait in self._answered_waits():
                    if wait.created.wait_id == resolved.wait_id:
                        self._observe_answer(wait)
            case ReconcileResult() as result:
                attempts = self._asker.recorder.state.open, self._asker.recorder.state.in_doubt
                activity_id = ActivityId(result.activity_id)
                attempt = attempts[0].get(activity_id) or attempts[1].get(activity_id)
                if attempt is not None:
                    self._observe_reconciled(attempt, result, at)
            case _ if isinstance(event.payload, RunEnding):
                ending: RunEnding = event.payload
                self._tell_observers(HookType.RUN_FINISHED, lambda n: run_finished(occasion, ending, at, ordinal=n))

    def catch_up(self) -> None:
        """Tell those who observe of what people have answered while nobody drove the run."""
        for wait in self._answered_waits():
            self._observe_answer(wait)
        for attempt in self._asker.recorder.state.open.values():
            if attempt.reconciled is not None and attempt.reconciled.by is not None:
                self._observe_reconciled(attempt, attempt.reconciled, attempt.settled_at)

    def _observe_answer(self, wait: WaitState) -> None:
        occasion, answer = self._asker.run_occasion(), wait.answer
        if answer is not None:
            self._tell_observers(
                HookType.WAIT_RESOLVED,
                lambda n: wait_resolved(occasion, wait, answer, wait.answered_at, ordinal=n),
                wait.created.node_id,
            )

    def _observe_reconciled(self, attempt: AttemptState, result: ReconcileResult, at: int) -> None:
        occasion = self._asker.occasion(attempt)
        self._tell_observers(
            HookType.EFFECT_RECONCILED,
            lambda n: effect_reconciled(occasion, result, at, ordinal=n),
            attempt.node_id,
            attempt,
        )

    def _answered_waits(self) -> list[WaitState]:
        """Gates that were answered, where somebody still stands at them."""
        state = self._asker.recorder.state
        nodes = [node for scope in state.scopes.values() for node in scope.nodes.values() if node.ended_at is None]
        waits = [*(attempt.wait for attempt in state.open.values()), *(node.wait for node in nodes), state.run_wait]
        return [wait for wait in waits if wait is not None and wait.answer is not None]

    def activities_cancelled(self, activity_ids: Sequence[str], node_ids: Sequence[str], at: int) -> None:
        """Tell of a cancel, once it is durable."""
        occasion = self._asker.run_occasion()
        self._tell_observers(
            HookType.ACTIVITIES_CANCELLED,
            lambda n: activities_cancelled(occasion, activity_ids, node_ids, at, ordinal=n),
        )

    def _tell_observers(
        self,
        hook: HookType,
        payload: Callable[[int], PayloadDocument],
        node_id: str | None = None,
        attempt: AttemptState | None = None,
    ) -> None:
        subject = self._asker.subject_of(node_id)
        if not self._asker.pipeline.listens(hook, subject):
            return
        ordinal = self._ordinals[hook] = self._ordinals.get(hook, self._logged_ordinal(hook)) + 1
        dispatch = Dispatch(
            hook=hook,
            ordinal=ordinal,
            subject=subject,
            payload=lambda: payload(ordinal),
            node_id=node_id or None,
            activity_id=attempt.activity_id if attempt is not None else None,
            attempt_id=attempt.attempt_id if attempt is not None else None,
        )
        self._in_background(self._told(dispatch))

    def _logged_ordinal(self, hook: HookType) -> int:
        """The last ordinal of a hook point that earlier drivers have logged."""
        logged = [entry.decided.ordinal for entry in self._asker.recorder.state.run_hooks if entry.decided.hook == hook]
        return max(logged, default=0)

    async def _told(self, dispatch: Dispatch) -> None:
        await self._asker.ask(dispatch)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._observing.add(task)
        task.add_done_callback(self._observing.discard)

    async def finish(self) -> None:
        """Wait for those who observe, and record what hooks in the background have said. Raises StorageError."""
        while self._observing:
            await asyncio.gather(*self._observing)
        for decided in await self._asker.pipeline.drain():
            self._asker.recorder.record(decided, "system")
        await self._asker.recorder.commit()

    def abandon(self) -> None:
        """Wait for nobody any more."""
        for task in self._observing:
            task.cancel()
