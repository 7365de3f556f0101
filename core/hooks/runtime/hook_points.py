"""Where the runtime asks the hooks: one method per hook point.

Each builds its payload only when somebody listens, lets the pipeline ask, records what was decided and only then acts
on it. What a hook sees is durable before it is asked; what it decided is durable before the work it judges starts.
Points that only observe are told of an event once it is durable, in the background, and are done before the driver is.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from hooks.definition.hook_points import HookType
from hooks.definition.model import HostExecutorNode, SubagentNode, Workflow, WorkNode
from hooks.events.envelope import Event
from hooks.events.payloads import (
    ErrorInfo,
    ReconcileResult,
    ResumeStarted,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.ids import ActivityId
from hooks.kernel.apply_waits import refusal
from hooks.kernel.state import AttemptState, RunEnding, WaitState
from hooks.pipeline.dispatch import Dispatch, PayloadDocument, Subject, Verdict
from hooks.pipeline.effect_payloads import effect_post_settle, effect_pre_attempt, effect_reconciled
from hooks.pipeline.effective import effective_fields, effective_input
from hooks.pipeline.payload_parts import Occasion, RunOccasion
from hooks.pipeline.payloads import component_post_error, component_post_success, component_pre_execute
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.run_payloads import (
    activities_cancelled,
    run_finished,
    run_resumed,
    run_started,
    wait_created,
    wait_resolved,
)
from hooks.runtime.gates import open_ask
from hooks.runtime.recorder import Recorder
from hooks.runtime.step_errors import NothingMore
from hooks.secrets import Masker


class BlockedByHookError(Exception):
    """A hook said no, or failed; `error` is a PluginViolationError with class policy or hook_error."""

    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(error.error_message)
        self.error = error


def tell_on_stderr(message: str) -> None:
    """Show what a hook has to say; control characters are taken out."""
    with suppress(OSError, ValueError):  # a stderr that is closed must not stop the run; the log has the message
        print("".join(character if character.isprintable() else " " for character in message), file=sys.stderr)


class HookPoints:
    """The hook points of a run: around every agent step, executor call and effect, and about the run itself."""

    def __init__(
        self,
        pipeline: Pipeline,
        recorder: Recorder,
        definition: Workflow,
        *,
        now: Callable[[], int],
        environ: Mapping[str, str],
        tell: Callable[[str], None] = tell_on_stderr,
    ) -> None:
        self._pipeline = pipeline
        self._recorder = recorder
        self._definition = definition
        self._now = now
        self._environ = environ
        self._honoured = {agent.name: agent.honoured_options for agent in definition.agents}
        self._tell = tell
        self._observing: set[asyncio.Task[None]] = set()
        self._ordinals: dict[HookType, int] = {}

    # ---- around a step ---------------------------------------------------------------------------------------------

    async def component_pre_execute(self, attempt: AttemptState) -> dict[str, Any]:
        """Ask before the work; the conditions in force afterwards, field to value.

        Raises BlockedByHookError, and NothingMore where a policy had a person asked. Once a later gate has opened, or
        the work was permitted, what was decided stands: nobody is asked again.
        """
        occasion = self._occasion(attempt)
        if not attempt.is_permitted and HookType.COMPONENT_PRE_EXECUTE not in attempt.passed:
            await self._require(HookType.COMPONENT_PRE_EXECUTE, occasion, lambda: component_pre_execute(occasion))
        return effective_fields(occasion)

    async def effect_pre_attempt(self, attempt: AttemptState, key: str, *, read_only: bool) -> Any:
        """Ask before an effect, or a read-only call, is made ready; the input in force afterwards. Raises likewise."""
        occasion = self._occasion(attempt)
        if not attempt.is_permitted and HookType.EFFECT_PRE_ATTEMPT not in attempt.passed:
            await self._require(
                HookType.EFFECT_PRE_ATTEMPT,
                occasion,
                lambda: effect_pre_attempt(
                    occasion, effective_input=effective_input(occasion), idempotency_key=key, read_only=read_only
                ),
            )
        return effective_input(occasion)

    async def effect_post_settle(self, attempt: AttemptState) -> None:
        """Ask whether what an effect came to may be used; it is never undone. Raises BlockedByHookError."""
        occasion, event = self._occasion(attempt), attempt.settled
        if event is None:
            return
        await self._require(
            HookType.EFFECT_POST_SETTLE, occasion, lambda: effect_post_settle(occasion, event, attempt.settled_at)
        )

    async def component_post_success(self, attempt: AttemptState) -> None:
        """Ask whether the result may stand. Raises BlockedByHookError."""
        occasion, event = self._occasion(attempt), attempt.succeeded
        assert event is not None, "asked after componentSucceeded"
        await self._require(
            HookType.COMPONENT_POST_SUCCESS,
            occasion,
            lambda: component_post_success(occasion, event, attempt.succeeded_at),
        )

    async def component_post_error(self, attempt: AttemptState) -> None:
        """Tell of a failure; what is said here is recorded, and the first error stands."""
        occasion, event = self._occasion(attempt), attempt.failed
        assert event is not None, "asked after componentFailed"
        await self._ask(
            HookType.COMPONENT_POST_ERROR,
            occasion,
            lambda: component_post_error(occasion, event, attempt.failed_at),
        )

    async def _require(self, hook: HookType, occasion: Occasion, payload: Callable[[], PayloadDocument]) -> None:
        """Ask, and go on only if nobody objects and every person asked has approved."""
        verdict = await self._ask(hook, occasion, payload)
        if verdict.violation is not None:
            raise BlockedByHookError(verdict.violation)
        if verdict.asks:
            await self._pass_gate_of(hook, occasion.attempt, verdict)

    async def _pass_gate_of(self, hook: HookType, attempt: AttemptState, verdict: Verdict) -> None:
        """A policy wants a person to decide: one gate for all that was asked in the dispatch."""
        state = self._recorder.state
        activity = state.activities[attempt.activity_id]
        gate = open_ask(
            hook, verdict, now=self._now(), activity_id=attempt.activity_id, number=activity.waits + 1, attempt=attempt
        )
        if gate.digest in activity.approved:
            return
        wait = attempt.wait
        if wait is None or wait.created.digest != gate.digest:
            self._recorder.record(gate)
            await self._recorder.commit()
        elif wait.approved is False:
            raise BlockedByHookError(refusal(wait))
        raise NothingMore

    async def _ask(self, hook: HookType, occasion: Occasion, payload: Callable[[], PayloadDocument]) -> Verdict:
        attempt = occasion.attempt
        return await self._dispatch(
            Dispatch(
                hook=hook,
                ordinal=1,
                subject=self._subject(occasion.node),
                payload=payload,
                activity_id=attempt.activity_id,
                attempt_id=attempt.attempt_id,
                node_id=attempt.node_id,
                logged=attempt.hooks,
                accepts=self._accepts(occasion.node),
                mask=self._mask_of(occasion.node),
            )
        )

    async def _dispatch(self, dispatch: Dispatch) -> Verdict:
        if not self._pipeline.listens(dispatch.hook, dispatch.subject):
            return Verdict()
        await self._recorder.commit()
        verdict = await self._pipeline.dispatch(dispatch)
        for message in verdict.messages:
            self._tell(message)
        if verdict.decided is not None:
            self._recorder.record(verdict.decided, "system")
            await self._recorder.commit()
        return verdict

    # ---- about the run ---------------------------------------------------------------------------------------------

    async def run_started(self) -> None:
        """Ask before any node starts: a refusal is in the log then and ends the run, a question opens a gate."""
        state = self._recorder.state
        if state.run_wait is not None or state.refusal is not None:
            return
        occasion = self._run_occasion()
        verdict = await self._dispatch(
            Dispatch(
                hook=HookType.RUN_STARTED,
                ordinal=1,
                subject=Subject(self._definition.workflow_id),
                payload=lambda: run_started(occasion),
                logged=state.run_hooks,
            )
        )
        if verdict.violation is None and verdict.asks:
            gate = open_ask(
                HookType.RUN_STARTED,
                verdict,
                now=self._now(),
                activity_id=ActivityId(state.run_id),
                number=state.run_waits + 1,
                attempt=None,
            )
            self._recorder.record(gate)
            await self._recorder.commit()

    def observe(self, event: Event) -> None:
        """Tell those who observe of an event that has become durable; in the background, one task an event."""
        occasion, at = self._run_occasion(), event.timestamp
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
                attempts = self._recorder.state.open, self._recorder.state.in_doubt
                activity_id = ActivityId(result.activity_id)
                attempt = attempts[0].get(activity_id) or attempts[1].get(activity_id)
                if attempt is not None:
                    self._observe_reconciled(attempt, result, at)
            case _ if isinstance(event.payload, RunEnding.__args__):
                ending: RunEnding = event.payload
                self._tell_observers(HookType.RUN_FINISHED, lambda n: run_finished(occasion, ending, at, ordinal=n))

    def catch_up(self) -> None:
        """Tell those who observe of what people have answered while nobody drove the run."""
        for wait in self._answered_waits():
            self._observe_answer(wait)
        for attempt in self._recorder.state.open.values():
            if attempt.reconciled is not None and attempt.reconciled.by is not None:
                self._observe_reconciled(attempt, attempt.reconciled, attempt.settled_at)

    def _observe_answer(self, wait: WaitState) -> None:
        occasion, answer = self._run_occasion(), wait.answer
        if answer is not None:
            self._tell_observers(
                HookType.WAIT_RESOLVED,
                lambda n: wait_resolved(occasion, wait, answer, wait.answered_at, ordinal=n),
                wait.created.node_id,
            )

    def _observe_reconciled(self, attempt: AttemptState, result: ReconcileResult, at: int) -> None:
        occasion = self._occasion(attempt)
        self._tell_observers(
            HookType.EFFECT_RECONCILED,
            lambda n: effect_reconciled(occasion, result, at, ordinal=n),
            attempt.node_id,
            attempt,
        )

    def _answered_waits(self) -> list[WaitState]:
        """Gates that were answered, where somebody still stands at them."""
        state = self._recorder.state
        nodes = [node for scope in state.scopes.values() for node in scope.nodes.values() if node.ended_at is None]
        waits = [*(attempt.wait for attempt in state.open.values()), *(node.wait for node in nodes), state.run_wait]
        return [wait for wait in waits if wait is not None and wait.answer is not None]

    async def activities_cancelled(self, activity_ids: Sequence[str], node_ids: Sequence[str]) -> None:
        """Tell of a cancel, once it is durable."""
        occasion, at = self._run_occasion(), self._now()
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
        subject = self._subject_of(node_id)
        if not self._pipeline.listens(hook, subject):
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
        logged = [entry.decided.ordinal for entry in self._recorder.state.run_hooks if entry.decided.hook == hook]
        return max(logged, default=0)

    async def _told(self, dispatch: Dispatch) -> None:
        await self._dispatch(dispatch)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._observing.add(task)
        task.add_done_callback(self._observing.discard)

    # ---- beginning and end -----------------------------------------------------------------------------------------

    async def open(self) -> None:
        await self._pipeline.open()

    async def finish(self) -> None:
        """Wait for those who observe, and record what hooks in the background have said. Raises StorageError."""
        while self._observing:
            await asyncio.gather(*self._observing)
        for decided in await self._pipeline.drain():
            self._recorder.record(decided, "system")
        await self._recorder.commit()

    async def close(self) -> None:
        for task in self._observing:
            task.cancel()
        for problem in await self._pipeline.close():
            self._tell(problem)

    # ---- what a dispatch is about ----------------------------------------------------------------------------------

    def _run_occasion(self) -> RunOccasion:
        return RunOccasion(self._recorder.state, self._definition, self._recorder.resolve)

    def _occasion(self, attempt: AttemptState) -> Occasion:
        node = self._recorder.state.definition_of(attempt)
        assert isinstance(node, SubagentNode | HostExecutorNode), "only steps have hook points"
        return Occasion(self._recorder.state, self._definition, node, attempt, self._recorder.resolve)

    def _subject_of(self, node_id: str | None) -> Subject:
        for scope in self._recorder.state.scopes.values():
            if node_id and node_id in scope.graph.position:
                node = scope.graph.nodes[scope.graph.position[node_id]]
                if isinstance(node, SubagentNode | HostExecutorNode):
                    return self._subject(node)
                return Subject(self._definition.workflow_id, node.id)
        return Subject(self._definition.workflow_id)

    def _subject(self, node: WorkNode) -> Subject:
        workflow = self._definition.workflow_id
        if isinstance(node, SubagentNode):
            return Subject(workflow, node.id, "AgentStep", agent=node.agent)
        return Subject(workflow, node.id, "HostExecutorCall", executor=node.executor)

    def _mask_of(self, node: WorkNode) -> Callable[[Any], Any]:
        """Puts the node's secrets out of sight in whatever hooks are shown and whatever is recorded of them."""
        values = {name: self._environ[name] for name in node.secrets if name in self._environ}
        return Masker(values).mask_value if values else _as_it_is

    def _accepts(self, node: WorkNode) -> Callable[[str, Any], str | None]:
        """What a hook may set is what a file may set: only options that the step's agent honours.

        A field that nothing in this version acts on is refused: a hook that believes it has set one would be wrong.
        """

        def accepts(field: str, value: Any) -> str | None:
            if field in _NOT_YET:
                return "setting it is not supported yet"
            if field == "input" and isinstance(node, HostExecutorNode) and node.read_only:
                return "the input of a read-only call cannot be changed"
            if field != "model_options" or not isinstance(node, SubagentNode):
                return None
            honoured = self._honoured[node.agent]
            unknown = sorted(set(value) - honoured)
            if not unknown:
                return None
            known = ", ".join(sorted(honoured)) or "none"
            return f"agent {node.agent} does not honour {', '.join(unknown)} (it honours: {known})"

        return accepts


_NOT_YET = frozenset({"requirements", "strategy", "tool_calls_enabled"})


def _as_it_is(value: Any) -> Any:
    return value
