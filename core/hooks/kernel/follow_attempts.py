"""What follows from attempts that ended: another attempt, at once or after a delay, or the end of their node."""

from __future__ import annotations

from collections.abc import Iterator

from hooks.definition.model import Node, Workflow
from hooks.events.payloads import ErrorInfo, NodeCancelled, NodeFailed, Payload, RetryScheduled
from hooks.ids import NodeId
from hooks.kernel.actions import Record
from hooks.kernel.cancel_rules import is_being_cancelled
from hooks.kernel.new_attempts import next_attempt
from hooks.kernel.retry_rules import MAX_INTERRUPTIONS, delay_ms, may_retry, retry_after
from hooks.kernel.state import ActivityState, AttemptEnd, RunState, Scope


def follow_attempts(state: RunState, definition: Workflow, now: int) -> list[Record]:
    """What follows from attempts that ended, up to the first failure: that one changes what follows for the rest."""
    records = []
    for activity_id, end in state.closing.items():
        payload = _follow_attempt(state, definition, state.activities[activity_id], end, now)
        if payload is not None:
            records.append(Record(payload))
            if isinstance(payload, NodeFailed | NodeCancelled):
                break
    return records


def _follow_attempt(
    state: RunState, definition: Workflow, activity: ActivityState, end: AttemptEnd, now: int
) -> Payload | None:
    """Another attempt, at once or after a delay, or the end of the node; nothing while items of it are under way."""
    scope = state.scopes[activity.scope]
    is_over = state.halted or state.cancel is not None or is_being_cancelled(state, scope, activity.node_id)
    if not end.cancelled and not is_over:
        if end.interrupted and activity.interruptions < MAX_INTERRUPTIONS:
            return next_attempt(activity.activity_id, scope, activity.node_id, activity.item, activity)
        node = scope.graph.nodes[scope.graph.position[activity.node_id]]
        retry = retry_after(end, node, definition)
        if (
            not end.interrupted
            and may_retry(end, activity, retry)
            and not _has_failed_sibling(state, activity, node, definition)
        ):
            return _retry(activity, end, delay_ms(retry, activity.activity_id, activity.counted), now)
    if activity.item is not None and _has_open_items(state, scope, activity.node_id):
        return None
    if end.cancelled or end.error is None or (end.interrupted and is_over):
        return NodeCancelled(node_id=activity.node_id, scope=scope.key, activity_id=activity.activity_id)
    error = _crash_loop(activity.interruptions, end.error) if end.interrupted else end.error
    return NodeFailed(
        node_id=activity.node_id,
        scope=scope.key,
        activity_id=activity.activity_id,
        error=error,
        effect_done=end.effect_done,
    )


def _retry(activity: ActivityState, end: AttemptEnd, delay: int, now: int) -> RetryScheduled:
    return RetryScheduled(
        activity_id=activity.activity_id,
        attempt_id=end.attempt_id,
        node_id=activity.node_id,
        next_attempt=activity.attempts + 1,
        delay_ms=delay,
        due_at=now + delay,
    )


def _has_open_items(state: RunState, scope: Scope, node_id: NodeId) -> bool:
    items = scope.nodes[node_id].items
    return any(item is not None and item.activity_id in state.open for item in items)


def _has_failed_sibling(state: RunState, activity: ActivityState, node: Node, definition: Workflow) -> bool:
    """An item that has failed for good fails its node: the others are not tried again."""
    return activity.item is not None and any(
        not may_retry(end := state.closing[other.activity_id], other, retry_after(end, node, definition))
        for other in ended_items(state, activity.scope, activity.node_id)
        if other is not activity
    )


def _crash_loop(interruptions: int, last: ErrorInfo | None) -> ErrorInfo:
    because = "" if last is None else f" {last.error_message}"
    return ErrorInfo(
        error_code="DriverCrashLoop",
        error_class="fatal",
        error_message=f"It was cut short {interruptions} times in a row.{because}",
    )


def ended_items(state: RunState, scope: str, node_id: NodeId) -> Iterator[ActivityState]:
    """The activities of a node whose last attempt ended without success and has not been followed up."""
    for activity_id in state.closing:
        activity = state.activities[activity_id]
        if (activity.scope, activity.node_id) == (scope, node_id):
            yield activity
