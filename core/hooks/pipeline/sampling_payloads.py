"""Payloads of the sampling loop, of its draws and of their checks as JSON, each function named like its point. Pure.

A step without `sampling` is a loop of one draw, and passes through every point. What a call would send before any hook
is told by the state alone (`call_before_hooks`), so that replay has it as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from hooks.definition.hook_points import HookType
from hooks.events.payloads import (
    EffectiveValidation,
    GenerationFinished,
    GenerationStarted,
    SamplingLoopEnded,
    SamplingLoopStarted,
)
from hooks.ids import generation_id
from hooks.kernel.state import DrawState, LoopState, Turn
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.effective import effective_fields, effective_input
from hooks.pipeline.payload_parts import (
    Occasion,
    action_asking,
    action_fields,
    agent_named,
    attempt_fields,
    context_of,
    error_value,
    output_value,
    requirement_value,
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an agent, as it would be made: a draw, or a question to a judge about one."""

    number: int
    draw: int
    agent: str
    prompt: str
    model_options: dict[str, Json]
    format: Json
    tool_calls_enabled: bool = False
    after: int | None = None
    purpose: Literal["draw", "judge"] = "draw"
    requirement: str | None = None


def call_before_hooks(occasion: Occasion, *, number: int, draw: int, prompt: str | None = None) -> Call:
    """What draw number `draw` would send, before any hook of generation_pre_call.

    `prompt` is what the step asks, where an implementation has made something else of it than was bound.
    """
    fields = effective_fields(occasion)
    if not occasion.agent.repeatable:
        # A draw that is an effect sends what hooks of effect_pre_attempt have left.
        fields = {**fields, **effective_input(occasion)}
    loop = occasion.attempt.loop
    before = loop.draws.get(draw - 1) if loop is not None else None
    repair = before.repair if before is not None else None
    asked = fields.get("prompt", occasion.component.bound) if prompt is None else prompt
    return Call(
        number=number,
        draw=draw,
        agent=occasion.agent.name,
        prompt=occasion.resolve(asked if repair is None else repair.prompt),
        model_options=fields["model_options"],
        format=fields["format"],
        tool_calls_enabled=fields["tool_calls_enabled"],
        after=None if repair is None else repair.after,
    )


def call_as_made(occasion: Occasion, started: GenerationStarted) -> Call:
    """A call as it was permitted."""
    resolve = occasion.resolve
    return Call(
        number=started.call,
        draw=started.draw,
        agent=started.agent,
        prompt=resolve(started.prompt),
        model_options=resolve(started.model_options),
        format=resolve(started.format),
        tool_calls_enabled=started.tool_calls_enabled,
        after=started.after,
        purpose=started.purpose,
        requirement=started.requirement,
    )


def changed_call(call: Call, changes: Mapping[str, Json]) -> Call:
    """The call with what hooks of generation_pre_call have changed."""
    return replace(call, **changes) if changes else call


# ---- the loop ------------------------------------------------------------------------------------------------------


def sampling_loop_start(occasion: Occasion, event: SamplingLoopStarted, at: int) -> PayloadDocument:
    """Before the first draw: the strategy and the requirements as component_pre_execute has left them."""
    return {
        **_sampling_fields(occasion, HookType.SAMPLING_LOOP_START, at, ordinal=1),
        **action_fields(occasion),
        "strategy_name": event.strategy_name,
        "context": context_of(occasion, occasion.attempt.before),
        "requirements": requirements_value(occasion, event.requirements),
        "loop_budget": event.loop_budget,
    }


def sampling_iteration(occasion: Occasion, draw: DrawState) -> PayloadDocument:
    """After a draw was made and checked, as its samplingIteration has it."""
    assert draw.finished is not None
    assert draw.iteration is not None
    results = _validations(occasion, draw)
    return {
        **_sampling_fields(occasion, HookType.SAMPLING_ITERATION, draw.iteration_at, ordinal=draw.number),
        **_action_of(occasion, draw),
        "strategy_name": _started(occasion).strategy_name,
        "iteration": draw.number,
        "result": output_value(draw.finished, occasion.resolve),
        "validation_results": results,
        "all_validations_passed": draw.iteration.passed,
        "valid_count": sum(result["effective_passed"] for result in results),
        "total_count": len(results),
    }


def sampling_repair(occasion: Occasion, draw: DrawState) -> PayloadDocument:
    """After a draw failed and before the next one, as its samplingRepair has it."""
    assert draw.finished is not None
    assert draw.repair is not None
    resolve, loop = occasion.resolve, _loop(occasion)
    after = draw.repair.after
    return {
        **_sampling_fields(occasion, HookType.SAMPLING_REPAIR, draw.repair_at, ordinal=draw.number),
        **action_fields(occasion),
        "repair_type": draw.repair.repair_type,
        "failed_action": _action_of(occasion, draw)["action"],
        "failed_result": output_value(draw.finished, resolve),
        "failed_validations": [result for result in _validations(occasion, draw) if not result["effective_passed"]],
        "repair_action": action_asking(occasion, resolve(draw.repair.prompt)),
        "repair_context": context_of(occasion, turn_before(occasion, loop, after)),
        "repair_iteration": draw.number + 1,
    }


def sampling_loop_end(occasion: Occasion, event: SamplingLoopEnded, at: int) -> PayloadDocument:
    """After the loop, as its samplingLoopEnded, recorded at `at` (ms), has it."""
    resolve, loop = occasion.resolve, _loop(occasion)
    chosen = None if event.draw is None else loop.draws[event.draw]
    turn = occasion.attempt.before if chosen is None else chosen.turn
    return {
        **_sampling_fields(occasion, HookType.SAMPLING_LOOP_END, at, ordinal=1),
        **(action_fields(occasion) if chosen is None else _action_of(occasion, chosen)),
        "strategy_name": _started(occasion).strategy_name,
        "success": event.success,
        "iterations_used": event.iterations,
        "final_result": None if chosen is None or chosen.finished is None else output_value(chosen.finished, resolve),
        "final_action": (action_fields(occasion) if chosen is None else _action_of(occasion, chosen))["action"],
        "final_context": context_of(occasion, turn),
        "failure_reason": event.failure_reason,
        "all_results": [output_value(draw.finished, resolve) for draw in loop.answered if draw.finished is not None],
        "all_validations": [_validations(occasion, draw) for draw in loop.answered if draw.iteration is not None],
    }


# ---- calls ---------------------------------------------------------------------------------------------------------


def generation_pre_call(occasion: Occasion, call: Call) -> PayloadDocument:
    """Before an agent is asked: what would be sent, before any hook of this point."""
    turn = turn_before(occasion, occasion.attempt.loop, call.after)
    is_draw = call.purpose == "draw"
    return {
        **_generation_fields(occasion, HookType.GENERATION_PRE_CALL, occasion.state.timestamp, call),
        "context": context_of(occasion, turn if is_draw else None),
        "model": getattr(agent_named(occasion, call.agent), "model", None),
        "prompt": call.prompt,
        "model_options": call.model_options,
        "format": call.format,
        "tool_calls_enabled": call.tool_calls_enabled,
    }


def generation_post_call(
    occasion: Occasion, started: GenerationStarted, event: GenerationFinished, at: int
) -> PayloadDocument:
    """After a call that was answered, as `event`, recorded at `at` (ms), has it."""
    call = call_as_made(occasion, started)
    return {
        **_generation_fields(occasion, HookType.GENERATION_POST_CALL, at, call),
        "prompt": call.prompt,
        "model_output": output_value(event, occasion.resolve),
        "usage": event.usage,
        "latency_ms": event.latency_ms,
    }


def generation_error(
    occasion: Occasion, started: GenerationStarted, event: GenerationFinished, at: int
) -> PayloadDocument:
    """After a call that failed, as `event`, recorded at `at` (ms), has it."""
    assert event.error is not None, "a call that was answered has no error to tell of"
    call = call_as_made(occasion, started)
    return {
        **_generation_fields(occasion, HookType.GENERATION_ERROR, at, call),
        "prompt": call.prompt,
        "exception": error_value(event.error, occasion.resolve),
        "error_class": event.error.error_class,
        "latency_ms": event.latency_ms,
    }


# ---- checks --------------------------------------------------------------------------------------------------------


def validation_pre_check(occasion: Occasion, draw: DrawState) -> PayloadDocument:
    """Before an answer is checked: by what, before any hook of this point."""
    assert draw.finished is not None
    return {
        **_validation_fields(occasion, HookType.VALIDATION_PRE_CHECK, draw.finished_at, draw),
        "requirements": requirements_value(occasion, _started(occasion).requirements),
        "target": output_value(draw.finished, occasion.resolve),
        "context": context_of(occasion, draw.before),
        "model_options": effective_fields(occasion)["model_options"],
    }


def validation_post_check(occasion: Occasion, draw: DrawState) -> PayloadDocument:
    """After an answer was checked, as its validationFinished has it."""
    assert draw.validated is not None
    results = raw_results(occasion, draw)
    passed = sum(result["effective_passed"] for result in results)
    return {
        **_validation_fields(occasion, HookType.VALIDATION_POST_CHECK, draw.validated_at, draw),
        "requirements": requirements_value(occasion, draw.validated.requirements),
        "results": results,
        "all_validations_passed": passed == len(results),
        "passed_count": passed,
        "failed_count": len(results) - passed,
    }


def raw_results(occasion: Occasion, draw: DrawState) -> list[dict[str, Json]]:
    """The verdicts on a draw before any hook has turned one."""
    assert draw.validated is not None
    return _results(
        occasion,
        draw,
        [
            EffectiveValidation(
                requirement=verdict.requirement,
                passed=verdict.passed,
                reason=verdict.reason,
                score=verdict.score,
                effective_passed=verdict.passed,
            )
            for verdict in draw.validated.validations
        ],
    )


def requirements_value(occasion: Occasion, requirements: Json) -> list[dict[str, Json]]:
    return [requirement_value(requirement) for requirement in occasion.resolve(requirements)]


def turn_before(occasion: Occasion, loop: LoopState | None, after: int | None) -> Turn | None:
    """What was said before a prompt that comes after this draw, or at the beginning."""
    return occasion.attempt.before if after is None or loop is None else loop.draws[after].turn


def _validations(occasion: Occasion, draw: DrawState) -> list[dict[str, Json]]:
    assert draw.iteration is not None
    return _results(occasion, draw, draw.iteration.validations)


def _results(occasion: Occasion, draw: DrawState, verdicts: list[EffectiveValidation]) -> list[dict[str, Json]]:
    assert draw.validated is not None
    requirements = {entry["name"]: entry for entry in requirements_value(occasion, draw.validated.requirements)}
    return [
        {
            "requirement": requirements[verdict.requirement],
            "passed": verdict.passed,
            "effective_passed": verdict.effective_passed,
            "score": verdict.score,
            "reason": verdict.reason,
            "changed_by": verdict.changed_by,
        }
        for verdict in verdicts
    ]


# ---- what they share -----------------------------------------------------------------------------------------------


def _loop(occasion: Occasion) -> LoopState:
    assert occasion.attempt.loop is not None, "points of a loop come after samplingLoopStarted"
    return occasion.attempt.loop


def _started(occasion: Occasion) -> SamplingLoopStarted:
    started = _loop(occasion).started
    assert started is not None, "points of a loop come after samplingLoopStarted"
    return started


def _sampling_fields(occasion: Occasion, point: HookType, at: int, *, ordinal: int) -> PayloadDocument:
    return {
        **attempt_fields(occasion, point, at, ordinal=ordinal),
        "sampling_id": f"{occasion.attempt.attempt_id}::sampling",
    }


def _generation_fields(occasion: Occasion, point: HookType, at: int, call: Call) -> PayloadDocument:
    return {
        **attempt_fields(occasion, point, at, ordinal=call.number),
        **action_fields(occasion),
        "generation_id": generation_id(occasion.attempt.attempt_id, call.number),
        "purpose": call.purpose,
        "agent": call.agent,
    }


def _validation_fields(occasion: Occasion, point: HookType, at: int, draw: DrawState) -> PayloadDocument:
    return {
        **attempt_fields(occasion, point, at, ordinal=draw.number),
        **action_fields(occasion),
        "validation_id": f"{occasion.attempt.attempt_id}::val-{draw.number}",
    }


def _action_of(occasion: Occasion, draw: DrawState) -> PayloadDocument:
    """The action that a draw came of: what was really asked."""
    return {**action_fields(occasion), "action": action_asking(occasion, occasion.resolve(draw.started.prompt))}
