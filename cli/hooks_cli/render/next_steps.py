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
    if state.in_doubt:
        return [
            f"hooks resolve {run_id} {shlex.quote(place)} --done|--retry|--failed"
            for place in in_doubt_places(state)[:_MOST_STEPS]
        ]
    match status.status:
        case "succeeded" | "in_doubt":
            return []
        case "cancelled":
            return [f"hooks retry {run_id}"]
        case "failed":
            return [*_look_closer(state, with_logs=True), f"hooks retry {run_id}"]
        case "blocked":
            return [*_look_closer(state, with_logs=False), f"hooks retry {run_id}"]
        case "running":
            return [f"hooks tail {run_id}", *_answers(state)]
        case "waiting":
            return _answers(state)
        case "interrupted" | "pending":
            return [f"hooks recover {run_id}"]


def in_doubt_places(state: RunState) -> list[str]:
    """The places whose effect only a person can settle."""
    return [name_in_id(activity_id) for activity_id in state.in_doubt]


def _answers(state: RunState) -> list[str]:
    gates = [shlex.quote(gate_name(wait)) for wait in state.waits.values()]
    return [
        f"hooks {verb} {state.run_id} {gate}" for gate in gates[: _MOST_STEPS // 2] for verb in ("approve", "reject")
    ]


def _look_closer(state: RunState, *, with_logs: bool) -> list[str]:
    found = last_error(state)
    if found is None:
        return [f"hooks show {state.run_id}"]
    place = shlex.quote(found[0])
    steps = [f"hooks show {state.run_id} --node {place}"]
    return [*steps, f"hooks logs {state.run_id} {place} --stderr"] if with_logs else steps
