"""Payloads of the sampling loop and of its draws as JSON, each function named like its point. Pure.

Those that need no more than an attempt's state and the event of a draw are here; a step without `sampling` is a loop of
one draw, and passes through every point.
"""

from __future__ import annotations

from hooks.definition.hook_points import HookType
from hooks.events.payloads import GenerationFinished
from hooks.ids import generation_id
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.effective import effective_fields, logged_changes
from hooks.pipeline.payload_parts import (
    Occasion,
    action_fields,
    attempt_fields,
    context_value,
    error_value,
    output_value,
)

STRATEGY_NAMES = {
    "rejection": "RejectionSamplingStrategy",
    "repair_template": "RepairTemplateStrategy",
    "multi_turn": "MultiTurnStrategy",
    "best_of": "BestOfStrategy",
    "majority": "MajorityVotingStrategy",
}


def sampling_loop_start(occasion: Occasion) -> PayloadDocument:
    """Before the first draw: the strategy and the requirements as component_pre_execute has left them."""
    fields = effective_fields(occasion)
    strategy = fields["strategy"] or {}
    return {
        **_draw_fields(occasion, HookType.SAMPLING_LOOP_START, occasion.attempt.component_at, ordinal=1),
        "sampling_id": f"{occasion.attempt.attempt_id}::sampling",
        "strategy_name": STRATEGY_NAMES[strategy.get("strategy", "rejection")],
        "context": context_value([]),
        "requirements": fields["requirements"],
        "loop_budget": strategy.get("loop_budget", 1),
    }


def generation_pre_call(occasion: Occasion, *, draw: int, at: int) -> PayloadDocument:
    """Before draw number `draw`: what would be sent, before any hook of this point."""
    fields = effective_fields(occasion)
    return {
        **_generation_fields(occasion, HookType.GENERATION_PRE_CALL, at, draw),
        "context": context_value([]),
        "model": getattr(occasion.agent, "model", None),
        "prompt": occasion.resolve(occasion.component.bound),
        "model_options": fields["model_options"],
        "format": fields["format"],
        "tool_calls_enabled": fields["tool_calls_enabled"],
    }


def generation_post_call(occasion: Occasion, event: GenerationFinished, at: int) -> PayloadDocument:
    """After a draw that was answered, as `event`, recorded at `at` (ms), has it."""
    return {
        **_generation_fields(occasion, HookType.GENERATION_POST_CALL, at, event.draw),
        "prompt": _prompt(occasion, event.draw),
        "model_output": output_value(event, occasion.resolve),
        "usage": event.usage,
        "latency_ms": event.latency_ms,
    }


def generation_error(occasion: Occasion, event: GenerationFinished, at: int) -> PayloadDocument:
    """After a draw that failed, as `event`, recorded at `at` (ms), has it."""
    assert event.error is not None, "a draw that was answered has no error to tell of"
    return {
        **_generation_fields(occasion, HookType.GENERATION_ERROR, at, event.draw),
        "prompt": _prompt(occasion, event.draw),
        "exception": error_value(event.error, occasion.resolve),
        "error_class": event.error.error_class,
        "latency_ms": event.latency_ms,
    }


def _draw_fields(occasion: Occasion, point: HookType, at: int, *, ordinal: int) -> PayloadDocument:
    return {**attempt_fields(occasion, point, at, ordinal=ordinal), **action_fields(occasion)}


def _generation_fields(occasion: Occasion, point: HookType, at: int, draw: int) -> PayloadDocument:
    return {
        **_draw_fields(occasion, point, at, ordinal=draw),
        "generation_id": generation_id(occasion.attempt.attempt_id, draw),
        "purpose": "draw",
        "agent": occasion.agent.name,
    }


def _prompt(occasion: Occasion, draw: int) -> Json:
    """What was sent: the bound prompt, unless a hook of that draw changed it."""
    of_draw = [logged for logged in occasion.attempt.hooks if logged.decided.ordinal == draw]
    changed = logged_changes(of_draw, HookType.GENERATION_PRE_CALL, occasion.resolve)
    return changed.get("prompt", occasion.resolve(occasion.component.bound))
