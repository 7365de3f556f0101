"""Putting one question to the hooks: show only what is durable, record what was said before it is acted on."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hooks.definition.model import HostExecutorNode, SubagentNode, Workflow, WorkNode
from hooks.kernel.state import AttemptState
from hooks.pipeline.dispatch import Dispatch, Subject, Verdict
from hooks.pipeline.payload_parts import Occasion, RunOccasion
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.subjects import subject_of, subject_of_step
from hooks.runtime.recorder import Recorder
from hooks.secrets import Masker


def tell_on_stderr(message: str) -> None:
    """Show what a hook has to say; control characters are taken out."""
    with suppress(OSError, ValueError):  # a stderr that is closed must not stop the run; the log has the message
        print("".join(character if character.isprintable() else " " for character in message), file=sys.stderr)


class HookAsker:
    """Asks the hooks of a run, and knows what there is to ask about."""

    def __init__(
        self,
        pipeline: Pipeline,
        recorder: Recorder,
        definition: Workflow,
        masker: Masker | None,
    ) -> None:
        self.pipeline = pipeline
        self.recorder = recorder
        self.definition = definition
        self._mask = _as_it_is if masker is None else masker.mask_value

    def tell(self, message: str) -> None:
        """Say it on stderr, without secrets."""
        tell_on_stderr(self._mask(message))

    async def ask(self, dispatch: Dispatch) -> Verdict:
        if not self.pipeline.listens(dispatch.hook, dispatch.subject):
            return Verdict()
        await self.recorder.commit()
        # Whatever the question, hooks neither see secrets nor have them recorded.
        verdict = await self.pipeline.dispatch(replace(dispatch, mask=self._mask))
        for message in verdict.messages:
            self.tell(message)
        if verdict.decided is not None:
            self.recorder.record(verdict.decided, "system")
            await self.recorder.commit()
        return verdict

    def run_occasion(self) -> RunOccasion:
        return RunOccasion(self.recorder.state, self.definition, self.recorder.resolve)

    def occasion(self, attempt: AttemptState) -> Occasion:
        node = self.recorder.state.definition_of(attempt)
        assert isinstance(node, SubagentNode | HostExecutorNode), "only steps have hook points"
        return Occasion(self.recorder.state, self.definition, node, attempt, self.recorder.resolve, may_wait=True)

    def subject_of(self, node_id: str | None) -> Subject:
        return subject_of(self.definition, self.recorder.state, node_id)

    def subject(self, node: WorkNode) -> Subject:
        return subject_of_step(self.definition, node)


def _as_it_is(value: Any) -> Any:
    return value
