"""What a command says when a run stops: how it went, why, and what to type next."""

from __future__ import annotations

from typing import Any

from hooks.runtime.meant import open_gates
from hooks.runtime.reading import RunView
from hooks.times import iso_time
from hooks_cli.render.documents import run_document
from hooks_cli.render.errors import errors, placed_error_text
from hooks_cli.render.gates import gate_documents, gate_line
from hooks_cli.render.next_steps import in_doubt_places, next_commands
from hooks_cli.render.text import duration, one_line

_WIDTH = 400
_MOST_ERRORS = 10


def end_document(view: RunView, at_ms: int) -> dict[str, Any]:
    """The facts of a run that stopped: also its open gates, and its output (sink to output) if it succeeded."""
    return {
        **run_document(view, at_ms),
        "gates": gate_documents(view),
        "output": view.output() if view.status.status == "succeeded" else None,
        "next": next_commands(view),
    }


def end_text(view: RunView) -> str:
    """The same for a person, without the output."""
    status, state = view.status, view.state
    lines = [_headline(view)]
    commands = [f"    {command}" for command in next_commands(view)]
    if status.status != "succeeded":
        told = errors(state)[:_MOST_ERRORS]
        lines.extend(f"  {one_line(placed_error_text(place, error), _WIDTH)}" for place, error in told)
    if status.status in ("waiting", "running"):
        lines.extend(f"  {gate_line(view, name, wait)}" for name, wait in open_gates(view).items())
    if status.next_due_at is not None:
        lines.append(f"  next due at {iso_time(status.next_due_at)}")
    if commands and status.status in ("failed", "blocked"):
        lines.append("  Look closer, or try again, with:")
    lines.extend(commands)
    return "\n".join(lines)


def _headline(view: RunView) -> str:
    status, state = view.status, view.state
    took = duration((state.ended_at or state.timestamp) - state.created_at)
    places = in_doubt_places(state)
    which = f"the effect{'s' if len(places) > 1 else ''} of {', '.join(places)}"
    doubt = f"nobody knows whether {which} happened. Look, then tell it:"
    match status.status:
        case "in_doubt":
            return f"{state.run_id} is in doubt: {doubt}"
        case "waiting":
            return f"{state.run_id} is waiting for a person:"
        case "interrupted" | "pending":
            return f"{state.run_id} is {status.status}. Go on with:"
        case "running":
            return f"{state.run_id} is running."
        case _ if state.in_doubt:
            return f"{state.run_id} {status.status} after {took}; {doubt}"
        case "failed" | "blocked":
            return f"{state.run_id} {status.status} after {took}."
        case _:
            return f"{state.run_id} {status.status} in {took}."
