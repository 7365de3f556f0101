"""How a gate ended that somebody comes too late for."""

from __future__ import annotations

from hooks.events.payloads import WaitClosed, WaitCreated, WaitDeadlineExceeded, WaitResolved
from hooks.runtime.node_names import means, name_in_id
from hooks.runtime.reading import read_events
from hooks.storage.run_directory import RunDirectory
from hooks.times import iso_time


def how_gate_ended(directory: RunDirectory, word: str | None) -> str | None:
    """What became of the last gate that `word` (a NODE or a wait id; None for all) means; None if there was none."""
    told: dict[str, str] = {}
    for event in read_events(directory):
        at = iso_time(event.timestamp)
        match event.payload:
            case WaitCreated(wait_id=wait_id) as created:
                name = name_in_id(created.work_activity_id or created.activity_id)
                if word is None or word == wait_id or means(name_in_id(word), name):
                    told[wait_id] = f"The gate {name} is open since {at}."
            case WaitResolved(wait_id=wait_id, approved=approved, by=by) if wait_id in told:
                told[wait_id] = f"The gate {name_in_id(wait_id)} was {answer_word(approved)} by {by} at {at}."
            case WaitDeadlineExceeded(wait_id=wait_id, approved=approved) if wait_id in told:
                then = "it counts as approved" if approved else "its step fails"
                told[wait_id] = f"The deadline of the gate {name_in_id(wait_id)} was over at {at}; {then}."
            case WaitClosed(wait_id=wait_id, reason=reason) if wait_id in told:
                told[wait_id] = f"The gate {name_in_id(wait_id)} was closed at {at}, because {ENDED[reason]}."
    return next(reversed(told.values()), None)


def answer_word(approved: bool) -> str:
    return "approved" if approved else "rejected"


ENDED = {"failed": "the run failed", "cancelled": "it was cancelled"}
"""What closed a gate that nobody answered."""
