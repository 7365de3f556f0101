"""What to type next: the commands that fit the state a run is in."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from typing import TypeAlias

from hooks.events.payloads import WaitCreated
from hooks.kernel.state import RunState
from hooks.kernel.status import RunStatus
from hooks.runtime.meant import place_of_gate
from hooks.runtime.node_names import name_in_id
from hooks.runtime.performers import missing_performers
from hooks.runtime.reading import RunView
from hooks_cli.render.errors import last_error
from hooks_cli.render.gates import gate_commands, is_overdue

_MOST_PLACES = 5


HasLogs: TypeAlias = Callable[[str, str], bool]
"""Whether the last attempt at a place has a file of a stream (`stdout`, `stderr`)."""


def next_commands(view: RunView) -> list[str]:
    """The same as `next_steps`, knowing also which attempts have output of a process to look at."""

    def has_logs(place: str, stream: str) -> bool:
        activities = view.state.activities.values()
        found = next((activity for activity in activities if name_in_id(activity.activity_id) == place), None)
        return found is not None and (view.directory.attempt(found.activity_id, found.attempts) / stream).is_file()

    steps = next_steps(view.status, view.state, has_logs=has_logs)
    moving = {f"hooks {verb} {view.run_id}" for verb in ("recover", "retry")}
    if moving.isdisjoint(steps) or not (missing := missing_performers(view.definition, view.state)):
        return steps
    # A comment: the command would be refused, and this does no harm where it is pasted.
    instead = f"# nobody here performs {', '.join(missing)}: go on from the program that does, or install it"
    return [*(step for step in steps if step not in moving), instead]


def next_steps(status: RunStatus, state: RunState, *, has_logs: HasLogs = lambda place, stream: True) -> list[str]:
    """Commands for a person, the most useful one first; none for a run that went well."""
    run_id = state.run_id
    if status.status == "running":
        return [f"hooks tail {run_id}", *_answers(state)]
    if state.ended is None:
        can_go_on = bool({"pending", "interrupted"} & {*status.reasons})
        return [*_resolutions(state), *_answers(state), *([f"hooks recover {run_id}"] if can_go_on else [])]
    return _resolutions(state) or _after_the_end(status, state, has_logs)


def _after_the_end(status: RunStatus, state: RunState, has_logs: HasLogs) -> list[str]:
    again = f"hooks retry {state.run_id}"
    match status.status:
        case "failed" | "blocked":
            return [*_look_closer(state, has_logs), again]
        case "cancelled":
            return [again]
        case _:
            return []


def in_doubt_places(state: RunState) -> list[str]:
    """The places whose effect only a person can settle."""
    return [name_in_id(activity_id) for activity_id in state.in_doubt]


def _resolutions(state: RunState) -> list[str]:
    return [step for place in in_doubt_places(state)[:_MOST_PLACES] for step in resolutions(state.run_id, place)]


def resolutions(run_id: str, place: str) -> list[str]:
    """What a person can say of an effect in doubt."""
    return [f"hooks resolve {run_id} {shlex.quote(place)} --{said}" for said in ("done", "retry", "failed")]


def _answers(state: RunState) -> list[str]:
    return [step for gate in _open_gates(state)[:_MOST_PLACES] for step in gate_commands(state.run_id, gate)]


def _open_gates(state: RunState) -> list[WaitCreated]:
    """The gates that can still be answered."""
    now = state.now(time.time_ns() // 1_000_000)
    return [wait.created for wait in state.waits.values() if not is_overdue(wait.created, now)]


def steps_at(status: RunStatus, state: RunState, name: str, unsettled: list[str]) -> list[str]:
    """The commands that settle what one place waits for: itself, or any of its items.

    `unsettled` are the places whose effect is looked up again until somebody can say whether it happened.
    """

    def is_meant(place: str) -> bool:
        return name in (place, place.partition("[")[0])

    doubted = [place for place in in_doubt_places(state) if is_meant(place)]
    gates = [gate for gate in _open_gates(state) if is_meant(place_of_gate(gate))]
    goes_on = bool(unsettled) and status.status != "running"
    return [
        *([f"hooks recover {state.run_id}"] if goes_on else []),
        *(step for place in unsettled[:_MOST_PLACES] for step in resolutions(state.run_id, place)),
        *(step for place in doubted[:_MOST_PLACES] for step in resolutions(state.run_id, place)),
        *(step for gate in gates[:_MOST_PLACES] for step in gate_commands(state.run_id, gate)),
    ]


_SAID_ON = {
    **dict.fromkeys(("ExitStatus", "Signalled", "Timeout", "OutcomeUnknown", "AgentFailed"), "stderr"),
    **dict.fromkeys(("RequirementsNotMet", "OutputSchemaMismatch", "OutputTooLarge"), "stdout"),
    **dict.fromkeys(("AgentOutputNotJson", "AnswerNotFound"), "stdout"),
}
"""Where a process said what an error is about, by its code; with another one there was none, or it said nothing."""


def _look_closer(state: RunState, has_logs: HasLogs) -> list[str]:
    found = last_error(state)
    if found is None or not found[0]:
        return [f"hooks show {state.run_id}"]
    name, error = found
    place = shlex.quote(name)
    steps = [f"hooks show {state.run_id} --node {place}"]
    stream = _SAID_ON.get(error.error_code)
    if stream is None or not has_logs(name, stream):
        return steps
    return [*steps, f"hooks logs {state.run_id} {place}" + (" --stderr" if stream == "stderr" else "")]
