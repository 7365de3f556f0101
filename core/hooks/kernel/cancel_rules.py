"""How runs and nodes are cancelled: gates are closed, what runs is stopped, every node that is not over is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from hooks.definition.model import Workflow
from hooks.events.payloads import NodeCancelled, RunCancelled, WaitClosed
from hooks.ids import NodeId, work_activity
from hooks.kernel.actions import Action, Record, Stop
from hooks.kernel.state import AttemptState, RunState, Scope
from hooks.kernel.walk import active_scopes, round_key


def follow_node_cancels(state: RunState, definition: Workflow, now: int) -> list[Record]:
    """A node that is being cancelled: its gates are closed, and it is over once nothing of it is under way."""
    for key, node_id in state.cancelled_nodes:
        scope = state.scopes.get(key)
        node = scope.nodes.get(node_id) if scope is not None else None
        if scope is None or (node is not None and node.ended_at is not None):
            continue
        inside = {key} | {round_key(node_id, n) for n in ([node.rounds] if node is not None and node.rounds else [])}
        for wait_id, wait in state.waits.items():
            if wait.created.scope in inside and (wait.created.scope != key or wait.created.node_id == node_id):
                return [Record(WaitClosed(wait_id=wait_id, reason="cancelled"))]
        if not any(_belongs_to(attempt, key, node_id, inside) for attempt in state.open.values()):
            activity_id = work_activity(state.run_id, node_id, scope=key)
            return [Record(NodeCancelled(node_id=node_id, scope=key, activity_id=activity_id))]
    return []


def _belongs_to(attempt: AttemptState, key: str, node_id: NodeId, inside: set[str]) -> bool:
    return attempt.scope in inside and (attempt.scope != key or attempt.node_id == node_id)


def cancel_run(state: RunState) -> list[Action]:
    """Gates are closed, what runs is stopped, then every node that is not over is told, then the run ends."""
    if closings := [*close_waits(state, "cancelled")]:
        return [*closings]
    if state.open:
        return [Stop(attempt.activity_id, attempt.attempt_id) for attempt in state.open.values()]
    if cancelled := [*_cancel_nodes(state)]:
        return [*cancelled]
    return [Record(RunCancelled(reason=state.cancel.reason if state.cancel else None))]


def _cancel_nodes(state: RunState) -> Iterator[Record]:
    """Every node that is not over, of rounds under way first."""
    scopes = [*active_scopes(state)]
    for scope in [*scopes[1:], *scopes[:1]]:
        for definition in scope.graph.nodes:
            node_id = NodeId(definition.id)
            node = scope.nodes.get(node_id)
            if node is None or node.ended_at is None:
                activity_id = work_activity(state.run_id, node_id, scope=scope.key)
                yield Record(NodeCancelled(node_id=node_id, scope=scope.key, activity_id=activity_id))


def is_being_cancelled(state: RunState, scope: Scope, node_id: NodeId) -> bool:
    return bool(state.cancelled_nodes) and (
        (scope.key, node_id) in state.cancelled_nodes
        or (scope.loop is not None and ("", scope.loop) in state.cancelled_nodes)
    )


def close_waits(state: RunState, reason: Literal["failed", "cancelled"]) -> Iterator[Record]:
    for wait_id in state.waits:
        yield Record(WaitClosed(wait_id=wait_id, reason=reason))
