"""The attempts that are decided: which number, which epoch, of which node."""

from __future__ import annotations

from hooks.events.payloads import AttemptCreated
from hooks.ids import ActivityId, NodeId, attempt_id, work_activity
from hooks.kernel.state import ActivityState, RunState, Scope


def first_attempt(state: RunState, scope: Scope, node_id: NodeId, item: int | None) -> AttemptCreated:
    activity_id = work_activity(state.run_id, node_id, scope=scope.key, item=item)
    return next_attempt(activity_id, scope, node_id, item, state.activities.get(activity_id))


def next_attempt(
    activity_id: ActivityId, scope: Scope, node_id: NodeId, item: int | None, activity: ActivityState | None
) -> AttemptCreated:
    number = 1 if activity is None else activity.attempts + 1
    return AttemptCreated(
        activity_id=activity_id,
        attempt_id=attempt_id(activity_id, number),
        node_id=node_id,
        attempt=number,
        epoch=0 if activity is None else activity.epoch,
        scope=scope.key,
        item=item,
    )
