"""Folding the events of a sampling loop: calls of agents, the checks of their answers, what followed, what was chosen.

Nothing that was said is copied: a conversation is a chain of turns that share their beginnings, so that one of n turns
costs n, in the log and here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.events.payloads import (
    AttemptPayload,
    GenerationFinished,
    GenerationRetryScheduled,
    GenerationStarted,
    Payload,
    SamplingIteration,
    SamplingLoopEnded,
    SamplingLoopStarted,
    SamplingRepair,
    ValidationFinished,
)
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.open_attempts import open_attempt, permit, started_attempt
from hooks.kernel.state import AttemptState, DrawState, FailedCall, LoopState, RunState, Turn, purpose_of


def _sampling_loop_started(state: RunState, payload: SamplingLoopStarted, at: int) -> None:
    attempt = started_attempt(state, payload)
    if attempt.loop is not None:
        raise IllegalEventError(f"a second loop of {payload.attempt_id}")
    attempt.loop = LoopState(payload, at)


def _generation_started(state: RunState, payload: GenerationStarted, at: int) -> None:
    attempt = started_attempt(state, payload)
    if attempt.loop is None:
        attempt.loop = LoopState()
    loop = attempt.loop
    if payload.generation_id in loop.open or loop.ended is not None:
        raise IllegalEventError(f"{payload.generation_id} is started out of turn")
    permit(state, attempt, at)
    loop.open[payload.generation_id] = payload
    loop.calls = max(loop.calls, payload.call)
    loop.failed.pop(purpose_of(payload), None)
    attempt.stop = None
    state.pauses.pop(attempt.activity_id, None)
    if payload.purpose == "judge":
        _answered_draw(loop, payload)
        loop.judging[payload.generation_id] = payload
        return
    draw = loop.draws.get(payload.draw)
    if draw is not None and draw.finished is not None:
        raise IllegalEventError(f"draw {payload.draw} of {payload.attempt_id} is made again, but was answered")
    before = attempt.before if payload.after is None else _draw(loop, payload, payload.after).turn
    loop.draws[payload.draw] = DrawState(payload.draw, payload, at, before)


def _generation_finished(state: RunState, payload: GenerationFinished, at: int) -> None:
    attempt = open_attempt(state, payload)
    loop = attempt.loop
    started = loop.open.pop(payload.generation_id, None) if loop is not None else None
    if loop is None or started is None:
        raise IllegalEventError(f"{payload.generation_id} finished, but was not started")
    if payload.interrupted:
        attempt.interruptions += attempt.stop is None
        return
    attempt.interruptions = 0
    purpose = purpose_of(started)
    if payload.error is not None:
        loop.failures[purpose] = loop.failures.get(purpose, 0) + 1
        loop.failed[purpose] = FailedCall(started, payload, at)
        return
    if started.purpose == "judge":
        loop.judged[started.draw, started.requirement or ""] = payload
        return
    draw = loop.draws[started.draw]
    draw.finished, draw.finished_at = payload, at


def _generation_retry_scheduled(state: RunState, payload: GenerationRetryScheduled, at: int) -> None:
    attempt = open_attempt(state, payload)
    if attempt.loop is None or attempt.loop.open or not attempt.loop.failed:
        raise IllegalEventError(f"{payload.generation_id} is to be made again, but has not just failed")
    state.pauses[attempt.activity_id] = payload.due_at


def _validation_finished(state: RunState, payload: ValidationFinished, at: int) -> None:
    draw = _answered_draw(_loop(state, payload), payload)
    if draw.validated is not None:
        raise IllegalEventError(f"draw {payload.draw} of {payload.attempt_id} was judged before")
    draw.validated, draw.validated_at = payload, at


def _sampling_iteration(state: RunState, payload: SamplingIteration, at: int) -> None:
    draw = _answered_draw(_loop(state, payload), payload)
    if draw.validated is None or draw.iteration is not None:
        raise IllegalEventError(f"draw {payload.draw} of {payload.attempt_id} counts out of turn")
    draw.iteration, draw.iteration_at = payload, at


def _sampling_repair(state: RunState, payload: SamplingRepair, at: int) -> None:
    draw = _answered_draw(_loop(state, payload), payload)
    if draw.iteration is None or draw.repair is not None:
        raise IllegalEventError(f"draw {payload.draw} of {payload.attempt_id} is repaired out of turn")
    draw.repair, draw.repair_at = payload, at


def _sampling_loop_ended(state: RunState, payload: SamplingLoopEnded, at: int) -> None:
    loop = _loop(state, payload)
    if loop.ended is not None or loop.open or (payload.draw is not None and payload.draw not in loop.draws):
        raise IllegalEventError(f"the loop of {payload.attempt_id} ends out of turn")
    loop.ended, loop.ended_at = payload, at
    state.pauses.pop(open_attempt(state, payload).activity_id, None)


def _loop(state: RunState, payload: AttemptPayload) -> LoopState:
    loop = open_attempt(state, payload).loop
    if loop is None:
        raise IllegalEventError(f"{payload.type} of {payload.attempt_id}, which has no loop")
    return loop


def _draw(loop: LoopState, payload: Any, number: int) -> DrawState:
    draw = loop.draws.get(number)
    if draw is None or draw.finished is None:
        raise IllegalEventError(f"{payload.type} of {payload.attempt_id} builds on draw {number}, which has no answer")
    return draw


def _answered_draw(loop: LoopState, payload: Any) -> DrawState:
    return _draw(loop, payload, payload.draw)


def conversation_of(attempt: AttemptState, output: Any) -> Turn | None:
    """What was said in an attempt that succeeded with `output`, the answer that stands included."""
    assert attempt.component is not None, "what succeeds has begun"
    chosen = attempt.loop.chosen if attempt.loop is not None else None
    if chosen is not None:
        return chosen.turn
    if attempt.component.component_type != "AgentStep":
        return None
    return Turn(attempt.before, attempt.component.bound, output)


APPLY: dict[type[Payload], Callable[[RunState, Any, int], None]] = {
    SamplingLoopStarted: _sampling_loop_started,
    GenerationStarted: _generation_started,
    GenerationFinished: _generation_finished,
    GenerationRetryScheduled: _generation_retry_scheduled,
    ValidationFinished: _validation_finished,
    SamplingIteration: _sampling_iteration,
    SamplingRepair: _sampling_repair,
    SamplingLoopEnded: _sampling_loop_ended,
}
