"""The sampling loop of a simulated agent step: the next event the real one would write, looking only at the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hooks.events.payloads import (
    EffectiveValidation,
    ErrorInfo,
    GenerationFinished,
    GenerationRetryScheduled,
    GenerationStarted,
    Payload,
    SamplingIteration,
    SamplingLoopEnded,
    SamplingLoopStarted,
    SamplingRepair,
    Validation,
    ValidationFinished,
)
from hooks.ids import generation_id
from hooks.kernel.state import AttemptState, DrawState, LoopState, RunState, purpose_of

BUSY = ErrorInfo(error_code="Busy", error_class="retryable", error_message="busy")
DELAY_MS = 10
_FINE = "fine"


@dataclass(frozen=True)
class Script:
    """What agent and judge come to, whatever the attempt: which draws pass, and how often a call fails before it does.

    `errors` is by what a call is for (`draw-2`, `judge-2-fine`).
    """

    passes: tuple[bool, ...] = (True,)
    parallel: int = 1
    has_judge: bool = False
    errors: Mapping[str, int] = field(default_factory=dict)
    most_failures: int = 3

    @property
    def budget(self) -> int:
        return len(self.passes)

    @property
    def gives_up(self) -> bool:
        """A call may fail more often than it is made."""
        return any(count >= self.most_failures for count in self.errors.values())


def next_event(script: Script, state: RunState, attempt: AttemptState, who: dict[str, Any]) -> Payload | None:
    """The next event of the loop; None once it is over."""
    loop = attempt.loop
    if loop is None:
        return SamplingLoopStarted(
            **who, strategy_name="RejectionSamplingStrategy", sampling=None, requirements=[], loop_budget=script.budget
        )
    if loop.ended is not None:
        return None
    number = next((n for n in range(1, script.budget + 1) if not _counts(loop, n)), script.budget)
    before = loop.draws.get(number - 1)
    if before is not None and before.repair is None and script.parallel == 1:
        return SamplingRepair(**who, draw=before.number, repair_type="rejection", prompt="p")
    for other in range(number, min(number + script.parallel - 1, script.budget) + 1):
        if other not in loop.draws:
            return _started(attempt, who, loop, other)
    draw = loop.draws[number]
    if draw.finished is None:
        return _until_answered(script, state, attempt, who, draw.started)
    if script.has_judge and draw.validated is None and (number, _FINE) not in loop.judged:
        asked = [call for call in loop.judging.values() if call.draw == number]
        if not asked:
            return _started(attempt, who, loop, number, purpose="judge", requirement=_FINE)
        return _until_answered(script, state, attempt, who, asked[-1])
    return _after_answer(script, who, draw, loop)


def _counts(loop: LoopState, number: int) -> bool:
    draw = loop.draws.get(number)
    return draw is not None and draw.iteration is not None and not draw.iteration.passed


def _started(
    attempt: AttemptState, who: dict[str, Any], loop: LoopState, draw: int, **fields: Any
) -> GenerationStarted:
    call = loop.calls + 1
    named = generation_id(attempt.attempt_id, call)
    return GenerationStarted(**who, generation_id=named, draw=draw, call=call, agent="a", prompt="p", **fields)


def _until_answered(
    script: Script, state: RunState, attempt: AttemptState, who: dict[str, Any], started: GenerationStarted
) -> Payload:
    """What follows for a call that was begun, until it is answered."""
    assert attempt.loop is not None
    loop, purpose = attempt.loop, purpose_of(started)
    if (failed := loop.failed.get(purpose)) is None:
        return _finished(script, loop, who, started)
    error = failed.finished.error
    is_over = state.halted or loop.failures[purpose] >= script.most_failures
    if loop.open:
        return _finished(script, loop, who, next(iter(loop.open.values())))
    if is_over:
        return SamplingLoopEnded(**who, success=False, draw=None, iterations=0, failure_reason="busy", error=error)
    if attempt.activity_id in state.pauses:
        fields: dict[str, Any] = {"purpose": started.purpose, "requirement": started.requirement}
        return _started(attempt, who, loop, started.draw, **fields)
    return GenerationRetryScheduled(
        **who,
        generation_id=failed.finished.generation_id,
        draw=started.draw,
        delay_ms=DELAY_MS,
        due_at=state.timestamp + DELAY_MS,
    )


def _finished(script: Script, loop: LoopState, who: dict[str, Any], started: GenerationStarted) -> Payload:
    purpose = purpose_of(started)
    fails = loop.failures.get(purpose, 0) < script.errors.get(purpose, 0)
    said: dict[str, Any] = {"error": BUSY} if fails else {"text": f"draw {started.draw}"}
    return GenerationFinished(**who, generation_id=started.generation_id, draw=started.draw, **said)


def _after_answer(script: Script, who: dict[str, Any], draw: DrawState, loop: LoopState) -> Payload:
    passed = script.passes[draw.number - 1]
    if draw.validated is None:
        raw = Validation(requirement=_FINE, passed=passed)
        return ValidationFinished(**who, draw=draw.number, requirements=[{"name": _FINE}], validations=[raw])
    if draw.iteration is None:
        counted = EffectiveValidation(requirement=_FINE, passed=passed, effective_passed=passed)
        return SamplingIteration(**who, draw=draw.number, passed=passed, validations=[counted])
    if loop.open:
        # Draws made at once that are not wanted any more.
        named = next(iter(loop.open.values()))
        return GenerationFinished(**who, generation_id=named.generation_id, draw=named.draw, interrupted=True)
    return SamplingLoopEnded(**who, success=passed, draw=draw.number, iterations=draw.number)
