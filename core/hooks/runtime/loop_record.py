"""A sampling loop as the log has it: its draws as strategies see them, and the end of one that is cut short."""

from __future__ import annotations

from typing import Any

from hooks.definition.model import SubagentNode
from hooks.events.payloads import ErrorInfo, GenerationFinished, Payload, SamplingLoopEnded
from hooks.ids import generation_id
from hooks.kernel.state import AttemptState, DrawState, LoopState
from hooks.runtime.execution_hooks import DispatchContext
from hooks.sampling.answers import Answer, parse_answer
from hooks.sampling.draws import Draw, Prompt, Verdict, best_failure


class LoopRecord:
    """Reads and writes the loop of one attempt."""

    def __init__(self, ctx: DispatchContext, node: SubagentNode) -> None:
        self._ctx = ctx
        self._node = node
        self.who: dict[str, Any] = {
            "activity_id": ctx.activity_id,
            "attempt_id": ctx.attempt_id,
            "node_id": ctx.node_id,
        }

    @property
    def attempt(self) -> AttemptState:
        return self._ctx.recorder.state.open[self._ctx.activity_id]

    @property
    def loop(self) -> LoopState:
        loop = self.attempt.loop
        assert loop is not None, "the loop has begun"
        return loop

    @property
    def is_effect(self) -> bool:
        """Whether the draws of this loop have consequences."""
        return self.attempt.effect is not None

    def add(self, payload: Payload) -> None:
        self._ctx.recorder.record(payload, "worker")

    def add_interrupted(self, call: int, draw: int) -> None:
        """A call ended without an answer and without a fault of its own."""
        named = generation_id(self._ctx.attempt_id, call)
        self.add(GenerationFinished(**self.who, generation_id=named, draw=draw, interrupted=True))

    def answer(self, state: DrawState) -> Answer:
        """The answer of a draw; where the step wants JSON, its value is what the text holds."""
        assert state.finished is not None, "only a draw that was answered has an answer"
        resolve = self._ctx.recorder.resolve
        text, value = resolve(state.finished.text), resolve(state.finished.value)
        if value is None and self._node.output_schema is not None:
            parsed = parse_answer(text)
            return Answer(text, parsed.value, is_null=parsed.problem is None and parsed.value is None)
        return Answer(text, value)

    def draw(self, state: DrawState) -> Draw:
        """An answered draw; its verdicts are those that count, none before it was counted."""
        resolve, answer = self._ctx.recorder.resolve, self.answer(state)
        prompt = Prompt(resolve(state.started.prompt), state.started.after)
        return Draw(state.number, prompt, answer.text, answer.value, self._verdicts(state), answer.is_null)

    def _verdicts(self, state: DrawState) -> list[Verdict]:
        if state.validated is None or state.iteration is None:
            return []
        requirements = self._ctx.recorder.resolve(state.validated.requirements)
        weights = {entry["name"]: entry.get("weight", 1.0) for entry in requirements}
        return [
            Verdict(
                requirement=validation.requirement,
                passed=validation.effective_passed,
                weight=weights[validation.requirement],
                score=validation.score,
                reason=validation.reason,
            )
            for validation in state.iteration.validations
        ]

    async def end(self, reason: str, error: ErrorInfo | None = None) -> None:
        """End a loop that has not come to its own end, and tell the hooks; nothing, where there is none or it is over.

        No call may be under way in this driver any more.
        """
        loop = self.attempt.loop
        if loop is None or loop.started is None or loop.ended is not None:
            return
        for started in [*loop.open.values()]:
            self.add_interrupted(started.call, started.draw)
        best = best_failure([self.draw(state) for state in loop.answered])
        self.add(
            SamplingLoopEnded(
                **self.who,
                success=False,
                draw=None if best is None else best.number,
                iterations=sum(state.iteration is not None for state in loop.draws.values()),
                failure_reason=reason,
                error=error,
            )
        )
        await self._ctx.loop.points.loop_end(may_block=False)
