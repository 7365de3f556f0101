"""What the nodes of a run are called: the log's own words for those that are over, and finer ones for the others.

A node under way is told by its work: in doubt, waiting for a person, retrying, running, or, when nobody
drives the run, interrupted, or ready where nothing outside has been started (its gate was answered, say). Of several
pieces of work (items of a fan-out, the body of a loop) the one a person must see first speaks for the node.
"""

from __future__ import annotations

from collections.abc import Iterator

from hooks.events.payloads import RunCancelled
from hooks.ids import NodeId
from hooks.kernel.state import ActivityState, NodeState, RunState, Scope
from hooks.kernel.status import RunStatus
from hooks.kernel.walk import round_key

_FIRST_TOLD = ("in_doubt", "waiting", "running", "interrupted", "ready", "retrying")


def node_status(state: RunState, status: RunStatus, scope: Scope, node_id: str) -> str:
    """The status of a node in its scope."""
    node = scope.nodes.get(NodeId(node_id))
    if node is None:
        return unbegun(state)
    if any(activity.activity_id in state.in_doubt for activity in activities_of(node)):
        return "in_doubt"
    if node.ended_at is not None:
        return node.status
    told = set(_statuses_of_work(state, status, node, node_id))
    return next((word for word in _FIRST_TOLD if word in told), _moving(status, otherwise="pending"))


def unbegun(state: RunState) -> str:
    """The status of what has not begun: of a run that is over, it will not."""
    return "pending" if state.ended is None else "not_run"


def why_not_run(state: RunState, scope: Scope, node_id: str) -> str | None:
    """Why a node of a run that is over was not begun; None for one that was, or still may be."""
    if state.ended is None or NodeId(node_id) in scope.nodes:
        return None
    if isinstance(state.ended, RunCancelled):
        return "the run was cancelled"
    failure = scope.failure or state.root.failure
    return "the run was refused" if failure is None else f"{failure.node_id} failed"


def activity_status(state: RunState, status: RunStatus, activity: ActivityState) -> str:
    """The status of one activity that has begun."""
    activity_id = activity.activity_id
    if activity_id in state.in_doubt:
        return "in_doubt"
    if activity_id in state.backoff or activity_id in state.pauses:
        return "retrying"
    attempt = state.open.get(activity_id)
    if attempt is not None:
        if attempt.is_waiting:
            return "waiting"
        return _moving(status, otherwise="interrupted" if attempt.is_permitted else "ready")
    if activity.error is not None:
        return "failed"
    return "succeeded" if activity.ended_at is not None else "cancelled"


def activities_of(node: NodeState) -> Iterator[ActivityState]:
    """The work of a node that has begun: one activity, or the items of its fan-out."""
    for activity in [node.activity, *node.items]:
        if activity is not None:
            yield activity


def has_begun_work(state: RunState, node: NodeState) -> bool:
    """Whether more than standing at a gate has come of a node: something outside may have been started for it."""
    attempts = [state.open.get(activity.activity_id) for activity in activities_of(node)]
    return any(attempt is None or attempt.is_permitted for attempt in attempts) or node.rounds > 0


def last_round(state: RunState, loop_id: str, node: NodeState | None) -> Scope | None:
    """The round of a loop that is under way, or was the last."""
    return state.scopes.get(round_key(loop_id, node.rounds)) if node is not None and node.rounds else None


def _statuses_of_work(state: RunState, status: RunStatus, node: NodeState, node_id: str) -> Iterator[str]:
    if node.wait is not None and node.wait.created.wait_id in state.waits:
        yield "waiting"
    for activity in activities_of(node):
        yield activity_status(state, status, activity)
    body = last_round(state, node_id, node)
    if body is not None:
        for inner in body.nodes:
            yield node_status(state, status, body, inner)


def _moving(status: RunStatus, *, otherwise: str) -> str:
    return "running" if status.status == "running" else otherwise
