"""What a run is called: derived from its state and from whether a driver is alive, never stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hooks.events.payloads import RunBlocked, RunCancelled, RunFailed, RunSucceeded
from hooks.kernel.state import RunEnding, RunState, WaitState

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
        """Of every command that waits for the run; a cancelled one with something in doubt asks to be resolved."""
        return EXIT_CODES["in_doubt" if "in_doubt" in self.reasons else self.status]


def run_status(state: RunState, *, driver_is_alive: bool, now: int | None = None) -> RunStatus:
    """The status of a run at `now` (ms; by default at its last event).

    Unfinished with nobody moving it: in doubt before waiting before interrupted or pending.
    """
    if state.ended is not None:
        return RunStatus(_ENDINGS[type(state.ended)], ["in_doubt"] if state.in_doubt else [])
    deadlines = [wait.created.deadline_at for wait in state.waits.values() if wait.created.deadline_at is not None]
    next_due_at = min([*state.backoff.values(), *state.pauses.values(), *deadlines], default=None)
    if driver_is_alive:
        return RunStatus("running", ["running"], next_due_at)
    reasons = [*_reasons(state, state.timestamp if now is None else now)]
    return RunStatus(reasons[0], reasons, next_due_at)


_ENDINGS: dict[type[RunEnding], Status] = {
    RunSucceeded: "succeeded",
    RunFailed: "failed",
    RunBlocked: "blocked",
    RunCancelled: "cancelled",
}


def _reasons(state: RunState, now: int) -> Iterator[Status]:
    """Why a run that nobody drives is not finished, the one a person must see first in front."""
    if state.in_doubt:
        yield "in_doubt"
    overdue = [wait for wait in state.waits.values() if _is_overdue(wait, now)]
    is_waiting = len(state.waits) > len(overdue)
    if is_waiting:
        yield "waiting"
    under_way = [attempt for attempt in state.open.values() if not attempt.is_in_doubt and not attempt.is_waiting]
    if any(attempt.is_permitted and attempt.activity_id not in state.pauses for attempt in under_way):
        yield "interrupted"
    elif under_way or overdue or _has_more_to_do(state) or not (state.in_doubt or is_waiting):
        yield "pending"


def _is_overdue(wait: WaitState, now: int) -> bool:
    return wait.created.deadline_at is not None and now >= wait.created.deadline_at


def _has_more_to_do(state: RunState) -> bool:
    if state.halted:
        return not state.waits and not state.in_doubt
    has_ready = any(scope.ready for scope in state.scopes.values())
    return has_ready or bool(state.closing or state.completing or state.backoff or state.cancel)
