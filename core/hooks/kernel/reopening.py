"""Which nodes are done again when a run is reopened: those that did not succeed, and all that is downstream of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hooks.definition.graph import downstream
from hooks.events.payloads import NodeReference
from hooks.ids import NodeId
from hooks.kernel.state import RunState, Scope

_UNSUCCESSFUL = ("failed", "cancelled", "running", "waiting")


def nodes_to_reopen(state: RunState, named: Collection[tuple[str, str]] = ()) -> list[NodeReference]:
    """What runReopened resets: the `named` nodes (scope, node), or all that failed or were cancelled, and downstream.

    A node of a loop's round brings its loop with it, which goes on in that round.
    """
    chosen = {*named} or {(scope.key, node_id) for scope in state.scopes.values() for node_id in _unsuccessful(scope)}
    chosen |= {
        ("", scope.loop) for scope in state.scopes.values() if scope.loop and any(k == scope.key for k, _ in chosen)
    }
    return [
        NodeReference(node_id=node_id, scope=scope.key)
        for scope in state.scopes.values()
        for node_id in _with_downstream(scope, {node_id for key, node_id in chosen if key == scope.key})
        if NodeId(node_id) in scope.nodes
    ]


def _unsuccessful(scope: Scope) -> Iterator[str]:
    for node_id, node in scope.nodes.items():
        if node.status in _UNSUCCESSFUL:
            yield node_id


def _with_downstream(scope: Scope, chosen: set[str]) -> list[str]:
    """The chosen nodes and all that depends on them, in definition order."""
    graph = scope.graph
    reached = downstream(graph, [graph.position[node_id] for node_id in chosen])
    return [graph.nodes[position].id for position in sorted(reached)]
