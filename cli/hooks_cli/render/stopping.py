"""What a person is told who has just said Ctrl-C: what is still waited for, how long, and what a second one does."""

from __future__ import annotations

from collections.abc import Sequence

from hooks.definition.durations import spelt
from hooks.kernel.state import RunState
from hooks.runtime.node_names import name_in_id


def stopping_text(reason: str, state: RunState, grace_ms: int) -> str:
    """`reason` is what stops the driver, `state` that of the moment.

    Effects are let finish within the grace, all else is told to end now.
    """
    under_way = [
        attempt
        for attempt in state.open.values()
        if attempt.is_permitted and not (attempt.is_in_doubt or attempt.is_waiting)
    ]
    effects = [name_in_id(attempt.activity_id) for attempt in under_way if attempt.is_dangling]
    others = [name_in_id(attempt.activity_id) for attempt in under_way if not attempt.is_dangling]
    parts = []
    if effects:
        parts.append(f"waiting up to {spelt(grace_ms)} for {_listed(effects)} to finish")
    if others:
        parts.append(f"ending {_listed(others)}, by force after {spelt(grace_ms)}")
    if not parts:
        return f"{reason}: stopping."
    return f"{reason}: {'; '.join(parts)}. A second signal kills at once."


def _listed(nodes: Sequence[str]) -> str:
    most = 5
    return ", ".join(nodes[:most]) + (f" and {len(nodes) - most} more" if len(nodes) > most else "")
