"""What to type next: the commands that fit the state a run is in."""

from __future__ import annotations

from hooks.kernel.state import RunState
from hooks.kernel.status import RunStatus
from hooks_cli.render.documents import last_error


def next_steps(status: RunStatus, state: RunState) -> list[str]:
    """Commands for a person, the most useful one first; none for a run that went well."""
    run_id = state.run_id
    match status.status:
        case "succeeded" | "cancelled":
            return []
        case "failed" | "blocked":
            return _look_closer(state)
        case "running":
            return [f"hooks tail {run_id}"]
        case "in_doubt":
            return [f"hooks resolve {run_id} {node_id} --done|--retry|--failed" for node_id in in_doubt_nodes(state)]
        case "waiting":
            return [f"hooks show {run_id}"]
        case "interrupted" | "pending":
            return [f"hooks recover {run_id}"]


def in_doubt_nodes(state: RunState) -> list[str]:
    """The nodes whose effect only a person can settle."""
    return [state.activities[activity_id].node_id for activity_id in state.in_doubt]


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
    node_id, error = found
    steps = [f"hooks show {state.run_id} --node {node_id}"]
    stream = _SAID_ON.get(error.error_code)
    if stream is None:
        return steps
    return [*steps, f"hooks logs {state.run_id} {node_id}" + (" --stderr" if stream == "stderr" else "")]
