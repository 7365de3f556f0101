"""The only writer of run state: `apply` folds one event into it.

It checks that the event is legal where it stands (an illegal one means that the log is damaged or that this program has
a fault) and touches nothing but the state. One small function per event type, found by type; `tests/kernel` holds the
table complete. The cost of an event does not depend on how many came before.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from typing import Any

from hooks.events.envelope import Event
from hooks.events.payloads import (
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
    GenerationFinished,
    GenerationStarted,
    HookDecided,
    HookSetChanged,
    LogRepaired,
    NodeFailed,
    NodeSucceeded,
    Payload,
    ReconcileResult,
    ResumeStarted,
    RetryScheduled,
    RunBlocked,
    RunCreated,
    RunFailed,
    RunStarted,
    RunSucceeded,
    ValidationFinished,
)
from hooks.ids import ActivityId, AttemptId, NodeId
from hooks.kernel.state import ActivityState, AttemptEnd, AttemptState, DecidedHook, NodeFailure, RunState


class IllegalEventError(ValueError):
    """This event cannot follow those before it."""


LEGAL_AFTER_END: frozenset[type[Payload]] = frozenset({HookDecided, ReconcileResult, LogRepaired, ResumeStarted})


def apply(state: RunState, event: Event) -> RunState:
    """Fold `event` into `state` and return it. Raises IllegalEventError, leaving the state unusable."""
    payload = event.payload
    kind = type(payload)
    if state.ended is not None and kind not in LEGAL_AFTER_END:
        raise IllegalEventError(f"{payload.type} after {state.ended.type}")
    state.seq = event.seq
    state.timestamp = event.timestamp
    APPLY[kind](state, payload, event.timestamp)
    return state


def fold(state: RunState, events: Iterable[Event]) -> RunState:
    """Fold all `events` into `state`."""
    for event in events:
        apply(state, event)
    return state


# ---- the run -------------------------------------------------------------------------------------------------------


def _run_created(state: RunState, payload: RunCreated, at: int) -> None:
    if state.created is not None:
        raise IllegalEventError("a second runCreated")
    state.created = payload
    state.hook_set = list(payload.hooks)
    state.created_at = at
    state.sessions.append(payload.session)


def _run_started(state: RunState, payload: RunStarted, at: int) -> None:
    if state.created is None or state.started_at is not None:
        raise IllegalEventError("runStarted stands once, after runCreated")
    state.started_at = at


def _run_ended(state: RunState, payload: RunSucceeded | RunFailed | RunBlocked, at: int) -> None:
    if state.open or state.closing:
        raise IllegalEventError(f"{payload.type} while work is under way")
    state.ended = payload
    state.ended_at = at
    state.ready.clear()
    state.backoff.clear()


def _resume_started(state: RunState, payload: ResumeStarted, at: int) -> None:
    state.sessions.append(payload.session)


def _hook_set_changed(state: RunState, payload: HookSetChanged, at: int) -> None:
    changed = {(member.origin, member.node_id, member.name): member for member in payload.changed}
    state.hook_set = [changed.get((member.origin, member.node_id, member.name), member) for member in state.hook_set]


def _log_repaired(state: RunState, payload: LogRepaired, at: int) -> None:
    """A note; it changes no state."""


# ---- nodes ---------------------------------------------------------------------------------------------------------


def _node_succeeded(state: RunState, payload: NodeSucceeded, at: int) -> None:
    _close_node(state, payload.node_id, payload.activity_id, at)
    state.nodes[NodeId(payload.node_id)] = "succeeded"
    graph = state.graph
    for dependant in graph.dependants[graph.position[payload.node_id]]:
        state.waiting_for[dependant] -= 1
        if state.waiting_for[dependant] == 0:
            insort(state.ready, dependant)


def _node_failed(state: RunState, payload: NodeFailed, at: int) -> None:
    _close_node(state, payload.node_id, payload.activity_id, at)
    node_id = NodeId(payload.node_id)
    state.nodes[node_id] = "failed"
    if state.failure is None:
        state.failure = NodeFailure(node_id, payload.error)


def _close_node(state: RunState, node_id: str, activity_id: str, at: int) -> None:
    activity = ActivityId(activity_id)
    if state.closing.pop(activity, None) is None:
        raise IllegalEventError(f"node {node_id} ends, but no attempt of it has")
    state.activities[activity].ended_at = at
    state.finished += 1


# ---- attempts ------------------------------------------------------------------------------------------------------


def _attempt_created(state: RunState, payload: AttemptCreated, at: int) -> None:
    activity_id, node_id = ActivityId(payload.activity_id), NodeId(payload.node_id)
    if activity_id in state.open:
        raise IllegalEventError(f"a second attempt of {activity_id} beside an open one")
    activity = state.activities.get(activity_id)
    if activity is None:
        activity = _first_attempt(state, activity_id, node_id, at)
    elif state.backoff.pop(activity_id, None) is None and state.closing.pop(activity_id, None) is None:
        raise IllegalEventError(f"an attempt of {activity_id}, which is over")
    if payload.attempt != activity.attempts + 1:
        raise IllegalEventError(f"attempt {payload.attempt} of {activity_id} after attempt {activity.attempts}")
    activity.attempts = payload.attempt
    activity.epoch = payload.epoch
    state.open[activity_id] = AttemptState(
        attempt_id=AttemptId(payload.attempt_id),
        activity_id=activity_id,
        node_id=node_id,
        number=payload.attempt,
        epoch=payload.epoch,
        created_at=at,
    )


def _first_attempt(state: RunState, activity_id: ActivityId, node_id: NodeId, at: int) -> ActivityState:
    position = state.graph.position.get(node_id)
    if position is None or position not in state.ready:
        raise IllegalEventError(f"an attempt of {node_id}, which cannot start yet")
    state.ready.remove(position)
    activity = ActivityState(activity_id, node_id, started_at=at)
    state.activities[activity_id] = state.by_node[node_id] = activity
    state.nodes[node_id] = "running"
    return activity


def _open_attempt(state: RunState, payload: AttemptPayload) -> AttemptState:
    attempt = state.open.get(ActivityId(payload.activity_id))
    if attempt is None or attempt.attempt_id != payload.attempt_id:
        raise IllegalEventError(f"{payload.type} of {payload.attempt_id}, which is not open")
    return attempt


def _component_started(state: RunState, payload: ComponentStarted, at: int) -> None:
    attempt = _open_attempt(state, payload)
    if attempt.component is not None:
        raise IllegalEventError(f"a second componentStarted of {payload.attempt_id}")
    attempt.component = payload
    attempt.component_at = at


def _activity_running(state: RunState, payload: ActivityRunning, at: int) -> None:
    _permit(state, _started(state, payload), at)


def _generation_started(state: RunState, payload: GenerationStarted, at: int) -> None:
    attempt = _started(state, payload)
    if attempt.generation is not None:
        raise IllegalEventError(f"draw {payload.draw} of {payload.attempt_id} beside an open one")
    _permit(state, attempt, at)
    attempt.generation = payload
    attempt.generation_error = None
    attempt.stop = None


def _generation_finished(state: RunState, payload: GenerationFinished, at: int) -> None:
    attempt = _open_attempt(state, payload)
    if attempt.generation is None or attempt.generation.generation_id != payload.generation_id:
        raise IllegalEventError(f"{payload.generation_id} finished, but was not started")
    attempt.generation = None
    if payload.interrupted:
        attempt.interruptions += attempt.stop is None
        return
    attempt.interruptions = 0
    if payload.error is not None:
        attempt.generation_error = payload
    else:
        attempt.draws.append(payload)


def _validation_finished(state: RunState, payload: ValidationFinished, at: int) -> None:
    attempt = _open_attempt(state, payload)
    if not attempt.draws or attempt.draws[-1].draw != payload.draw:
        raise IllegalEventError(f"draw {payload.draw} of {payload.attempt_id} was judged, but not finished")
    attempt.validated = payload


def _effect_attempted(state: RunState, payload: EffectAttempted, at: int) -> None:
    attempt = _started(state, payload)
    if attempt.effect is not None:
        raise IllegalEventError(f"a second effectAttempted of {payload.attempt_id}")
    _permit(state, attempt, at)
    attempt.effect = payload


def _effect_settled(state: RunState, payload: EffectSettled, at: int) -> None:
    attempt = _open_attempt(state, payload)
    if attempt.effect is None or not attempt.is_dangling:
        raise IllegalEventError(f"the effect of {payload.attempt_id} settles, but is not dangling")
    attempt.settled = payload


def _reconcile_result(state: RunState, payload: ReconcileResult, at: int) -> None:
    attempt = _open_attempt(state, payload)
    if not attempt.is_dangling:
        raise IllegalEventError(f"the effect of {payload.attempt_id} is reconciled, but is not dangling")
    attempt.reconciled = payload
    if payload.outcome == "in_doubt":
        state.in_doubt[attempt.activity_id] = payload
    else:
        state.in_doubt.pop(attempt.activity_id, None)


def _cancel_delivered(state: RunState, payload: CancelDelivered, at: int) -> None:
    _open_attempt(state, payload).stop = payload


def _component_succeeded(state: RunState, payload: ComponentSucceeded, at: int) -> None:
    attempt = _started(state, payload)
    if attempt.is_dangling or attempt.succeeded is not None:
        raise IllegalEventError(f"the component of {payload.attempt_id} cannot succeed here")
    attempt.succeeded = payload
    attempt.succeeded_at = at


def _component_failed(state: RunState, payload: ComponentFailed, at: int) -> None:
    attempt = _started(state, payload)
    if attempt.failed is not None:
        raise IllegalEventError(f"a second componentFailed of {payload.attempt_id}")
    attempt.failed = payload
    attempt.failed_at = at


def _activity_succeeded(state: RunState, payload: ActivitySucceeded, at: int) -> None:
    attempt = _open_attempt(state, payload)
    if attempt.succeeded is None or attempt.failed is not None:
        raise IllegalEventError(f"{payload.attempt_id} succeeds, but its component did not")
    activity = _end_attempt(state, attempt, None)
    activity.output = attempt.succeeded.output
    activity.error = None


def _activity_failed(state: RunState, payload: ActivityFailed, at: int) -> None:
    _attempt_failed(state, payload, payload.error, payload.effect_done, payload.interrupted)


def _activity_timed_out(state: RunState, payload: ActivityTimedOut, at: int) -> None:
    _attempt_failed(state, payload, payload.error, payload.effect_done, interrupted=False)


def _attempt_failed(
    state: RunState, payload: AttemptPayload, error: ErrorInfo, effect_done: bool, interrupted: bool
) -> None:
    attempt = _open_attempt(state, payload)
    if attempt.is_dangling:
        raise IllegalEventError(f"{payload.attempt_id} ends while its effect is dangling")
    activity = _end_attempt(state, attempt, error, interrupted)
    activity.error = error
    activity.effect_done = effect_done


def _end_attempt(
    state: RunState, attempt: AttemptState, error: ErrorInfo | None, interrupted: bool = False
) -> ActivityState:
    del state.open[attempt.activity_id]
    state.closing[attempt.activity_id] = AttemptEnd(attempt.attempt_id, error, interrupted, attempt.effect_done)
    activity = state.activities[attempt.activity_id]
    activity.effect_done = attempt.effect_done
    if interrupted:
        # A person who stops the driver five times does not make a crash loop.
        activity.interruptions += attempt.stop is None
    else:
        activity.interruptions = 0
        activity.counted += 1
    return activity


def _retry_scheduled(state: RunState, payload: RetryScheduled, at: int) -> None:
    activity_id = ActivityId(payload.activity_id)
    if state.closing.pop(activity_id, None) is None:
        raise IllegalEventError(f"a retry of {activity_id}, of which no attempt has just ended")
    state.backoff[activity_id] = payload.due_at


def _started(state: RunState, payload: AttemptPayload) -> AttemptState:
    attempt = _open_attempt(state, payload)
    if attempt.component is None:
        raise IllegalEventError(f"{payload.type} of {payload.attempt_id} before componentStarted")
    return attempt


def _permit(state: RunState, attempt: AttemptState, at: int) -> None:
    attempt.permitted_by = len(state.sessions) - 1
    attempt.running_since = at


# ---- hooks ---------------------------------------------------------------------------------------------------------


def _hook_decided(state: RunState, payload: HookDecided, at: int) -> None:
    decided = DecidedHook(state.seq, payload)
    attempt = state.open.get(ActivityId(payload.activity_id)) if payload.activity_id else None
    if attempt is not None and attempt.attempt_id == payload.attempt_id:
        attempt.hooks.append(decided)
    else:
        state.run_hooks.append(decided)


APPLY: dict[type[Payload], Callable[[RunState, Any, int], None]] = {
    RunCreated: _run_created,
    RunStarted: _run_started,
    RunSucceeded: _run_ended,
    RunFailed: _run_ended,
    RunBlocked: _run_ended,
    ResumeStarted: _resume_started,
    LogRepaired: _log_repaired,
    HookSetChanged: _hook_set_changed,
    NodeSucceeded: _node_succeeded,
    NodeFailed: _node_failed,
    AttemptCreated: _attempt_created,
    ComponentStarted: _component_started,
    ActivityRunning: _activity_running,
    GenerationStarted: _generation_started,
    GenerationFinished: _generation_finished,
    ValidationFinished: _validation_finished,
    EffectAttempted: _effect_attempted,
    EffectSettled: _effect_settled,
    ReconcileResult: _reconcile_result,
    CancelDelivered: _cancel_delivered,
    ComponentSucceeded: _component_succeeded,
    ComponentFailed: _component_failed,
    ActivitySucceeded: _activity_succeeded,
    ActivityFailed: _activity_failed,
    ActivityTimedOut: _activity_timed_out,
    RetryScheduled: _retry_scheduled,
    HookDecided: _hook_decided,
}
