"""What `--json` prints of a run: one shape for run, tick, recover, ls and show, so that a program learns it once.

Every document of a run begins with its id, status and exit code. Times are ISO 8601 in UTC. Values that stand in a blob
stay references here; who shows one resolves it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from hooks.definition.model import HostExecutorNode, Node, SubagentNode
from hooks.errors import CorruptRunError, HooksError, RunLockedError
from hooks.events.envelope import SCHEMA_VERSION, Event
from hooks.events.payloads import ErrorInfo
from hooks.ids import NodeId
from hooks.kernel.state import ActivityState, RunState
from hooks.kernel.status import RunStatus
from hooks_cli.render.text import iso_time


def run_document(status: RunStatus, state: RunState, directory: Path, now_ms: int) -> dict[str, Any]:
    """The facts of a run that fit one row."""
    created = state.created
    return {
        "run_id": state.run_id,
        "status": status.status,
        "exit_code": status.exit_code,
        "reasons": status.reasons,
        "next_due_at": _time(status.next_due_at),
        "workflow_id": created and created.workflow_id,
        "created_at": _time(state.created_at),
        "ended_at": _time(state.ended_at),
        "elapsed_ms": elapsed_ms(status, state, now_ms),
        "nodes_succeeded": sum(status == "succeeded" for status in state.nodes.values()),
        "nodes_finished": state.finished,
        "nodes_total": len(state.graph.nodes),
        "directory": path_text(directory),
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


def elapsed_ms(status: RunStatus, state: RunState, now_ms: int) -> int:
    """How long the run has been going on. The clock stands still while nobody drives it."""
    until = state.ended_at or (max(now_ms, state.timestamp) if status.status == "running" else state.timestamp)
    return until - state.created_at


def node_documents(status: RunStatus, state: RunState) -> dict[str, Any]:
    """Every node by its id, in the order of the file."""
    return {node.id: node_document(node, status, state) for node in state.graph.nodes}


def node_document(node: Node, status: RunStatus, state: RunState) -> dict[str, Any]:
    """What became of one node so far."""
    activity = state.by_node.get(NodeId(node.id))
    return {
        "status": node_status(node, status, state),
        "type": "subagent" if isinstance(node, SubagentNode) else "host_executor",
        "performed_by": node.executor if isinstance(node, HostExecutorNode) else node.agent,
        "depends": node.depends,
        "attempts": activity.attempts if activity else 0,
        "started_at": _time(activity.started_at) if activity else None,
        "ended_at": _time(activity.ended_at) if activity else None,
        "error": activity and error_document(activity.error),
        "effect_done": activity.effect_done if activity else False,
        "activity_id": activity and activity.activity_id,
        "output": activity and activity.output,
    }


def node_status(node: Node, status: RunStatus, state: RunState) -> str:
    """The node's own status, told apart where the run cannot: in doubt, retrying, interrupted."""
    own = state.nodes.get(NodeId(node.id), "pending")
    activity = state.by_node.get(NodeId(node.id))
    if own != "running" or activity is None:
        return own
    if activity.activity_id in state.in_doubt:
        return "in_doubt"
    if activity.activity_id in state.backoff:
        return "retrying"
    return "running" if status.status == "running" else "interrupted"


def error_document(error: ErrorInfo | None) -> dict[str, Any] | None:
    """An error as the log has it."""
    return None if error is None else msgspec.to_builtins(error)


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


def last_error(state: RunState) -> tuple[NodeId, ErrorInfo] | None:
    """The error that decides how the run ends, or else the newest one."""
    if state.failure is not None:
        return state.failure.node_id, state.failure.error
    failed = [activity for activity in state.activities.values() if activity.error is not None]
    newest = max(failed, key=_ended, default=None)
    return None if newest is None or newest.error is None else (newest.node_id, newest.error)


def _ended(activity: ActivityState) -> int:
    return activity.ended_at or activity.started_at


def _failure(state: RunState) -> dict[str, Any] | None:
    found = last_error(state)
    if found is None:
        return None
    node_id, error = found
    return {"node": node_id, **msgspec.to_builtins(error)}


def _time(ms: int | None) -> str | None:
    return None if ms is None else iso_time(ms)
