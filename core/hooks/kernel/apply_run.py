"""Folding the events of a run as a whole: its beginning and end, its drivers, cancels, and being reopened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.events.payloads import (
    CancelRequested,
    ErrorInfo,
    HookDecided,
    HookSetChanged,
    LogRepaired,
    NodeReference,
    Payload,
    RequestRefused,
    ResumeStarted,
    RunCreated,
    RunReopened,
    RunStarted,
)
from hooks.ids import ActivityId, NodeId
from hooks.kernel.hook_set import next_hook_set
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.state import ActivityState, DecidedHook, NodeFailure, NodeState, RunEnding, RunState, Scope
from hooks.kernel.walk import admit_pending, is_absorbed


def _run_created(state: RunState, payload: RunCreated, at: int) -> None:
    if state.created is not None:
        raise IllegalEventError("a second runCreated")
    state.created = payload
    state.max_concurrency = payload.max_concurrency
    state.hook_set = list(payload.hooks)
    state.created_at = at
    state.sessions.append(payload.session)


def _run_started(state: RunState, payload: RunStarted, at: int) -> None:
    if state.created is None or state.started_at is not None:
        raise IllegalEventError("runStarted stands once, after runCreated")
    state.started_at = at


def _run_ended(state: RunState, payload: RunEnding, at: int) -> None:
    if state.open or state.closing or state.waits:
        raise IllegalEventError(f"{payload.type} while something is under way")
    state.ended = payload
    state.ended_at = at
    state.backoff.clear()
    for scope in state.scopes.values():
        scope.ready.clear()


def _resume_started(state: RunState, payload: ResumeStarted, at: int) -> None:
    state.sessions.append(payload.session)
    if payload.max_concurrency is not None:
        state.max_concurrency = payload.max_concurrency


def _hook_set_changed(state: RunState, payload: HookSetChanged, at: int) -> None:
    state.hook_set = next_hook_set(state.hook_set, payload.changed, payload.added)
    for attempt in state.open.values():
        # What stands at a gate has not begun: what hooks have said before that is not the last word of these.
        if attempt.loop is None:
            attempt.passed.clear()


def _log_repaired(state: RunState, payload: LogRepaired, at: int) -> None:
    """A note; it changes no state."""


def _hook_decided(state: RunState, payload: HookDecided, at: int) -> None:
    decided = DecidedHook(state.seq, payload)
    for decision in payload.decisions:
        if decision.state is not None:
            state.plugin_states[decision.state.key] = decision.state.value
    if payload.hook == "run_started" and payload.verdict in ("block", "error"):
        state.refusal = refusal_of(payload)
    attempt = state.open.get(ActivityId(payload.activity_id)) if payload.activity_id else None
    if attempt is not None and attempt.attempt_id == payload.attempt_id:
        attempt.hooks.append(decided)
    else:
        state.run_hooks.append(decided)


def refusal_of(payload: HookDecided) -> ErrorInfo:
    """The error of a run that a hook refused: what the first hook in order said."""
    said = next(decision for decision in payload.decisions if decision.outcome in ("block", "error"))
    return ErrorInfo(
        error_code="PluginViolationError",
        error_class="policy" if said.outcome == "block" else "hook_error",
        error_message=f"{said.plugin}: {said.reason or said.outcome}",
        details={"hook": payload.hook, "plugin": said.plugin, "reason": said.reason, "code": said.code},
    )


# ---- requests ------------------------------------------------------------------------------------------------------


def _cancel_requested(state: RunState, payload: CancelRequested, at: int) -> None:
    state.requests[payload.request_id] = None
    if payload.node is None:
        state.cancel = state.cancel or payload
    else:
        state.cancelled_nodes.setdefault((payload.node.scope, NodeId(payload.node.node_id)), payload)


def _request_refused(state: RunState, payload: RequestRefused, at: int) -> None:
    state.requests[payload.request_id] = None


# ---- reopening -----------------------------------------------------------------------------------------------------


def _run_reopened(state: RunState, payload: RunReopened, at: int) -> None:
    if state.ended is None:
        raise IllegalEventError("runReopened of a run that has not ended")
    state.ended = state.ended_at = None
    state.cancel = None
    state.cancelled_nodes.clear()
    state.halted = False
    for reference in payload.nodes:
        _reset_node(state, state.scopes[reference.scope], reference)
    for scope in state.scopes.values():
        scope.left_failed = _left_failed(scope)
        scope.failure = None
        admit_pending(scope)


def _left_failed(scope: Scope) -> NodeFailure | None:
    """The first failure, in order of time, that was not reset and that nothing absorbs."""
    failed = [
        (node.ended_at, node_id, node.error)
        for node_id, node in scope.nodes.items()
        if node.status in ("failed", "cancelled") and node.ended_at is not None and node.error is not None
    ]
    for _, node_id, error in sorted(failed, key=lambda entry: entry[0]):
        if not is_absorbed(scope, node_id, error):
            return NodeFailure(node_id, error)
    return None


def _reset_node(state: RunState, scope: Scope, reference: NodeReference) -> None:
    """Make a node pending again. Its activities keep their numbers and what they have done; their budgets restart."""
    node = scope.nodes.get(NodeId(reference.node_id))
    if node is None or node.ended_at is None:
        return
    scope.finished -= 1
    for activity in [node.activity, *node.items]:
        if activity is not None:
            _restart_budget(activity)
    if node.is_fan_out and node.item_values is not None:
        _reset_items(node)
    elif node.rounds:
        _reset_loop(scope, node, reference)
    else:
        del scope.nodes[NodeId(reference.node_id)]


def _restart_budget(activity: ActivityState) -> None:
    activity.counted = activity.interruptions = 0
    activity.approved.clear()
    activity.may_change_input = True


def _reset_items(node: NodeState) -> None:
    """Of a fan-out only the items that did not succeed are done again; its list is frozen."""
    failed = [index for index, item in enumerate(node.items) if item is None or item.ended_at is None or item.error]
    node.todo.clear()
    node.todo.extend(failed)
    node.status, node.ended_at, node.error, node.wait = "running", None, None, None


def _reset_loop(scope: Scope, node: NodeState, reference: NodeReference) -> None:
    """A loop goes on: in the round that failed, or with further rounds where they had run out."""
    node.status, node.ended_at, node.error, node.output = "running", None, None, None
    node.rounds_before = node.rounds if node.round_outcome == "rejected" else node.rounds_before
    if node.round_outcome in ("failed", "cancelled"):
        node.round_outcome = None
    scope.needs[scope.graph.position[reference.node_id]] = "loop"


APPLY: dict[type[Payload], Callable[[RunState, Any, int], None]] = {
    RunCreated: _run_created,
    RunStarted: _run_started,
    **dict.fromkeys(RunEnding.__args__, _run_ended),
    ResumeStarted: _resume_started,
    HookSetChanged: _hook_set_changed,
    LogRepaired: _log_repaired,
    HookDecided: _hook_decided,
    CancelRequested: _cancel_requested,
    RequestRefused: _request_refused,
    RunReopened: _run_reopened,
}
