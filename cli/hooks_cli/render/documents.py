"""What `--json` prints of a run: one shape for all commands that print one, so that a program learns it once.

Every document of a run begins with its id, status and exit code. Times are ISO 8601 in UTC. Values that stand in a blob
stay references here; who shows one resolves it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import msgspec

from hooks.errors import CorruptRunError, HooksError, RunLockedError
from hooks.events.envelope import SCHEMA_VERSION, Event
from hooks.kernel.state import RunState
from hooks.kernel.status import RunStatus
from hooks.runtime.meant import place_of_gate
from hooks.runtime.node_names import name_in_id
from hooks.runtime.reading import RunView
from hooks.times import iso_time
from hooks_cli.render.errors import last_error
from hooks_cli.render.text import iso_time_or_none


def now_ms() -> int:
    """The moment a document speaks of, for what goes on while it is made."""
    return time.time_ns() // 1_000_000


def run_document(view: RunView, at_ms: int) -> dict[str, Any]:
    """The facts of a run that fit one row, as they are at `at_ms`."""
    status, state = view.status, view.state
    created = state.created
    return {
        "run_id": state.run_id,
        "status": status.status,
        "exit_code": status.exit_code,
        "reasons": status.reasons,
        "next_due_at": iso_time_or_none(status.next_due_at),
        "workflow_id": created and created.workflow_id,
        "created_at": iso_time_or_none(state.created_at),
        "ended_at": iso_time_or_none(state.ended_at),
        "elapsed_ms": elapsed_ms(status, state, at_ms),
        "nodes_succeeded": sum(node.status == "succeeded" for node in state.root.nodes.values()),
        "nodes_finished": state.root.finished,
        "nodes_total": len(state.graph.nodes),
        "open_gates": [place_of_gate(wait.created) for wait in state.waits.values()],
        "in_doubt": [name_in_id(activity_id) for activity_id in state.in_doubt],
        "directory": path_text(view.directory.path),
        "error": _failure(state),
    }


def unreadable_document(directory: Path, error: HooksError, details: dict[str, Any]) -> dict[str, Any]:
    """The row of a run that cannot be read or moved: damaged, or busy."""
    status = {CorruptRunError: "damaged", RunLockedError: "running"}.get(type(error))
    return {
        "run_id": directory.name,
        "status": status,
        "exit_code": error.exit_code,
        "directory": path_text(directory),
        "error": details,
    }


def elapsed_ms(status: RunStatus, state: RunState, at_ms: int) -> int:
    """How long the run has been going on. The clock stands still while nobody drives it."""
    until = state.ended_at or (max(at_ms, state.timestamp) if status.status == "running" else state.timestamp)
    return until - state.created_at


def event_document(run_id: str, event: Event) -> dict[str, Any]:
    """One event, with the keys it has in the log and its time readable."""
    return {
        "event_id": f"{run_id}-{event.seq}",
        "seq": event.seq,
        "run_id": run_id,
        "timestamp": iso_time(event.timestamp),
        "schema_version": SCHEMA_VERSION,
        "actor": event.actor,
        "type": event.payload.type,
        "payload": msgspec.to_builtins(event.payload),
        "group": event.group,
    }


def path_text(path: Path) -> str:
    """A path as JSON can carry it: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _failure(state: RunState) -> dict[str, Any] | None:
    found = last_error(state)
    if found is None:
        return None
    node, error = found
    return {"node": node or None, **msgspec.to_builtins(error)}
