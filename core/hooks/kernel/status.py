"""What a run is called: derived from its state and from whether a driver is alive, never stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hooks.events.payloads import RunBlocked, RunFailed
from hooks.kernel.state import RunState

Status: TypeAlias = Literal[
    "running", "interrupted", "waiting", "pending", "in_doubt", "succeeded", "failed", "blocked", "cancelled"
]

EXIT_CODES: dict[Status, int] = {
    "succeeded": 0,
    "failed": 1,
    "blocked": 3,
    "waiting": 4,
    "cancelled": 5,
    "running": 6,
    "pending": 8,
    "interrupted": 8,
    "in_doubt": 10,
}


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of a run, all reasons it is not finished, and when something is due next (ms)."""

    status: Status
    reasons: list[Status] = field(default_factory=list)
    next_due_at: int | None = None

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]


def run_status(state: RunState, *, driver_is_alive: bool) -> RunStatus:
    """The status of a run. Unfinished with nobody moving it: in doubt before waiting before interrupted or pending."""
    match state.ended:
        case None:
            pass
        case RunFailed():
            return RunStatus("failed")
        case RunBlocked():
            return RunStatus("blocked")
        case _:
            return RunStatus("succeeded")
    next_due_at = min(state.backoff.values(), default=None)
    if driver_is_alive:
        return RunStatus("running", ["running"], next_due_at)
    reasons: list[Status] = []
    if state.in_doubt:
        reasons.append("in_doubt")
    under_way = [attempt for attempt in state.open.values() if not attempt.is_in_doubt]
    if any(attempt.is_permitted for attempt in under_way):
        reasons.append("interrupted")
    elif under_way or state.ready or state.closing or state.backoff or not reasons:
        reasons.append("pending")
    return RunStatus(reasons[0], reasons, next_due_at)
