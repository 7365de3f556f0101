"""The only writer of run state: `apply` folds one event into it.

It checks that the event is legal where it stands (an illegal one means that the log is damaged or that this program has
a fault) and touches nothing but the state. One small function per event type, found by type, in the module of its
subject; `tests/kernel` holds the table complete. The cost of an event does not depend on how many came before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hooks.events.envelope import Event
from hooks.events.payloads import (
    HookDecided,
    HookSetChanged,
    LateOutcome,
    LogRepaired,
    Payload,
    ReconcileResult,
    RequestRefused,
    ResumeStarted,
    RunReopened,
)
from hooks.kernel import apply_attempts, apply_nodes, apply_run, apply_sampling, apply_waits
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.state import RunState

APPLY: dict[type[Payload], Callable[[RunState, Any, int], None]] = {
    **apply_run.APPLY,
    **apply_nodes.APPLY,
    **apply_attempts.APPLY,
    **apply_sampling.APPLY,
    **apply_waits.APPLY,
}

LEGAL_AFTER_END: frozenset[type[Payload]] = frozenset(
    {
        HookDecided,
        HookSetChanged,
        LateOutcome,
        LogRepaired,
        ReconcileResult,
        RequestRefused,
        ResumeStarted,
        RunReopened,
    }
)


def apply(state: RunState, event: Event) -> RunState:
    """Fold `event` into `state` and return it. Raises IllegalEventError, leaving the state unusable."""
    payload = event.payload
    kind = type(payload)
    if state.ended is not None and kind not in LEGAL_AFTER_END:
        raise IllegalEventError(f"{payload.type} after {state.ended.type}")
    state.seq = event.seq
    state.timestamp = event.timestamp
    APPLY[kind](state, payload, event.timestamp)
    return state


def fold(state: RunState, events: Iterable[Event]) -> RunState:
    """Fold all `events` into `state`, and return it: `fold(initial_state(run_id, workflow), events)`.

    Raises IllegalEventError at one that cannot stand where it does.
    """
    for event in events:
        apply(state, event)
    return state
