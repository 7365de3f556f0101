"""Where the runtime asks the hooks: one method per hook point.

Each builds its payload only when somebody listens, lets the pipeline ask, records what was decided and only then acts
on it. What a hook sees is durable before it is asked; what it decided is durable before the work it judges starts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hooks.definition.model import HostExecutorNode, SubagentNode, Workflow, WorkNode
from hooks.events.payloads import ErrorInfo
from hooks.kernel.state import AttemptState
from hooks.pipeline.dispatch import Dispatch, PayloadDocument, Subject, Verdict
from hooks.pipeline.payloads import (
    Occasion,
    component_post_error,
    component_post_success,
    component_pre_execute,
    effective_fields,
)
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.verdicts import HookType
from hooks.runtime.recorder import Recorder

_NOT_SUPPORTED_YET = frozenset({"requirements", "strategy", "tool_calls_enabled"})


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
    """The hook points around every agent step and executor call of a run."""

    def __init__(
        self,
        pipeline: Pipeline,
        recorder: Recorder,
        definition: Workflow,
        tell: Callable[[str], None] = tell_on_stderr,
    ) -> None:
        self._pipeline = pipeline
        self._recorder = recorder
        self._definition = definition
        self._honoured = {agent.name: agent.honoured_options for agent in definition.agents}
        self._tell = tell

    async def component_pre_execute(self, attempt: AttemptState) -> dict[str, Any]:
        """Ask before the work; the conditions in force afterwards, field to value. Raises BlockedByHookError.

        Once a gate has opened after them, or the work was permitted, what was decided stands: nobody is asked again.
        """
        occasion = self._occasion(attempt)
        if not attempt.is_permitted and attempt.wait is None:
            self._raise_violation(
                await self._ask(HookType.COMPONENT_PRE_EXECUTE, occasion, lambda: component_pre_execute(occasion))
            )
        return effective_fields(occasion)

    async def component_post_success(self, attempt: AttemptState) -> None:
        """Ask whether the result may stand. Raises BlockedByHookError."""
        occasion, event = self._occasion(attempt), attempt.succeeded
        assert event is not None, "asked after componentSucceeded"
        self._raise_violation(
            await self._ask(
                HookType.COMPONENT_POST_SUCCESS,
                occasion,
                lambda: component_post_success(occasion, event, attempt.succeeded_at),
            )
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

    async def _ask(self, hook: HookType, occasion: Occasion, payload: Callable[[], PayloadDocument]) -> Verdict:
        subject = self._subject(occasion.node)
        if not self._pipeline.listens(hook, subject):
            return Verdict()
        await self._recorder.commit()
        attempt = occasion.attempt
        verdict = await self._pipeline.dispatch(
            Dispatch(
                hook=hook,
                ordinal=1,
                subject=subject,
                payload=payload,
                activity_id=attempt.activity_id,
                attempt_id=attempt.attempt_id,
                node_id=attempt.node_id,
                logged=attempt.hooks,
                accepts=self._accepts(occasion.node),
            )
        )
        for message in verdict.messages:
            self._tell(message)
        if verdict.decided is not None:
            self._recorder.record(verdict.decided, "system")
            await self._recorder.commit()
        return verdict

    def _raise_violation(self, verdict: Verdict) -> None:
        if verdict.violation is not None:
            raise BlockedByHookError(verdict.violation)

    def _occasion(self, attempt: AttemptState) -> Occasion:
        node = self._recorder.state.definition_of(attempt)
        assert isinstance(node, SubagentNode | HostExecutorNode), "only steps have hook points"
        return Occasion(self._recorder.state, self._definition, node, attempt, self._recorder.resolve)

    def _subject(self, node: WorkNode) -> Subject:
        workflow = self._definition.workflow_id
        if isinstance(node, SubagentNode):
            return Subject(workflow, node.id, "AgentStep", agent=node.agent)
        return Subject(workflow, node.id, "HostExecutorCall", executor=node.executor)

    def _accepts(self, node: WorkNode) -> Callable[[str, Any], str | None]:
        """What a hook may set is what a file may set: only options that the step's agent honours.

        A field that nothing in this version acts on is refused: a hook that believes it has set one would be wrong.
        """

        def accepts(field: str, value: Any) -> str | None:
            if field in _NOT_SUPPORTED_YET:
                return "setting it is not supported yet"
            if field != "model_options" or not isinstance(node, SubagentNode):
                return None
            honoured = self._honoured[node.agent]
            unknown = sorted(set(value) - honoured)
            if not unknown:
                return None
            known = ", ".join(sorted(honoured)) or "none"
            return f"agent {node.agent} does not honour {', '.join(unknown)} (it honours: {known})"

        return accepts

    async def open(self) -> None:
        await self._pipeline.open()

    async def close(self) -> None:
        await self._pipeline.close()
