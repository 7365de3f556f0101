"""The only source of actions: what comes next, given what has happened and what time it is.

`decide` changes nothing and asks nobody. Its `Record` actions are the decision events it enables in this state; the
driver writes them, folds them, and asks again until there are none. Its other actions ask the driver to bring about
facts: work to perform, a time to wake up at. Since every action follows from the state alone, a crash between two of
them loses nothing: the second is derived again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from hooks.definition.model import Workflow
from hooks.events.payloads import (
    AttemptCreated,
    ErrorInfo,
    NodeFailed,
    NodeSucceeded,
    Payload,
    RetryScheduled,
    RunBlocked,
    RunFailed,
    RunStarted,
    RunSucceeded,
)
from hooks.ids import ActivityId, AttemptId, NodeId, attempt_id, work_activity
from hooks.kernel.retry_rules import MAX_INTERRUPTIONS, delay_ms, may_retry
from hooks.kernel.state import AttemptEnd, NodeFailure, RunState

BLOCKING_CLASSES = ("policy", "hook_error")
"""A run whose first failure is of these classes ends blocked, not failed."""


@dataclass(frozen=True, slots=True)
class Record:
    """Write this decision."""

    payload: Payload

    @property
    def starts_work(self) -> bool:
        """A driver that is to start nothing more leaves this one to the next."""
        return isinstance(self.payload, AttemptCreated)


@dataclass(frozen=True, slots=True)
class Perform:
    """Carry on this attempt, which is open, unless that is being done."""

    activity_id: ActivityId
    attempt_id: AttemptId


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Nothing more to do for this activity before `due_at` (ms)."""

    activity_id: ActivityId
    due_at: int


Action: TypeAlias = Record | Perform | WakeAt


def decide(state: RunState, definition: Workflow, now: int) -> list[Action]:
    """What is to be done in this state at `now` (ms, never before the last event). Cost: the work under way."""
    if state.created is None or state.ended is not None:
        return []
    if state.started_at is None:
        return [Record(RunStarted())]
    if state.closing:
        return _closings(state, definition, now)
    if (ending := _ending(state)) is not None:
        return [Record(ending)]
    actions: list[Action] = []
    if state.failure is None:
        actions.extend(_starts(state, definition, now))
    actions.extend(
        Perform(attempt.activity_id, attempt.attempt_id) for attempt in state.open.values() if not attempt.is_in_doubt
    )
    return actions


def _closings(state: RunState, definition: Workflow, now: int) -> list[Action]:
    """What follows from the attempts that ended, up to the first failure: that one changes what follows for the rest.

    Nothing else is decided beside them, so that each decision of a batch is one that its own state enables; replay
    checks them one by one.
    """
    actions: list[Action] = []
    for activity_id, end in state.closing.items():
        payload = _close(state, definition, activity_id, end, now)
        actions.append(Record(payload))
        if isinstance(payload, NodeFailed):
            break
    return actions


def _close(state: RunState, definition: Workflow, activity_id: ActivityId, end: AttemptEnd, now: int) -> Payload:
    """What follows from the end of an attempt: its node ends, or another attempt is due."""
    activity = state.activities[activity_id]
    if end.error is None:
        return NodeSucceeded(node_id=activity.node_id, activity_id=activity_id)
    if end.interrupted and state.failure is None:
        if activity.interruptions < MAX_INTERRUPTIONS:
            return _attempt(activity_id, activity.node_id, activity.attempts + 1, activity.epoch)
        return _node_failed(activity.node_id, activity_id, end, _crash_loop(activity.interruptions))
    if state.failure is None and may_retry(end, activity, definition.retry):
        delay = delay_ms(definition.retry, activity_id, activity.counted)
        return RetryScheduled(
            activity_id=activity_id,
            attempt_id=end.attempt_id,
            node_id=activity.node_id,
            next_attempt=activity.attempts + 1,
            delay_ms=delay,
            due_at=now + delay,
        )
    return _node_failed(activity.node_id, activity_id, end, end.error)


def _node_failed(node_id: NodeId, activity_id: ActivityId, end: AttemptEnd, error: ErrorInfo) -> NodeFailed:
    return NodeFailed(node_id=node_id, activity_id=activity_id, error=error, effect_done=end.effect_done)


def _crash_loop(interruptions: int) -> ErrorInfo:
    return ErrorInfo(
        error_code="DriverCrashLoop",
        error_class="fatal",
        error_message=f"The driver died or was stopped {interruptions} times in a row while this was running.",
    )


def _ending(state: RunState) -> Payload | None:
    """The event that ends the run, once nothing is under way and nothing more can start."""
    if state.open or state.closing:
        return None
    if state.failure is not None:
        return _failed_run(state.failure)
    if state.finished == len(state.graph.nodes):
        return RunSucceeded(sinks=list(state.graph.sinks))
    return None


def _failed_run(failure: NodeFailure) -> Payload:
    ending = RunBlocked if failure.error.error_class in BLOCKING_CLASSES else RunFailed
    return ending(node_id=failure.node_id, error=failure.error)


def _starts(state: RunState, definition: Workflow, now: int) -> list[Action]:
    """New attempts, as many as there is room for: retries that are due first, then nodes in definition order."""
    assert state.created is not None
    room = state.created.max_concurrency - (len(state.open) - len(state.in_doubt))
    actions: list[Action] = []
    for activity_id, due_at in state.backoff.items():
        if due_at > now:
            actions.append(WakeAt(activity_id, due_at))
        elif room > 0:
            activity = state.activities[activity_id]
            actions.append(Record(_attempt(activity_id, activity.node_id, activity.attempts + 1, activity.epoch)))
            room -= 1
    for position in islice(state.ready, max(0, room)):
        node_id = NodeId(state.graph.nodes[position].id)
        actions.append(Record(_attempt(work_activity(state.run_id, node_id), node_id, 1, 0)))
    return actions


def _attempt(activity_id: ActivityId, node_id: NodeId, number: int, epoch: int) -> AttemptCreated:
    return AttemptCreated(
        activity_id=activity_id,
        attempt_id=attempt_id(activity_id, number),
        node_id=node_id,
        attempt=number,
        epoch=epoch,
    )
