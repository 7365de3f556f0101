"""How a run walks its graph: a node is admitted when all it depends on is over, and its end admits others.

Pure helpers of `apply`. What a node needs first (its condition, its list, a loop's rounds) is noted in `Scope.needs`;
a node that needs nothing more stands in `Scope.ready`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator

from hooks.definition.graph import Graph, graph_of
from hooks.definition.model import DecisionNode, Gate, LoopNode, Node, Workflow
from hooks.events.payloads import ErrorInfo
from hooks.ids import NodeId, RunId
from hooks.kernel.state import Need, NodeFailure, NodeState, NodeStatus, RunState, Scope

NEVER_ABSORBED = ("policy", "hook_error")
"""Error classes that neither allow_failure nor `on_failure: continue` covers."""


def initial_state(run_id: str, of: Workflow | Graph) -> RunState:
    """The state of a run of this workflow before its first event: what `fold` and `apply` begin with."""
    state = RunState(run_id=RunId(run_id), graph=of if isinstance(of, Graph) else graph_of(of))
    admit_pending(state.root)
    return state


def admit_pending(scope: Scope) -> None:
    """Admit every pending node whose dependencies are over; at the start of a scope, and when a run is reopened."""
    graph = scope.graph
    scope.ready.clear()
    scope.needs = {position: need for position, need in scope.needs.items() if need == "loop"}
    for position, upstream in enumerate(graph.dependencies):
        scope.waiting_for[position] = sum(not _is_over(scope, dependency) for dependency in upstream)
        node = scope.nodes.get(NodeId(graph.nodes[position].id))
        if node is None and scope.waiting_for[position] == 0:
            admit(scope, position)
        elif node is not None and node.todo and node.ended_at is None:
            note_need(scope, position, need_of_items(graph.nodes[position]))


def admit(scope: Scope, position: int) -> None:
    """All dependencies of a node are over: note what it needs before it can start, or that it is ready."""
    note_need(scope, position, _first_need(scope, position))


def note_need(scope: Scope, position: int, need: Need | None) -> None:
    if need is None:
        scope.needs.pop(position, None)
        if position not in scope.ready:
            insort(scope.ready, position)
    else:
        scope.needs[position] = need


def _first_need(scope: Scope, position: int) -> Need | None:
    graph, node = scope.graph, scope.graph.nodes[position]
    if not graph.tolerant[position] and not all(_lets_go_on(scope, up) for up in graph.dependencies[position]):
        return "skip_upstream"
    if node.condition is False:
        return "skip_condition"
    if isinstance(node.condition, str):
        return "evaluate"
    return need_of_work(node)


def need_of_work(node: Node) -> Need | None:
    """What a node needs once it is certain that it runs."""
    match node:
        case LoopNode():
            return "loop"
        case DecisionNode():
            return "decide"
        case _:
            return "expand" if node.for_each is not None else None


def gate_of(node: Node) -> Gate | None:
    """The gate of a node; a loop has none, its decision does."""
    return None if isinstance(node, LoopNode) else node.human_gate


def need_of_items(node: Node) -> Need | None:
    """What a fan-out whose list is known needs before its items start."""
    gate = gate_of(node)
    return "gate" if gate is not None and gate.stage == "before" else None


def _is_over(scope: Scope, position: int) -> bool:
    node = scope.nodes.get(NodeId(scope.graph.nodes[position].id))
    return node is not None and node.ended_at is not None


def _lets_go_on(scope: Scope, position: int) -> bool:
    """Whether dependants of a node that is over run without asking."""
    definition = scope.graph.nodes[position]
    node = scope.nodes[NodeId(definition.id)]
    if node.status == "succeeded":
        return True
    allowed = not isinstance(definition, DecisionNode) and definition.allow_failure
    return allowed and node.status in ("failed", "cancelled")


def end_node(scope: Scope, node_id: NodeId, status: NodeStatus, at: int) -> NodeState:
    """A node is over: those that waited for nothing else are admitted."""
    graph = scope.graph
    position = graph.position[node_id]
    node = scope.nodes.setdefault(node_id, NodeState("running", started_at=at))
    node.status = status
    node.ended_at = at
    scope.finished += 1
    scope.needs.pop(position, None)
    if position in scope.ready:
        scope.ready.remove(position)
    for dependant in graph.dependants[position]:
        scope.waiting_for[dependant] -= 1
        if scope.waiting_for[dependant] == 0:
            admit(scope, dependant)
    return node


def note_failure(state: RunState, scope: Scope, node_id: NodeId, error: ErrorInfo) -> None:
    """A node failed: unless something absorbs it, it decides how its scope ends, and may stop the whole run."""
    if is_absorbed(scope, node_id, error):
        return
    if scope.failure is None:
        scope.failure = NodeFailure(node_id, error)
    if error.error_class in NEVER_ABSORBED or (scope.graph.stops_on_failure and not _is_absorbed_outside(state, scope)):
        state.halted = True


def is_absorbed(scope: Scope, node_id: NodeId, error: ErrorInfo) -> bool:
    """Whether the node may fail without failing its scope."""
    definition = scope.graph.nodes[scope.graph.position[node_id]]
    allowed = not isinstance(definition, DecisionNode) and definition.allow_failure
    return allowed and error.error_class not in NEVER_ABSORBED


def _is_absorbed_outside(state: RunState, scope: Scope) -> bool:
    """Whether the failure of a loop's round ends with the loop, which may fail."""
    if scope.loop is None:
        return False
    loop = state.root.graph.nodes[state.root.graph.position[scope.loop]]
    return isinstance(loop, LoopNode) and loop.allow_failure


def active_scopes(state: RunState) -> Iterator[Scope]:
    """The run's own scope, and the last round of each loop under way."""
    yield state.root
    for position, need in state.root.needs.items():
        if need == "loop":
            loop_id = NodeId(state.root.graph.nodes[position].id)
            node = state.root.nodes.get(loop_id)
            if node is not None and node.rounds and node.round_outcome is None:
                yield state.scopes[round_key(loop_id, node.rounds)]


def round_key(loop: str, iteration: int) -> str:
    """The key of a round's scope."""
    return f"{loop}.{iteration}"
