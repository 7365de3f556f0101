"""Payloads of the component points as JSON: pure functions of state, definition and the event they are made from.

The same run gives the same payloads, live or replayed, with or without hooks; only `timestamp` and the latencies are
times. The functions are named like the points; those of effects stand in effect_payloads.py, those of runs and gates in
run_payloads.py. The classes are in hook_points.py; these functions do without them, so that replay can walk thousands
of runs without pydantic, and a test holds the two together.
"""

from __future__ import annotations

from hooks.definition.hook_points import HookType
from hooks.definition.model import CommandAgent
from hooks.events.payloads import ComponentFailed, ComponentSucceeded, GenerationFinished
from hooks.ids import attempt_directory
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.effective import EXECUTION_FIELDS, effective_fields
from hooks.pipeline.payload_parts import (
    Occasion,
    action_fields,
    as_text,
    attempt_fields,
    context_value,
    error_value,
    iso_time,
    output_value,
)


def component_pre_execute(occasion: Occasion) -> PayloadDocument:
    """Before the component runs: what was bound, before any hook."""
    component, resolve = occasion.component, occasion.resolve
    return {
        **_component_fields(occasion, HookType.COMPONENT_PRE_EXECUTE, occasion.attempt.component_at),
        "context_view": [] if occasion.is_agent_step else None,
        **{name: resolve(getattr(component, name)) for name in EXECUTION_FIELDS},
    }


def component_post_success(occasion: Occasion, event: ComponentSucceeded, at: int) -> PayloadDocument:
    """After the component succeeded, as `event`, recorded at `at` (ms), has it."""
    before: list[Json] = []
    draws = occasion.attempt.draws
    is_agent_step = occasion.is_agent_step
    return {
        **_component_fields(occasion, HookType.COMPONENT_POST_SUCCESS, at),
        "result": _result(occasion, event),
        "context_before": context_value(before),
        "context_after": context_value([*before, *_exchange(occasion, event)] if is_agent_step else before),
        "generate_log": _generate_log(occasion, draws[-1]) if draws else None,
        "sampling_results": [output_value(draw, occasion.resolve) for draw in draws] if is_agent_step else None,
        "sampling_success": True if is_agent_step else None,
        "latency_ms": event.latency_ms,
    }


def component_post_error(occasion: Occasion, event: ComponentFailed, at: int) -> PayloadDocument:
    """After the component failed, as `event`, recorded at `at` (ms), has it."""
    return {
        **_component_fields(occasion, HookType.COMPONENT_POST_ERROR, at),
        "error": error_value(event.error, occasion.resolve),
        "error_type": event.error.error_code,
        "stack_trace": event.stack_trace,
        "context": context_value([]),
        "model_options": effective_fields(occasion)["model_options"],
    }


def _component_fields(occasion: Occasion, point: HookType, at: int) -> PayloadDocument:
    return {
        # A component has one dispatch of each of its points in an attempt.
        **attempt_fields(occasion, point, at, ordinal=1),
        **action_fields(occasion),
        "component_type": occasion.component.component_type,
    }


def _result(occasion: Occasion, event: ComponentSucceeded) -> dict[str, Json]:
    output, draws = occasion.resolve(event.output), occasion.attempt.draws
    if not draws:
        return {"text": None, "value": output, "model": None, "usage": None, "finish_reason": None}
    result = output_value(draws[-1], occasion.resolve)
    if result["value"] is None and output != result["text"]:
        # The agent gave text, and the step made a value of it.
        result["value"] = output
    return result


def _generate_log(occasion: Occasion, draw: GenerationFinished) -> dict[str, Json]:
    return {
        "prompt": occasion.resolve(occasion.component.bound),
        "model": draw.model,
        "provider": str(occasion.agent.__struct_config__.tag),
        "model_options": effective_fields(occasion)["model_options"],
        "usage": draw.usage,
        "started_at": iso_time(occasion.attempt.running_since),
        "latency_ms": draw.latency_ms,
        "raw_ref": _raw_answer(occasion),
    }


def _raw_answer(occasion: Occasion) -> str | None:
    """Where the bytes of an answer are, below the run directory; only a process leaves any."""
    attempt = occasion.attempt
    if not isinstance(occasion.agent, CommandAgent):
        return None
    return f"attempts/{attempt_directory(attempt.activity_id, attempt.number)}/stdout"


def _exchange(occasion: Occasion, event: ComponentSucceeded) -> list[Json]:
    draws = occasion.attempt.draws
    answer = occasion.resolve(draws[-1].text) if draws else as_text(occasion.resolve(event.output))
    prompt = occasion.resolve(occasion.component.bound)
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
