"""One event on one line, for a person following along."""

from __future__ import annotations

from hooks.events.envelope import Event
from hooks.events.payloads import (
    ActivityFailed,
    ActivityTimedOut,
    AttemptCreated,
    CancelDelivered,
    ComponentFailed,
    ComponentSucceeded,
    EffectAttempted,
    EffectSettled,
    ErrorInfo,
    GenerationFinished,
    GenerationStarted,
    HookDecided,
    LogRepaired,
    NodeFailed,
    Payload,
    ReconcileResult,
    ResumeStarted,
    RetryScheduled,
    RunBlocked,
    RunCreated,
    RunFailed,
    RunSucceeded,
)
from hooks_cli.render.text import clock_time, duration, one_line

_DETAIL_WIDTH = 160


def event_line(event: Event, *, run_id: str | None = None) -> str:
    """Time, place in the log, type, node, and what is particular to it; `run_id` where several runs are shown."""
    node = getattr(event.payload, "node_id", None) or ""
    words = [clock_time(event.timestamp), f"{event.seq:>5}", f"{event.payload.type:<20}", f"{node:<16}"]
    if run_id is not None:
        words.insert(0, run_id)
    return "  ".join([*words, one_line(detail(event.payload), _DETAIL_WIDTH)]).rstrip()


def detail(payload: Payload) -> str:
    """What an event says beyond its type and node; may hold anything a run printed."""
    match payload:
        case RunCreated():
            return f"{payload.workflow_id} by {payload.initiator}"
        case ResumeStarted():
            return f"process {payload.session.pid} on {payload.session.host}"
        case LogRepaired():
            return f"{payload.cut_bytes} bytes of a torn write kept in {payload.kept_in}"
        case RunSucceeded():
            return ", ".join(payload.sinks)
        case RunFailed() | RunBlocked() | NodeFailed() | ActivityFailed() | ActivityTimedOut() | ComponentFailed():
            return error_text(payload.error)
        case AttemptCreated():
            return f"attempt {payload.attempt}"
        case GenerationStarted():
            return f"draw {payload.draw}: {payload.agent}"
        case GenerationFinished():
            return error_text(payload.error) if payload.error else _span(payload.latency_ms)
        case ComponentSucceeded():
            return _span(payload.latency_ms)
        case EffectAttempted():
            return f"{payload.provider} {payload.idempotency_key}"
        case EffectSettled():
            return f"{payload.outcome} {error_text(payload.error) if payload.error else _span(payload.latency_ms)}"
        case ReconcileResult():
            return f"{payload.outcome}: {payload.reason}"
        case RetryScheduled():
            return f"attempt {payload.next_attempt} in {duration(payload.delay_ms)}"
        case CancelDelivered():
            return f"{payload.signal} ({payload.reason})"
        case HookDecided():
            return f"{payload.hook}: {payload.verdict} {hook_reasons(payload)}"
        case _:
            return ""


def error_text(error: ErrorInfo) -> str:
    return f"{error.error_code}: {error.error_message}"


def hook_reasons(decided: HookDecided) -> str:
    """Which hooks said something other than allow, and why; what they had to tell beside it."""
    told = []
    for decision in decided.decisions:
        if decision.outcome not in ("allow", "not_run"):
            told.append(f"{decision.plugin} {decision.outcome}" + (f" ({decision.reason})" if decision.reason else ""))
        told += [f"{decision.plugin}: {message}" for message in decision.messages]
    return "; ".join(told)


def _span(latency_ms: int) -> str:
    return f"in {duration(latency_ms)}"
