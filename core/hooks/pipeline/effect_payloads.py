"""Payloads of the effect points as JSON, each function named like its point. Pure, as all payloads are.

An effect is an executor call, or a draw of an agent whose draws have consequences; `executor` is then the agent's name.
"""

from __future__ import annotations

from hooks.definition.hook_points import HookType
from hooks.definition.model import SubagentNode
from hooks.events.payloads import EffectSettled, ReconcileResult
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.effective import bound_input, effective_input
from hooks.pipeline.payload_parts import Occasion, attempt_fields, error_value


def effect_pre_attempt(
    occasion: Occasion, *, idempotency_key: str, read_only: bool, ordinal: int = 1
) -> PayloadDocument:
    """Before an effect is permitted: the input as component_pre_execute has left it, before any hook here.

    Also when hooks have been asked here already and are to be asked again: their changes are made to this input anew.
    """
    return {
        **attempt_fields(occasion, HookType.EFFECT_PRE_ATTEMPT, occasion.attempt.component_at, ordinal=ordinal),
        "executor": _executor(occasion),
        "idempotency_key": idempotency_key,
        "read_only": read_only,
        "input": bound_input(occasion),
    }


def effect_post_settle(occasion: Occasion, event: EffectSettled, at: int, *, ordinal: int = 1) -> PayloadDocument:
    """After an effect has come to an outcome, as `event`, recorded at `at` (ms), has it."""
    return {
        **attempt_fields(occasion, HookType.EFFECT_POST_SETTLE, at, ordinal=ordinal),
        **_effect_fields(occasion, event),
        "outcome": event.outcome,
        "output": occasion.resolve(event.output),
        "error": _error(occasion, event),
        "latency_ms": event.latency_ms,
    }


def effect_reconciled(occasion: Occasion, event: ReconcileResult, at: int, *, ordinal: int = 1) -> PayloadDocument:
    """After it was learned what became of a dangling effect, or that only a person can say."""
    return {
        **attempt_fields(occasion, HookType.EFFECT_RECONCILED, at, ordinal=ordinal),
        **_effect_fields(occasion, event),
        "outcome": event.outcome,
        "reason": event.reason,
        "output": occasion.resolve(event.output),
        "evidence": occasion.resolve(event.evidence),
        "error": _error(occasion, event),
        "resolved_by": event.by,
    }


def _effect_fields(occasion: Occasion, event: EffectSettled | ReconcileResult) -> PayloadDocument:
    permit = occasion.attempt.effect
    executor = _executor(occasion)
    return {
        "executor": executor,
        # A call that may be repeated has no permit that names one.
        "provider": executor if permit is None else permit.provider,
        "idempotency_key": event.idempotency_key,
        "input": effective_input(occasion),
    }


def _executor(occasion: Occasion) -> str:
    node = occasion.node
    return node.agent if isinstance(node, SubagentNode) else node.executor


def _error(occasion: Occasion, event: EffectSettled | ReconcileResult) -> Json:
    return None if event.error is None else error_value(event.error, occasion.resolve)
