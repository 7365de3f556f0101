"""Folding the events of gates: opened, answered by a person, decided by a deadline, closed for want of need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.events.payloads import (
    ErrorInfo,
    Payload,
    WaitClosed,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.ids import ActivityId, NodeId
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.state import NodeState, RunState, Scope, WaitState
from hooks.kernel.walk import note_need

POINTS_BEFORE: dict[str | None, frozenset[str]] = {
    "component_pre_execute": frozenset(),
    "effect_pre_attempt": frozenset({"component_pre_execute"}),
    "sampling_loop_start": frozenset({"component_pre_execute", "effect_pre_attempt"}),
    "generation_pre_call": frozenset({"component_pre_execute", "effect_pre_attempt", "sampling_loop_start"}),
    None: frozenset({"component_pre_execute", "effect_pre_attempt"}),
}
"""Hook points that lie before a gate: those before the point that asked, and all before a node's own gate."""


def _wait_created(state: RunState, payload: WaitCreated, at: int) -> None:
    if payload.wait_id in state.waits or payload.wait_id in state.answered:
        raise IllegalEventError(f"the gate {payload.wait_id} opens a second time")
    wait = WaitState(payload, at)
    if not payload.node_id:
        state.run_wait = wait
        state.run_waits += 1
    elif payload.work_activity_id is None:
        node = state.node(payload.node_id, payload.scope)
        if node is None or not node.is_fan_out:
            raise IllegalEventError(f"the gate of {payload.node_id} opens, but it has not begun")
        node.wait = wait
        node.waits += 1
    else:
        attempt = state.open.get(ActivityId(payload.work_activity_id))
        if attempt is None:
            raise IllegalEventError(f"the gate {payload.wait_id} opens for an attempt that is not open")
        attempt.wait = wait
        attempt.passed |= POINTS_BEFORE[payload.hook if payload.stage == "ask" else None]
        state.activities[attempt.activity_id].waits += 1
    state.waits[payload.wait_id] = wait


def _wait_resolved(state: RunState, payload: WaitResolved, at: int) -> None:
    state.requests[payload.request_id] = None
    wait = _answer(state, payload, at)
    wait.by = payload.by
    wait.comment = payload.comment
    _follow(state, wait)


def _wait_deadline_exceeded(state: RunState, payload: WaitDeadlineExceeded, at: int) -> None:
    wait = _answer(state, payload, at)
    wait.overdue = True
    _follow(state, wait)


def _wait_closed(state: RunState, payload: WaitClosed, at: int) -> None:
    wait = state.waits.pop(payload.wait_id, None)
    if wait is None:
        raise IllegalEventError(f"the gate {payload.wait_id} is closed, but not open")
    state.answered[payload.wait_id] = None
    wait.closed = True


def _answer(state: RunState, payload: WaitResolved | WaitDeadlineExceeded, at: int) -> WaitState:
    wait = state.waits.pop(payload.wait_id, None)
    if wait is None:
        raise IllegalEventError(f"the gate {payload.wait_id} is answered, but not open")
    state.answered[payload.wait_id] = None
    wait.approved = payload.approved
    wait.answer, wait.answered_at = payload, at
    return wait


def _follow(state: RunState, wait: WaitState) -> None:
    """What an answer changes at once: an attempt may go on by it, a whole fan-out starts, ends or fails."""
    created = wait.created
    if not created.node_id:
        state.refusal = None if wait.approved else refusal(wait)
        return
    if created.work_activity_id is not None:
        if wait.approved:
            state.activities[ActivityId(created.work_activity_id)].approved[created.digest] = wait
        return
    scope = state.scopes[created.scope]
    node = scope.nodes[NodeId(created.node_id)]
    if not wait.approved:
        node.error = refusal(wait)
        note_need(scope, scope.graph.position[created.node_id], "fail")
    elif node.todo:
        note_need(scope, scope.graph.position[created.node_id], None)
    else:
        _complete(state, scope, node, created.node_id)


def _complete(state: RunState, scope: Scope, node: NodeState, node_id: str) -> None:
    scope.needs.pop(scope.graph.position[node_id], None)
    state.completing[scope.key, NodeId(node_id)] = None


def refusal(wait: WaitState) -> ErrorInfo:
    """The error of what stood at a gate that was rejected, or that nobody answered in time."""
    if wait.overdue:
        return ErrorInfo(
            error_code="GateDeadlineExceeded", error_class="manual", error_message="Nobody answered the gate in time."
        )
    comment = f": {wait.comment}" if wait.comment else "."
    return ErrorInfo(
        error_code="GateRejected", error_class="policy", error_message=f"Rejected by {wait.by}{comment}"[:4_000]
    )


APPLY: dict[type[Payload], Callable[[RunState, Any, int], None]] = {
    WaitCreated: _wait_created,
    WaitResolved: _wait_resolved,
    WaitDeadlineExceeded: _wait_deadline_exceeded,
    WaitClosed: _wait_closed,
}
