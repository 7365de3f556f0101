"""Folding the events of nodes: conditions, fan-outs, loops, and how a node ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.definition.graph import Graph
from hooks.definition.model import LoopNode, SubagentNode
from hooks.events.payloads import (
    ConditionEvaluated,
    ErrorInfo,
    FanOutExpanded,
    LoopFinished,
    LoopIterationFinished,
    LoopIterationStarted,
    LoopStarted,
    NodeCancelled,
    NodeFailed,
    NodeImported,
    NodePayload,
    NodeSkipped,
    NodeSucceeded,
    Payload,
)
from hooks.ids import NodeId, work_activity
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.state import ActivityState, Composite, NodeState, NodeStatus, RunState, Scope, Turn, output_of
from hooks.kernel.walk import admit_pending, end_node, need_of_items, need_of_work, note_failure, note_need, round_key


def scope_of(state: RunState, payload: NodePayload) -> Scope:
    """The scope an event of a node names. Raises IllegalEventError if it is not under way."""
    scope = state.scopes.get(payload.scope)
    if scope is None or payload.node_id not in scope.graph.position:
        raise IllegalEventError(f"{payload.type} of {payload.node_id} in {payload.scope or 'the run'}: not under way")
    return scope


# ---- what a node needs first ---------------------------------------------------------------------------------------


def _condition_evaluated(state: RunState, payload: ConditionEvaluated, at: int) -> None:
    scope = scope_of(state, payload)
    position = _needing(scope, payload, "evaluate")
    if payload.error is not None:
        _begin_failing(scope, payload, payload.error, at)
    elif payload.value:
        note_need(scope, position, need_of_work(scope.graph.nodes[position]))
    else:
        note_need(scope, position, "skip_condition")


def _fan_out_expanded(state: RunState, payload: FanOutExpanded, at: int) -> None:
    scope = scope_of(state, payload)
    position = _needing(scope, payload, "expand")
    if payload.error is not None:
        _begin_failing(scope, payload, payload.error, at)
        return
    node = NodeState("running", is_fan_out=True, item_values=payload.items, started_at=at)
    node.items = [None] * payload.count
    node.todo.extend(range(payload.count))
    scope.nodes[NodeId(payload.node_id)] = node
    if payload.count == 0:
        scope.needs.pop(position)
        state.completing[scope.key, NodeId(payload.node_id)] = None
    else:
        note_need(scope, position, need_of_items(scope.graph.nodes[position]))


def _needing(scope: Scope, payload: NodePayload, need: str) -> int:
    position = scope.graph.position[payload.node_id]
    if scope.needs.get(position) != need:
        raise IllegalEventError(f"{payload.type} of {payload.node_id}, which does not need it")
    return position


def _begin_failing(scope: Scope, payload: NodePayload, error: ErrorInfo, at: int) -> None:
    scope.nodes[NodeId(payload.node_id)] = NodeState("running", error=error, started_at=at)
    note_need(scope, scope.graph.position[payload.node_id], "fail")


# ---- loops ---------------------------------------------------------------------------------------------------------


def _loop_started(state: RunState, payload: LoopStarted, at: int) -> None:
    scope = scope_of(state, payload)
    _needing(scope, payload, "loop")
    if payload.node_id in scope.nodes:
        raise IllegalEventError(f"a second loopStarted of {payload.node_id}")
    scope.nodes[NodeId(payload.node_id)] = NodeState("running", started_at=at)


def _loop_iteration_started(state: RunState, payload: LoopIterationStarted, at: int) -> None:
    node, graph = _running_loop(state, payload)
    if payload.iteration != node.rounds + 1:
        raise IllegalEventError(f"round {payload.iteration} of {payload.node_id} after round {node.rounds}")
    node.rounds = payload.iteration
    node.round_outcome = None
    # `.previous` looks one round back, no further.
    state.scopes.pop(round_key(payload.node_id, payload.iteration - 2), None)
    body = Scope(
        round_key(payload.node_id, payload.iteration),
        graph,
        loop=NodeId(payload.node_id),
        iteration=payload.iteration,
    )
    state.scopes[body.key] = body
    admit_pending(body)


def _loop_iteration_finished(state: RunState, payload: LoopIterationFinished, at: int) -> None:
    node, _ = _running_loop(state, payload)
    if payload.iteration != node.rounds or node.round_outcome is not None:
        raise IllegalEventError(f"round {payload.iteration} of {payload.node_id} ends, but is not under way")
    node.round_outcome = payload.outcome


def _loop_finished(state: RunState, payload: LoopFinished, at: int) -> None:
    node, _ = _running_loop(state, payload)
    scope = scope_of(state, payload)
    if payload.error is not None:
        node.error = payload.error
        note_need(scope, scope.graph.position[payload.node_id], "fail")
        return
    scope.needs.pop(scope.graph.position[payload.node_id], None)
    node.output = _loop_output(state, payload)
    state.completing[scope.key, NodeId(payload.node_id)] = None


def _running_loop(state: RunState, payload: NodePayload) -> tuple[NodeState, Graph]:
    scope = scope_of(state, payload)
    node, graph = scope.nodes.get(NodeId(payload.node_id)), scope.graph.bodies.get(payload.node_id)
    if node is None or graph is None or node.ended_at is not None:
        raise IllegalEventError(f"{payload.type} of {payload.node_id}, which is no loop under way")
    return node, graph


def _loop_output(state: RunState, payload: LoopFinished) -> Any:
    """The output of the body node that `output.from` names; without it, of those the decision depends on, by id."""
    body = state.scopes[round_key(payload.node_id, payload.iteration)]
    loop = state.root.graph.nodes[state.root.graph.position[payload.node_id]]
    assert isinstance(loop, LoopNode)
    if loop.output_from is not None:
        source = body.nodes.get(NodeId(loop.output_from))
        return output_of(source) if source is not None and source.status == "succeeded" else None
    judged = [body.graph.nodes[at].id for at in body.graph.dependencies[body.graph.position[loop.decision]]]
    nodes = {node_id: body.nodes.get(NodeId(node_id)) for node_id in judged}
    return Composite({name: output_of(node) for name, node in nodes.items() if node and node.status == "succeeded"})


# ---- ends ----------------------------------------------------------------------------------------------------------


def _node_imported(state: RunState, payload: NodeImported, at: int) -> None:
    """Before the run starts, and after all it depends on: as if it had been done here."""
    scope = scope_of(state, payload)
    node_id = NodeId(payload.node_id)
    position = scope.graph.position[node_id]
    if state.started_at is not None or node_id in scope.nodes or scope.waiting_for[position]:
        raise IllegalEventError(f"{payload.node_id} is imported out of turn")
    definition = scope.graph.nodes[position]
    node = end_node(scope, node_id, payload.status, at)
    node.output = payload.output
    node.effect_done = payload.effect_done
    node.is_imported = True
    if isinstance(definition, SubagentNode):
        activity_id = work_activity(state.run_id, node_id, scope=scope.key)
        conversation = None
        for prompt, answer in payload.turns:
            conversation = Turn(conversation, prompt, answer)
        state.activities[activity_id] = ActivityState(
            activity_id,
            node_id,
            scope.key,
            output=payload.output,
            conversation=conversation,
            started_at=at,
            ended_at=at,
        )


def _node_succeeded(state: RunState, payload: NodeSucceeded, at: int) -> None:
    scope = scope_of(state, payload)
    if state.completing.pop((scope.key, NodeId(payload.node_id)), 0) is None:
        _end(state, scope, payload, "succeeded", at)
    else:
        raise IllegalEventError(f"{payload.node_id} succeeds, but its work is not done")


def _node_failed(state: RunState, payload: NodeFailed, at: int) -> None:
    scope = scope_of(state, payload)
    node = _end(state, scope, payload, "failed", at)
    node.error = payload.error
    node.effect_done = payload.effect_done
    note_failure(state, scope, NodeId(payload.node_id), payload.error)


def _node_skipped(state: RunState, payload: NodeSkipped, at: int) -> None:
    scope = scope_of(state, payload)
    position = scope.graph.position[payload.node_id]
    if scope.needs.get(position) != f"skip_{payload.reason}":
        raise IllegalEventError(f"{payload.node_id} is skipped without a reason")
    _end(state, scope, payload, "skipped", at)


def _node_cancelled(state: RunState, payload: NodeCancelled, at: int) -> None:
    scope = scope_of(state, payload)
    node = _end(state, scope, payload, "cancelled", at)
    request = state.cancelled_nodes.get((scope.key, NodeId(payload.node_id)))
    if request is not None and state.cancel is None:
        node.error = cancelled_error(request.reason)
        note_failure(state, scope, NodeId(payload.node_id), node.error)


def cancelled_error(reason: str | None) -> ErrorInfo:
    """What a cancelled node counts as for those that depend on it."""
    message = "A person cancelled this node." + (f" Reason: {reason}" if reason else "")
    return ErrorInfo(error_code="Cancelled", error_class="cancelled", error_message=message)


def _end(state: RunState, scope: Scope, payload: NodePayload, status: NodeStatus, at: int) -> NodeState:
    node_id = NodeId(payload.node_id)
    known = scope.nodes.get(node_id)
    if known is not None and known.ended_at is not None:
        raise IllegalEventError(f"{payload.node_id} ends a second time")
    if known is not None:
        _forget_attempts(state, scope, known, payload)
    state.completing.pop((scope.key, node_id), None)
    return end_node(scope, node_id, status, at)


def _forget_attempts(state: RunState, scope: Scope, node: NodeState, payload: NodePayload) -> None:
    """Nothing follows any more from the attempts of a node that is over. Those that are open must end first."""
    for activity in [node.activity, *node.items]:
        if activity is None:
            continue
        if activity.activity_id in state.open:
            raise IllegalEventError(f"{payload.node_id} ends while {activity.activity_id} is under way")
        state.closing.pop(activity.activity_id, None)
        if state.backoff.pop(activity.activity_id, None) is not None:
            scope.under_way -= 1


APPLY: dict[type[Payload], Callable[[RunState, Any, int], None]] = {
    ConditionEvaluated: _condition_evaluated,
    FanOutExpanded: _fan_out_expanded,
    LoopStarted: _loop_started,
    LoopIterationStarted: _loop_iteration_started,
    LoopIterationFinished: _loop_iteration_finished,
    LoopFinished: _loop_finished,
    NodeImported: _node_imported,
    NodeSucceeded: _node_succeeded,
    NodeFailed: _node_failed,
    NodeSkipped: _node_skipped,
    NodeCancelled: _node_cancelled,
}
