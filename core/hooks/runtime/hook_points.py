"""Where the runtime asks the hooks: one method per hook point.

Each builds its payload only when somebody listens, lets the pipeline ask, records what was decided and only then acts
on it. What a hook sees is durable before it is asked; what it decided is durable before the work it judges starts.
Points that only observe stand in `observers.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hooks.definition.hook_points import HookType
from hooks.events.payloads import ErrorInfo, HookSetChanged
from hooks.ids import ActivityId
from hooks.kernel.apply_waits import refusal
from hooks.kernel.state import AttemptState
from hooks.pipeline.dispatch import Dispatch, PayloadDocument, Subject, Verdict
from hooks.pipeline.effect_payloads import effect_post_settle, effect_pre_attempt
from hooks.pipeline.effective import effective_fields, effective_input
from hooks.pipeline.payload_parts import Occasion
from hooks.pipeline.payloads import component_post_error, component_post_success, component_pre_execute
from hooks.pipeline.run_payloads import run_started
from hooks.runtime.gates import open_ask
from hooks.runtime.hook_asker import HookAsker
from hooks.runtime.observers import Observers
from hooks.runtime.setting_rules import Prepare, SettingRules
from hooks.runtime.step_errors import NothingMore


class BlockedByHookError(Exception):
    """A hook said no, or failed; `error` is a PluginViolationError with class policy or hook_error."""

    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(error.error_message)
        self.error = error


_UNHEARD = Verdict()


class HookPoints:
    """The hook points of a run: around every agent step, executor call and effect, and about the run itself."""

    def __init__(self, asker: HookAsker, *, now: Callable[[], int], prepare: Prepare) -> None:
        self._asker = asker
        self._recorder = asker.recorder
        self._definition = asker.definition
        self._now = now
        self._rules = SettingRules(asker.definition, prepare)
        self.observers = Observers(asker)

    def occasion(self, attempt: AttemptState) -> Occasion:
        return self._asker.occasion(attempt)

    # ---- around a step ---------------------------------------------------------------------------------------------

    async def component_pre_execute(self, attempt: AttemptState) -> dict[str, Any]:
        """Ask before the work; the conditions in force afterwards, field to value.

        Raises BlockedByHookError, and NothingMore where a policy had a person asked.
        """
        occasion = self._asker.occasion(attempt)
        if not self._stands(HookType.COMPONENT_PRE_EXECUTE, attempt):
            await self.require(HookType.COMPONENT_PRE_EXECUTE, occasion, lambda: component_pre_execute(occasion))
        return effective_fields(occasion)

    async def effect_pre_attempt(self, attempt: AttemptState, key: str, *, read_only: bool) -> Any:
        """Ask before an effect, or a read-only call, is made ready; the input in force afterwards. Raises likewise."""
        occasion = self._asker.occasion(attempt)
        if not self._stands(HookType.EFFECT_PRE_ATTEMPT, attempt):
            await self.require(
                HookType.EFFECT_PRE_ATTEMPT,
                occasion,
                lambda: effect_pre_attempt(occasion, idempotency_key=key, read_only=read_only),
            )
        return effective_input(occasion)

    def _stands(self, hook: HookType, attempt: AttemptState) -> bool:
        """Whether what was decided at a point stands, and nobody is asked again: the work was permitted, or a gate has
        opened since, and the hooks are still those of then."""
        if not attempt.is_permitted and hook in attempt.passed:
            # A gate may stay open for days, and a policy that was configured meanwhile is asked before the work is.
            self._recorder.announce(HookSetChanged)
        return attempt.is_permitted or hook in attempt.passed

    async def effect_post_settle(self, attempt: AttemptState) -> None:
        """Ask whether what an effect came to may be used; it is never undone. Raises BlockedByHookError."""
        occasion, event = self._asker.occasion(attempt), attempt.settled
        if event is None:
            return
        await self.require(
            HookType.EFFECT_POST_SETTLE, occasion, lambda: effect_post_settle(occasion, event, attempt.settled_at)
        )

    async def component_post_success(self, attempt: AttemptState) -> None:
        """Ask whether the result may stand. Raises BlockedByHookError."""
        occasion, event = self._asker.occasion(attempt), attempt.succeeded
        assert event is not None, "asked after componentSucceeded"
        await self.require(
            HookType.COMPONENT_POST_SUCCESS,
            occasion,
            lambda: component_post_success(occasion, event, attempt.succeeded_at),
        )

    async def component_post_error(self, attempt: AttemptState) -> None:
        """Tell of a failure; what is said here is recorded, and the first error stands."""
        occasion, event = self._asker.occasion(attempt), attempt.failed
        assert event is not None, "asked after componentFailed"
        await self.ask(
            HookType.COMPONENT_POST_ERROR,
            occasion,
            lambda: component_post_error(occasion, event, attempt.failed_at),
        )

    async def require(
        self,
        hook: HookType,
        occasion: Occasion,
        payload: Callable[[], PayloadDocument],
        *,
        ordinal: int = 1,
        agent: str | None = None,
    ) -> Mapping[str, Any]:
        """Ask, and go on only if nobody objects and every person asked has approved; what hooks have changed."""
        verdict = await self.ask(hook, occasion, payload, ordinal=ordinal, agent=agent)
        if verdict.violation is not None:
            raise BlockedByHookError(verdict.violation)
        if verdict.asks:
            await self._pass_gate_of(hook, occasion.attempt, verdict)
        return verdict.changes

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

    async def ask(
        self,
        hook: HookType,
        occasion: Occasion,
        payload: Callable[[], PayloadDocument],
        *,
        ordinal: int = 1,
        agent: str | None = None,
    ) -> Verdict:
        """Put the `ordinal`-th question of an attempt at a hook point; `agent` is who is called, if not the step's."""
        if not self._asker.pipeline.is_heard(hook):
            # A step passes nine points, most often with nobody there: what a dispatch would hold is not even gathered.
            return _UNHEARD
        attempt = occasion.attempt
        subject = self._asker.subject(occasion.node)
        return await self._asker.ask(
            Dispatch(
                hook=hook,
                ordinal=ordinal,
                subject=subject if agent is None else replace(subject, agent=agent),
                payload=payload,
                activity_id=attempt.activity_id,
                attempt_id=attempt.attempt_id,
                node_id=attempt.node_id,
                logged=attempt.hooks,
                accepts=self._rules.accepts(hook, occasion, agent),
            )
        )

    # ---- about the run ---------------------------------------------------------------------------------------------

    async def run_started(self) -> None:
        """Ask before any node starts: a refusal is in the log then and ends the run, a question opens a gate."""
        state = self._recorder.state
        if state.run_wait is not None or state.refusal is not None:
            return
        occasion = self._asker.run_occasion()
        verdict = await self._asker.ask(
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

    # ---- beginning and end -----------------------------------------------------------------------------------------

    async def open(self) -> None:
        await self._asker.pipeline.open()

    async def close(self) -> None:
        self.observers.abandon()
        for problem in await self._asker.pipeline.close():
            self._asker.tell(problem)
