"""Folding the events of attempts: from their permit over what they did to their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.definition.model import DecisionNode
from hooks.events.payloads import (
    ActivityCancelled,
    ActivityFailed,
    ActivityRunning,
    ActivitySucceeded,
    ActivityTimedOut,
    AttemptCreated,
    AttemptPayload,
    CancelDelivered,
    ComponentFailed,
    ComponentStarted,
    ComponentSucceeded,
    EffectAttempted,
    EffectSettled,
    ErrorInfo,
    LateOutcome,
    LeftoversEnded,
    Payload,
    ReconcileResult,
    RetryScheduled,
)
from hooks.ids import ActivityId, AttemptId, NodeId
from hooks.kernel.apply_sampling import conversation_of
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.open_attempts import open_attempt, permit, started_attempt
from hooks.kernel.state import ActivityState, AttemptEnd, AttemptState, NodeState, RunState, Scope
from hooks.kernel.walk import gate_of, note_need


def _attempt_created(state: RunState, payload: AttemptCreated, at: int) -> None:
    activity_id, node_id = ActivityId(payload.activity_id), NodeId(payload.node_id)
    scope = state.scopes.get(payload.scope)
    if scope is None or activity_id in state.open:
        raise IllegalEventError(f"an attempt of {activity_id}, which is under way or has no place")
    is_next = state.backoff.pop(activity_id, None) is not None
    is_replacement = state.closing.pop(activity_id, None) is not None
    if is_next:
        scope.under_way -= 1
    activity = state.activities.get(activity_id)
    if not is_next and not is_replacement:
        activity = _begin_activity(state, scope, payload, at)
    if activity is None or payload.attempt != activity.attempts + 1:
        raise IllegalEventError(f"attempt {payload.attempt} of {activity_id} is not the next one")
    activity.attempts = payload.attempt
    activity.epoch = payload.epoch
    activity.error = activity.ended_at = None
    scope.under_way += 1
    state.open[activity_id] = AttemptState(
        attempt_id=AttemptId(payload.attempt_id),
        activity_id=activity_id,
        node_id=node_id,
        number=payload.attempt,
        epoch=payload.epoch,
        created_at=at,
        scope=payload.scope,
        item=payload.item,
        # What an earlier attempt did stays done: this one begins where that one was judged.
        settled=activity.done,
        settled_at=at if activity.done is not None else 0,
    )


def _begin_activity(state: RunState, scope: Scope, payload: AttemptCreated, at: int) -> ActivityState:
    """The first attempt of an activity since it could start."""
    node_id, position = NodeId(payload.node_id), scope.graph.position.get(payload.node_id)
    if position is None or (position not in scope.ready and scope.needs.get(position) != "decide"):
        raise IllegalEventError(f"an attempt of {payload.node_id}, which cannot start yet")
    activity_id = ActivityId(payload.activity_id)
    activity = state.activities.get(activity_id)
    if activity is None:
        activity = ActivityState(activity_id, node_id, payload.scope, payload.item, started_at=at)
        state.activities[activity_id] = activity
    if payload.item is None:
        scope.nodes[node_id] = NodeState("running", activity, started_at=at)
        _leave_start(scope, position)
        return activity
    node = scope.nodes[node_id]
    if not node.todo or node.todo[0] != payload.item:
        raise IllegalEventError(f"item {payload.item} of {payload.node_id} out of turn")
    node.todo.popleft()
    node.items[payload.item] = activity
    if not node.todo:
        _leave_start(scope, position)
    return activity


def _leave_start(scope: Scope, position: int) -> None:
    scope.needs.pop(position, None)
    if position in scope.ready:
        scope.ready.remove(position)


def _component_started(state: RunState, payload: ComponentStarted, at: int) -> None:
    attempt = open_attempt(state, payload)
    if attempt.component is not None:
        raise IllegalEventError(f"a second componentStarted of {payload.attempt_id}")
    attempt.component = payload
    attempt.component_at = at
    if payload.continues is not None:
        activity = state.activities.get(ActivityId(payload.continues))
        attempt.before = activity.conversation if activity is not None else None


def _activity_running(state: RunState, payload: ActivityRunning, at: int) -> None:
    permit(state, started_attempt(state, payload), at)


def _effect_attempted(state: RunState, payload: EffectAttempted, at: int) -> None:
    attempt = started_attempt(state, payload)
    if attempt.effect is not None:
        raise IllegalEventError(f"a second effectAttempted of {payload.attempt_id}")
    permit(state, attempt, at)
    attempt.effect = payload
    activity = state.activities[attempt.activity_id]
    activity.input_hash = payload.input_hash
    activity.epoch = activity.sent_epoch = payload.epoch
    attempt.epoch = payload.epoch
    activity.may_change_input = False
    activity.first_attempted_at.setdefault(payload.idempotency_key, at)


def _effect_settled(state: RunState, payload: EffectSettled, at: int) -> None:
    attempt = open_attempt(state, payload)
    if attempt.effect is None or not attempt.is_dangling:
        raise IllegalEventError(f"the effect of {payload.attempt_id} settles, but is not dangling")
    attempt.settled = payload
    attempt.settled_at = at
    if payload.outcome != "unknown":
        _note_outcome(state, attempt, payload.outcome, payload)


def _reconcile_result(state: RunState, payload: ReconcileResult, at: int) -> None:
    """Settles an effect after the fact, or says that only a person can; the attempt may be over by then."""
    activity_id = ActivityId(payload.activity_id)
    attempt = state.open.get(activity_id) or state.in_doubt.get(activity_id)
    if attempt is None or attempt.attempt_id != payload.attempt_id or not attempt.is_dangling:
        raise IllegalEventError(f"the effect of {payload.attempt_id} is reconciled, but is not dangling")
    if payload.request_id is not None:
        state.requests[payload.request_id] = None
    attempt.reconciled = payload
    if payload.outcome == "in_doubt":
        state.in_doubt[activity_id] = attempt
        return
    state.in_doubt.pop(activity_id, None)
    settled = EffectSettled(
        activity_id=payload.activity_id,
        attempt_id=payload.attempt_id,
        node_id=payload.node_id,
        idempotency_key=payload.idempotency_key,
        outcome=payload.outcome,
        output=payload.output,
        error=payload.error,
    )
    attempt.settled = settled
    attempt.settled_at = at
    _note_outcome(state, attempt, payload.outcome, settled)
    if payload.new_key:
        state.activities[activity_id].epoch += 1


def _note_outcome(state: RunState, attempt: AttemptState, outcome: str, settled: EffectSettled) -> None:
    activity = state.activities[attempt.activity_id]
    if outcome == "done":
        activity.done = settled
        activity.effect_done = True
    else:
        activity.may_change_input = outcome == "not_done"


def _late_outcome(state: RunState, payload: LateOutcome, at: int) -> None:
    """Told after the attempt was over; what was decided stands."""


def _cancel_delivered(state: RunState, payload: CancelDelivered, at: int) -> None:
    open_attempt(state, payload).stop = payload


def _leftovers_ended(state: RunState, payload: LeftoversEnded, at: int) -> None:
    open_attempt(state, payload)


def _component_succeeded(state: RunState, payload: ComponentSucceeded, at: int) -> None:
    attempt = started_attempt(state, payload)
    if attempt.is_dangling or attempt.succeeded is not None:
        raise IllegalEventError(f"the component of {payload.attempt_id} cannot succeed here")
    attempt.succeeded = payload
    attempt.succeeded_at = at


def _component_failed(state: RunState, payload: ComponentFailed, at: int) -> None:
    attempt = started_attempt(state, payload)
    if attempt.failed is not None:
        raise IllegalEventError(f"a second componentFailed of {payload.attempt_id}")
    attempt.failed = payload
    attempt.failed_at = at


def _activity_succeeded(state: RunState, payload: ActivitySucceeded, at: int) -> None:
    attempt = open_attempt(state, payload)
    scope, activity = state.scopes[attempt.scope], state.activities[attempt.activity_id]
    definition = state.definition_of(attempt)
    if isinstance(definition, DecisionNode):
        if attempt.wait is None or attempt.wait.approved is None:
            raise IllegalEventError(f"{payload.attempt_id} succeeds, but nobody has decided")
        activity.output = {"approved": attempt.wait.approved, "comment": attempt.wait.comment, "by": attempt.wait.by}
        scope.nodes[attempt.node_id].comment = attempt.wait.comment
    elif attempt.succeeded is None or attempt.failed is not None:
        raise IllegalEventError(f"{payload.attempt_id} succeeds, but its component did not")
    else:
        activity.output = attempt.succeeded.output
        activity.conversation = conversation_of(attempt, activity.output)
    _end_attempt(state, attempt)
    activity.interruptions = 0
    activity.ended_at = at
    node = scope.nodes[attempt.node_id]
    if attempt.item is None:
        state.completing[scope.key, attempt.node_id] = None
        return
    node.succeeded_items += 1
    if node.succeeded_items == len(node.items):
        gate = gate_of(definition)
        if gate is not None and gate.stage == "after":
            note_need(scope, scope.graph.position[attempt.node_id], "gate")
        else:
            state.completing[scope.key, attempt.node_id] = None


def _activity_failed(state: RunState, payload: ActivityFailed, at: int) -> None:
    _attempt_failed(state, payload, at, payload.error, payload.interrupted)


def _activity_timed_out(state: RunState, payload: ActivityTimedOut, at: int) -> None:
    _attempt_failed(state, payload, at, payload.error, interrupted=False)


def _attempt_failed(state: RunState, payload: AttemptPayload, at: int, error: ErrorInfo, interrupted: bool) -> None:
    attempt = open_attempt(state, payload)
    if attempt.is_dangling:
        raise IllegalEventError(f"{payload.attempt_id} ends while its effect is dangling")
    activity = state.activities[attempt.activity_id]
    activity.error, activity.ended_at = error, at
    if interrupted:
        # A person who stops the driver, or settles the effect, five times does not make a crash loop.
        activity.interruptions += not (
            (attempt.stop is not None and attempt.stop.reason == "interrupt")
            or (attempt.reconciled is not None and attempt.reconciled.by is not None)
        )
    else:
        activity.interruptions = 0
        activity.counted += 1
    end = AttemptEnd(
        attempt.attempt_id,
        error,
        interrupted,
        activity.effect_done,
        was_retried=_failed_by_its_agent(attempt),
        may_retry=_may_retry(attempt),
    )
    _end_attempt(state, attempt, end)


def _may_retry(attempt: AttemptState) -> bool | None:
    """Whether nothing of its effect can be left behind, or whoever performs it has vouched for another call."""
    if attempt.effect is None or (attempt.settled is not None and attempt.settled.outcome == "not_done"):
        return True
    return attempt.effect.may_retry


def _failed_by_its_agent(attempt: AttemptState) -> bool:
    return attempt.effect is None and attempt.loop is not None and bool(attempt.loop.failed)


def _activity_cancelled(state: RunState, payload: ActivityCancelled, at: int) -> None:
    """The one end that may leave an effect dangling: then it stays in doubt beyond its attempt."""
    attempt = open_attempt(state, payload)
    if attempt.is_dangling and payload.outcome != "in_doubt":
        raise IllegalEventError(f"{payload.attempt_id} is cancelled while its effect is dangling")
    activity = state.activities[attempt.activity_id]
    _end_attempt(state, attempt, AttemptEnd(attempt.attempt_id, None, effect_done=activity.effect_done, cancelled=True))


def _end_attempt(state: RunState, attempt: AttemptState, end: AttemptEnd | None = None) -> None:
    del state.open[attempt.activity_id]
    state.pauses.pop(attempt.activity_id, None)
    state.scopes[attempt.scope].under_way -= 1
    if end is not None:
        state.closing[attempt.activity_id] = end


def _retry_scheduled(state: RunState, payload: RetryScheduled, at: int) -> None:
    activity_id = ActivityId(payload.activity_id)
    if state.closing.pop(activity_id, None) is None:
        raise IllegalEventError(f"a retry of {activity_id}, of which no attempt has just ended")
    state.backoff[activity_id] = payload.due_at
    activity = state.activities[activity_id]
    activity.ended_at = None
    state.scopes[activity.scope].under_way += 1


APPLY: dict[type[Payload], Callable[[RunState, Any, int], None]] = {
    AttemptCreated: _attempt_created,
    ComponentStarted: _component_started,
    ActivityRunning: _activity_running,
    EffectAttempted: _effect_attempted,
    EffectSettled: _effect_settled,
    ReconcileResult: _reconcile_result,
    LateOutcome: _late_outcome,
    CancelDelivered: _cancel_delivered,
    LeftoversEnded: _leftovers_ended,
    ComponentSucceeded: _component_succeeded,
    ComponentFailed: _component_failed,
    ActivitySucceeded: _activity_succeeded,
    ActivityFailed: _activity_failed,
    ActivityTimedOut: _activity_timed_out,
    ActivityCancelled: _activity_cancelled,
    RetryScheduled: _retry_scheduled,
}
