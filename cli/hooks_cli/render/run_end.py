"""What a command says when a run stops: how it went, why, and what to type next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hooks.events.payloads import ErrorInfo
from hooks.ids import NodeId
from hooks.kernel.state import RunState
from hooks.kernel.status import RunStatus
from hooks_cli.render.documents import last_error, run_document
from hooks_cli.render.event_line import error_text
from hooks_cli.render.next_steps import in_doubt_nodes, next_steps
from hooks_cli.render.text import duration, iso_time, one_line

_WIDTH = 400
_MOST_ERRORS = 10


def end_document(
    status: RunStatus, state: RunState, directory: Path, now_ms: int, output: dict[str, Any] | None
) -> dict[str, Any]:
    """The facts of a run that stopped; `output` is the map sink -> output of one that succeeded."""
    document = run_document(status, state, directory, now_ms)
    return {**document, "output": output, "next": next_steps(status, state)}


def end_text(status: RunStatus, state: RunState) -> str:
    """The same for a person, without the output."""
    lines = [_headline(status, state)]
    if status.status != "succeeded":
        lines.extend(f"  {node_id}: {one_line(error_text(error), _WIDTH)}" for node_id, error in _errors(state))
    if status.next_due_at is not None:
        lines.append(f"  next due at {iso_time(status.next_due_at)}")
    lines.extend(f"    {command}" for command in next_steps(status, state))
    return "\n".join(lines)


def _errors(state: RunState) -> list[tuple[NodeId, ErrorInfo]]:
    """The error that decides first, then those of the other nodes that failed."""
    found = last_error(state)
    failed = [node_id for node_id, status in state.nodes.items() if status == "failed"]
    others = [(node_id, error) for node_id in failed if (error := state.by_node[node_id].error) is not None]
    return [] if found is None else [found, *(other for other in others if other[0] != found[0])][:_MOST_ERRORS]


def _headline(status: RunStatus, state: RunState) -> str:
    took = duration((state.ended_at or state.timestamp) - state.created_at)
    match status.status:
        case "in_doubt":
            nodes = ", ".join(in_doubt_nodes(state))
            return (
                f"{state.run_id} is in doubt: nobody knows whether the effect of {nodes} happened. Look, then tell it:"
            )
        case "interrupted" | "pending":
            return f"{state.run_id} is {status.status}. Go on with:"
        case "failed" | "blocked":
            return f"{state.run_id} {status.status} after {took}, and that is final. Look closer with:"
        case _:
            return f"{state.run_id} {status.status} in {took}."
