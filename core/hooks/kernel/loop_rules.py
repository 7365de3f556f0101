"""How loops go on: from round to round, until the decision approves, the rounds are used up or a round fails."""

from __future__ import annotations

from typing import Any

from hooks.definition.model import LoopNode, Workflow
from hooks.events.payloads import (
    ErrorInfo,
    LoopFinished,
    LoopIterationFinished,
    LoopIterationStarted,
    LoopStarted,
    Payload,
)
from hooks.ids import NodeId, work_activity
from hooks.kernel.actions import Record
from hooks.kernel.state import NodeState, RoundOutcome, RunState, Scope
from hooks.kernel.walk import round_key


def follow_loops(state: RunState, definition: Workflow, now: int) -> list[Record]:
    """The next step of each loop under way; a first one starts only where new work may."""
    records = []
    for position, need in state.root.needs.items():
        loop = state.root.graph.nodes[position]
        if need == "loop" and isinstance(loop, LoopNode):
            payload = _next_of_loop(state, loop, state.root.nodes.get(NodeId(loop.id)))
            if payload is not None:
                records.append(Record(payload))
    return records[:1]


def _next_of_loop(state: RunState, loop: LoopNode, node: NodeState | None) -> Payload | None:
    who: dict[str, Any] = {"node_id": loop.id, "activity_id": work_activity(state.run_id, NodeId(loop.id))}
    is_over = state.halted or state.cancel is not None
    if node is None:
        return None if is_over else LoopStarted(**who)
    if node.rounds == 0:
        return None if is_over else LoopIterationStarted(**who, iteration=1)
    if node.round_outcome is None:
        outcome = _outcome_of_round(state, loop, state.scopes[round_key(loop.id, node.rounds)])
        return None if outcome is None else LoopIterationFinished(**who, iteration=node.rounds, outcome=outcome)
    if node.round_outcome == "cancelled":
        return None
    if node.round_outcome == "rejected" and not _has_rounds_left(loop, node):
        return LoopFinished(**who, iteration=node.rounds, error=_rounds_used_up(loop))
    if node.round_outcome == "rejected":
        return None if is_over else LoopIterationStarted(**who, iteration=node.rounds + 1)
    body = state.scopes[round_key(loop.id, node.rounds)]
    error = _error_of_round(body, loop) if node.round_outcome == "failed" else None
    return LoopFinished(**who, iteration=node.rounds, error=error)


def _outcome_of_round(state: RunState, loop: LoopNode, body: Scope) -> RoundOutcome | None:
    """How a round ended, or None while it goes on."""
    is_finished = body.finished == len(body.graph.nodes)
    if body.failure is not None and (body.graph.stops_on_failure or state.halted):
        is_quiet = body.under_way == 0 and not any(state.activities[a].scope == body.key for a in state.closing)
        return "failed" if is_quiet or is_finished else None
    if not is_finished:
        return None
    if body.failure is not None:
        return "failed"
    decision = body.nodes[NodeId(loop.decision)]
    match decision.status:
        case "cancelled":
            return "cancelled"
        case "succeeded" if decision.activity is not None and decision.activity.output["approved"]:
            return "approved"
        case "succeeded":
            return "rejected"
        case _:
            return "failed"


def _error_of_round(body: Scope, loop: LoopNode) -> ErrorInfo:
    if body.failure is not None:
        return body.failure.error
    return ErrorInfo(
        error_code="DecisionSkipped",
        error_class="fatal",
        error_message=f"The decision `{loop.decision}` of round {body.iteration} was skipped; the loop has no end.",
    )


def _has_rounds_left(loop: LoopNode, node: NodeState) -> bool:
    return node.rounds - node.rounds_before < loop.max_iterations


def _rounds_used_up(loop: LoopNode) -> ErrorInfo:
    return ErrorInfo(
        error_code="MaxIterationsReached",
        error_class="fatal",
        error_message=f"`{loop.decision}` was rejected in all {loop.max_iterations} rounds.",
    )
