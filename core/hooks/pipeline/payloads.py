"""Payloads of the component points as JSON: pure functions of state, definition and the event they are made from.

The same run gives the same payloads, live or replayed, with or without hooks; only `timestamp` and the latencies are
times. The functions are named like the points; those of effects stand in effect_payloads.py, those of runs and gates in
run_payloads.py. The classes are in hook_points.py; these functions do without them, so that replay can walk thousands
of runs without pydantic, and a test holds the two together.
"""

from __future__ import annotations

from hooks.definition.hook_points import HookType
from hooks.definition.model import CommandAgent
from hooks.events.payloads import ComponentFailed, ComponentSucceeded
from hooks.ids import attempt_directory, call_directory
from hooks.kernel.apply_sampling import conversation_of
from hooks.kernel.state import DrawState
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.effective import EXECUTION_FIELDS, effective_fields
from hooks.pipeline.payload_parts import (
    Occasion,
    action_asking,
    action_fields,
    attempt_fields,
    context_of,
    error_value,
    iso_time,
    messages_of,
    output_value,
    requirement_value,
)


def component_pre_execute(occasion: Occasion) -> PayloadDocument:
    """Before the component runs: what was bound, before any hook."""
    component, resolve = occasion.component, occasion.resolve
    return {
        **_component_fields(occasion, HookType.COMPONENT_PRE_EXECUTE, occasion.attempt.component_at),
        "context_view": messages_of(occasion, occasion.attempt.before) if occasion.is_agent_step else None,
        **{name: resolve(getattr(component, name)) for name in EXECUTION_FIELDS},
        "requirements": [requirement_value(requirement) for requirement in resolve(component.requirements)],
    }


def component_post_success(occasion: Occasion, event: ComponentSucceeded, at: int) -> PayloadDocument:
    """After the component succeeded, as `event`, recorded at `at` (ms), has it."""
    resolve, attempt = occasion.resolve, occasion.attempt
    loop = attempt.loop
    chosen = loop.chosen if loop is not None else None
    is_agent_step = occasion.is_agent_step
    draws = loop.answered if loop is not None else []
    return {
        **_component_fields(occasion, HookType.COMPONENT_POST_SUCCESS, at),
        **({} if chosen is None else {"action": action_asking(occasion, resolve(chosen.started.prompt))}),
        "result": _result(occasion, event, chosen),
        "context_before": context_of(occasion, attempt.before),
        "context_after": context_of(occasion, conversation_of(attempt, event.output)),
        "generate_log": _generate_log(occasion, chosen) if chosen is not None else None,
        "sampling_results": [output_value(draw.finished, resolve) for draw in draws if draw.finished is not None]
        if is_agent_step
        else None,
        "sampling_success": (loop is None or loop.ended is None or loop.ended.success) if is_agent_step else None,
        "latency_ms": event.latency_ms,
    }


def component_post_error(occasion: Occasion, event: ComponentFailed, at: int) -> PayloadDocument:
    """After the component failed, as `event`, recorded at `at` (ms), has it."""
    return {
        **_component_fields(occasion, HookType.COMPONENT_POST_ERROR, at),
        "error": error_value(event.error, occasion.resolve),
        "error_type": event.error.error_code,
        "stack_trace": event.stack_trace,
        "context": context_of(occasion, occasion.attempt.before),
        "model_options": effective_fields(occasion)["model_options"],
    }


def _component_fields(occasion: Occasion, point: HookType, at: int) -> PayloadDocument:
    return {
        # A component has one dispatch of each of its points in an attempt.
        **attempt_fields(occasion, point, at, ordinal=1),
        **action_fields(occasion),
        "component_type": occasion.component.component_type,
    }


def _result(occasion: Occasion, event: ComponentSucceeded, chosen: DrawState | None) -> dict[str, Json]:
    output = occasion.resolve(event.output)
    if chosen is None or chosen.finished is None:
        return {"text": None, "value": output, "model": None, "usage": None, "finish_reason": None}
    result = output_value(chosen.finished, occasion.resolve)
    if result["value"] is None and output != result["text"]:
        # The agent gave text, and the step made a value of it.
        result["value"] = output
    return result


def _generate_log(occasion: Occasion, draw: DrawState) -> dict[str, Json]:
    finished, resolve = draw.finished, occasion.resolve
    assert finished is not None, "a draw that was chosen was answered"
    return {
        "prompt": resolve(draw.started.prompt),
        "model": finished.model,
        "provider": str(occasion.agent.__struct_config__.tag),
        "model_options": resolve(draw.started.model_options),
        "usage": finished.usage,
        "started_at": iso_time(draw.started_at),
        "latency_ms": finished.latency_ms,
        "raw_ref": _raw_answer(occasion, draw),
    }


def _raw_answer(occasion: Occasion, draw: DrawState) -> str | None:
    """Where the bytes of an answer are, below the run directory; only a process leaves any."""
    attempt = occasion.attempt
    if not isinstance(occasion.agent, CommandAgent):
        return None
    directory = attempt_directory(attempt.activity_id, attempt.number)
    return f"attempts/{call_directory(directory, draw.started.call)}/stdout"
