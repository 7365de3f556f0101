"""What to type next: the commands that fit the state a run is in."""

from __future__ import annotations

import shlex

from hooks.kernel.state import RunState
from hooks.kernel.status import RunStatus
from hooks_cli.render.errors import last_error
from hooks_cli.render.gates import gate_name
from hooks_cli.render.node_names import name_in_id

_MOST_STEPS = 10


def next_steps(status: RunStatus, state: RunState) -> list[str]:
    """Commands for a person, the most useful one first; none for a run that went well."""
    run_id = state.run_id
    if status.status == "running":
        return [f"hooks tail {run_id}", *_answers(state)]
    if state.ended is None:
        can_go_on = bool({"pending", "interrupted"} & {*status.reasons})
        return [*_resolutions(state), *_answers(state), *([f"hooks recover {run_id}"] if can_go_on else [])]
    return _resolutions(state) or _after_the_end(status, state)


def _after_the_end(status: RunStatus, state: RunState) -> list[str]:
    again = f"hooks retry {state.run_id}"
    match status.status:
        case "failed" | "blocked":
            return [*_look_closer(state), again]
        case "cancelled":
            return [again]
        case _:
            return []


def in_doubt_places(state: RunState) -> list[str]:
    """The places whose effect only a person can settle."""
    return [name_in_id(activity_id) for activity_id in state.in_doubt]


def _resolutions(state: RunState) -> list[str]:
    places = map(shlex.quote, in_doubt_places(state)[:_MOST_STEPS])
    return [f"hooks resolve {state.run_id} {place} --done|--retry|--failed" for place in places]


def _answers(state: RunState) -> list[str]:
    gates = [shlex.quote(gate_name(wait)) for wait in state.waits.values()]
    return [
        f"hooks {verb} {state.run_id} {gate}" for gate in gates[: _MOST_STEPS // 2] for verb in ("approve", "reject")
    ]


_SAID_ON = {
    **dict.fromkeys(("ExitStatus", "Signalled", "Timeout", "OutcomeUnknown", "AgentFailed"), "stderr"),
    **dict.fromkeys(("RequirementsNotMet", "OutputSchemaMismatch", "OutputTooLarge"), "stdout"),
    **dict.fromkeys(("AgentOutputNotJson", "AnswerNotFound"), "stdout"),
}
"""Where a process said what an error is about, by its code; with another one there was none, or it said nothing."""


def _look_closer(state: RunState) -> list[str]:
    found = last_error(state)
    if found is None:
        return [f"hooks show {state.run_id}"]
    name, error = found
    place = shlex.quote(name)
    steps = [f"hooks show {state.run_id} --node {place}"]
    stream = _SAID_ON.get(error.error_code)
    if stream is None:
        return steps
    return [*steps, f"hooks logs {state.run_id} {place}" + (" --stderr" if stream == "stderr" else "")]
