"""Where the runtime asks the hooks: one method per hook point.

Each builds its payload only when somebody listens, lets the pipeline ask, records what was decided and only then acts
on it. What a hook sees is durable before it is asked; what it decided is durable before the work it judges starts.
Points that only observe stand in `observers.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from hooks.definition.hook_points import HookType
from hooks.definition.model import HostExecutorNode, SubagentNode
from hooks.definition.output_schema import why_no_schema
from hooks.events.payloads import ErrorInfo
from hooks.expressions.secrets import secrets_named
from hooks.ids import ActivityId
from hooks.kernel.apply_waits import refusal
from hooks.kernel.state import AttemptState
from hooks.pipeline.dispatch import Dispatch, PayloadDocument, Subject, Verdict
from hooks.pipeline.effect_payloads import effect_post_settle, effect_pre_attempt
from hooks.pipeline.effective import effective_fields, effective_input
from hooks.pipeline.payload_parts import Occasion
from hooks.pipeline.payloads import component_post_error, component_post_success, component_pre_execute
from hooks.pipeline.run_payloads import run_started
from hooks.runtime.execution_hooks import PreparedCall
from hooks.runtime.gates import open_ask
from hooks.runtime.hook_asker import HookAsker
from hooks.runtime.observers import Observers
from hooks.runtime.step_errors import NothingMore

Prepare: TypeAlias = Callable[[str, Any, str | None], PreparedCall]
"""Makes a call ready: of which executor, with which input, in which directory. Raises ValueError if it cannot be."""


class BlockedByHookError(Exception):
    """A hook said no, or failed; `error` is a PluginViolationError with class policy or hook_error."""

    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(error.error_message)
        self.error = error


class HookPoints:
    """The hook points of a run: around every agent step, executor call and effect, and about the run itself."""

    def __init__(self, asker: HookAsker, *, now: Callable[[], int], prepare: Prepare) -> None:
        self._asker = asker
        self._prepare = prepare
        self._recorder = asker.recorder
        self._definition = asker.definition
        self._now = now
        self._honoured = {agent.name: agent.honoured_options for agent in asker.definition.agents}
        self.observers = Observers(asker)

    # ---- around a step ---------------------------------------------------------------------------------------------

    async def component_pre_execute(self, attempt: AttemptState) -> dict[str, Any]:
        """Ask before the work; the conditions in force afterwards, field to value.

        Raises BlockedByHookError, and NothingMore where a policy had a person asked. Once a later gate has opened, or
        the work was permitted, what was decided stands: nobody is asked again.
        """
        occasion = self._asker.occasion(attempt)
        if not attempt.is_permitted and HookType.COMPONENT_PRE_EXECUTE not in attempt.passed:
            await self._require(HookType.COMPONENT_PRE_EXECUTE, occasion, lambda: component_pre_execute(occasion))
        return effective_fields(occasion)

    async def effect_pre_attempt(self, attempt: AttemptState, key: str, *, read_only: bool) -> Any:
        """Ask before an effect, or a read-only call, is made ready; the input in force afterwards. Raises likewise."""
        occasion = self._asker.occasion(attempt)
        if not attempt.is_permitted and HookType.EFFECT_PRE_ATTEMPT not in attempt.passed:
            await self._require(
                HookType.EFFECT_PRE_ATTEMPT,
                occasion,
                lambda: effect_pre_attempt(occasion, idempotency_key=key, read_only=read_only),
            )
        return effective_input(occasion)

    async def effect_post_settle(self, attempt: AttemptState) -> None:
        """Ask whether what an effect came to may be used; it is never undone. Raises BlockedByHookError."""
        occasion, event = self._asker.occasion(attempt), attempt.settled
        if event is None:
            return
        await self._require(
            HookType.EFFECT_POST_SETTLE, occasion, lambda: effect_post_settle(occasion, event, attempt.settled_at)
        )

    async def component_post_success(self, attempt: AttemptState) -> None:
        """Ask whether the result may stand. Raises BlockedByHookError."""
        occasion, event = self._asker.occasion(attempt), attempt.succeeded
        assert event is not None, "asked after componentSucceeded"
        await self._require(
            HookType.COMPONENT_POST_SUCCESS,
            occasion,
            lambda: component_post_success(occasion, event, attempt.succeeded_at),
        )

    async def component_post_error(self, attempt: AttemptState) -> None:
        """Tell of a failure; what is said here is recorded, and the first error stands."""
        occasion, event = self._asker.occasion(attempt), attempt.failed
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
        return await self._asker.ask(
            Dispatch(
                hook=hook,
                ordinal=1,
                subject=self._asker.subject(occasion.node),
                payload=payload,
                activity_id=attempt.activity_id,
                attempt_id=attempt.attempt_id,
                node_id=attempt.node_id,
                logged=attempt.hooks,
                accepts=self._accepts(occasion),
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

    # ---- what a dispatch is about ----------------------------------------------------------------------------------

    def _accepts(self, occasion: Occasion) -> Callable[[str, Any], str | None]:
        """What a hook may set is what a file may set, as far as only the step, its agent or its executor can tell.

        A field that nothing in this version acts on is refused: a hook that believes it has set one would be wrong.
        """

        def accepts(field: str, value: Any) -> str | None:
            node = occasion.node
            if field in _NOT_YET:
                return "setting it is not supported yet"
            if field == "input" and isinstance(node, HostExecutorNode):
                return self._why_not_call(occasion, node, value)
            if field == "input" and isinstance(node, SubagentNode):
                return self._why_not_draw(node, value)
            if field == "model_options" and isinstance(node, SubagentNode):
                return self._why_not_options(node, value)
            return None

        return accepts

    def _why_not_call(self, occasion: Occasion, node: HostExecutorNode, value: Any) -> str | None:
        if node.read_only:
            return "the input of a read-only call cannot be changed"
        component = occasion.component
        try:
            prepared = self._prepare(node.executor, value, component.cwd)
            named = secrets_named(prepared.parsed_input, component.secret_pointers)
        except ValueError as error:
            return str(error)
        strange = sorted(set(named) - set(node.secrets))
        return f"the step does not list the secret {strange[0]}" if strange else None

    def _why_not_draw(self, node: SubagentNode, value: Any) -> str | None:
        if value.keys() != {"prompt", "model_options", "format"}:
            return "it has prompt, model_options and format, and nothing else"
        if not isinstance(value["prompt"], str) or not isinstance(value["model_options"], dict):
            return "prompt is text, and model_options an object"
        if value["format"] is not None and (reason := why_no_schema(value["format"])) is not None:
            return f"format is no JSON Schema: {reason}"
        return self._why_not_options(node, value["model_options"])

    def _why_not_options(self, node: SubagentNode, value: Any) -> str | None:
        honoured = self._honoured[node.agent]
        unknown = sorted(set(value) - honoured)
        if not unknown:
            return None
        known = ", ".join(sorted(honoured)) or "none"
        return f"agent {node.agent} does not honour {', '.join(unknown)} (it honours: {known})"


_NOT_YET = frozenset({"requirements", "strategy", "tool_calls_enabled"})
