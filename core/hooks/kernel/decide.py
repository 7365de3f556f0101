"""The only source of actions: what comes next, given what has happened and what time it is.

`decide` changes nothing and asks nobody. Its `Record` actions are the decision events it enables in this state; the
driver writes them, folds them, and asks again until there are none. Its other actions ask the driver to bring about
facts: a condition or a list to evaluate, a gate to open, work to perform or to stop, a time to wake up at. Since every
action follows from the state alone, a crash between two of them loses nothing: the second is derived again.

A batch holds only decisions that do not change each other, so that each is one that its own state enables; replay
checks them one by one. The order of subjects: what follows from attempts that ended, what follows for whole nodes and
loops, cancels, the end of the run, what can start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any, Literal, TypeAlias

from hooks.definition.model import DecisionNode, LoopNode, Retry, Workflow
from hooks.events.payloads import (
    AttemptCreated,
    ErrorInfo,
    LoopFinished,
    LoopIterationFinished,
    LoopIterationStarted,
    LoopStarted,
    NodeCancelled,
    NodeFailed,
    NodeSkipped,
    NodeSucceeded,
    Payload,
    RetryScheduled,
    RunBlocked,
    RunCancelled,
    RunFailed,
    RunStarted,
    RunSucceeded,
    WaitClosed,
    WaitDeadlineExceeded,
)
from hooks.ids import ActivityId, AttemptId, NodeId, attempt_id, work_activity
from hooks.kernel.apply_nodes import round_key
from hooks.kernel.retry_rules import MAX_INTERRUPTIONS, delay_ms, may_retry, retry_of
from hooks.kernel.state import ActivityState, AttemptEnd, AttemptState, NodeState, RoundOutcome, RunState, Scope
from hooks.kernel.walk import NEVER_ABSORBED


@dataclass(frozen=True, slots=True)
class Record:
    """Write this decision."""

    payload: Payload

    @property
    def starts_work(self) -> bool:
        """A driver that is to start nothing more leaves this one to the next."""
        return isinstance(self.payload, AttemptCreated | LoopIterationStarted)


@dataclass(frozen=True, slots=True)
class Perform:
    """Carry on this attempt, which is open, unless that is being done."""

    activity_id: ActivityId
    attempt_id: AttemptId


@dataclass(frozen=True, slots=True)
class Stop:
    """End this attempt, which is open: the run or its node is being cancelled."""

    activity_id: ActivityId
    attempt_id: AttemptId


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Bring about a fact about a node: what its `if` comes to, its list, its gate."""

    what: Literal["condition", "items", "gate"]
    scope: str
    node_id: NodeId


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Nothing more to do for this before `due_at` (ms)."""

    subject: str
    due_at: int


Action: TypeAlias = Record | Perform | Stop | Evaluate | WakeAt


def decide(state: RunState, definition: Workflow, now: int) -> list[Action]:
    """What is to be done in this state at `now` (ms, never before the last event). Cost: the work under way."""
    if state.created is None or state.ended is not None:
        return []
    if state.started_at is None:
        return [Record(RunStarted())]
    for decisions in (_follow_attempts, _follow_nodes, _follow_waits, _follow_node_cancels, _follow_loops):
        if records := decisions(state, definition, now):
            return [*records]
    if state.cancel is not None:
        return _cancel_run(state)
    if state.halted and (closings := [*_close_waits(state, "failed")]):
        return [*closings]
    if (ending := _ending(state)) is not None:
        return [Record(ending)]
    actions: list[Action] = [] if state.halted else [*_starts(state, now)]
    actions.extend(_carry_on(state))
    deadlines = ((wait_id, wait.created.deadline_at) for wait_id, wait in state.waits.items())
    actions.extend(WakeAt(wait_id, due_at) for wait_id, due_at in deadlines if due_at is not None)
    return actions


# ---- attempts that ended -------------------------------------------------------------------------------------------


def _follow_attempts(state: RunState, definition: Workflow, now: int) -> list[Record]:
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
    is_over = state.halted or state.cancel is not None or _is_being_cancelled(state, scope, activity.node_id)
    if not end.cancelled and not is_over:
        if end.interrupted and activity.interruptions < MAX_INTERRUPTIONS:
            return _attempt(activity.activity_id, scope, activity.node_id, activity.item, activity)
        retry = retry_of(scope.graph.nodes[scope.graph.position[activity.node_id]], definition)
        if not end.interrupted and may_retry(end, activity, retry) and not _has_failed_sibling(state, activity, retry):
            return _retry(activity, end, delay_ms(retry, activity.activity_id, activity.counted), now)
    if activity.item is not None and _has_open_items(state, scope, activity.node_id):
        return None
    if end.cancelled or end.error is None or (end.interrupted and is_over):
        return NodeCancelled(node_id=activity.node_id, scope=scope.key, activity_id=activity.activity_id)
    error = _crash_loop(activity.interruptions) if end.interrupted else end.error
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


def _has_failed_sibling(state: RunState, activity: ActivityState, retry: Retry) -> bool:
    """An item that has failed for good fails its node: the others are not tried again."""
    return activity.item is not None and any(
        not may_retry(state.closing[other.activity_id], other, retry)
        for other in _ended_items(state, activity.scope, activity.node_id)
        if other is not activity
    )


def _ended_items(state: RunState, scope: str, node_id: NodeId) -> Iterator[ActivityState]:
    """The activities of a node whose last attempt ended without success and has not been followed up."""
    for activity_id in state.closing:
        activity = state.activities[activity_id]
        if (activity.scope, activity.node_id) == (scope, node_id):
            yield activity


def _crash_loop(interruptions: int) -> ErrorInfo:
    return ErrorInfo(
        error_code="DriverCrashLoop",
        error_class="fatal",
        error_message=f"The driver died {interruptions} times in a row while this was running.",
    )


# ---- nodes ---------------------------------------------------------------------------------------------------------


def _follow_nodes(state: RunState, definition: Workflow, now: int) -> list[Record]:
    """Nodes whose work is all done; else nodes that end without any."""
    if state.completing:
        return [
            Record(NodeSucceeded(node_id=node_id, scope=key, activity_id=_activity_of(state, key, node_id)))
            for key, node_id in state.completing
        ]
    is_over = state.halted or state.cancel is not None
    for scope in _active_scopes(state):
        for position, need in scope.needs.items():
            node_id = NodeId(scope.graph.nodes[position].id)
            activity_id = work_activity(state.run_id, node_id, scope=scope.key)
            who: dict[str, Any] = {"node_id": node_id, "scope": scope.key, "activity_id": activity_id}
            if need == "fail" and (error := scope.nodes[node_id].error) is not None:
                return [Record(NodeFailed(**who, error=error))]
            if need == "skip_condition" and not is_over:
                return [Record(NodeSkipped(**who, reason="condition"))]
            if need == "skip_upstream" and not is_over:
                return [Record(NodeSkipped(**who, reason="upstream"))]
    return []


def _activity_of(state: RunState, key: str, node_id: NodeId) -> ActivityId:
    return work_activity(state.run_id, node_id, scope=key)


def _active_scopes(state: RunState) -> Iterator[Scope]:
    """The run's own scope, and the last round of each loop under way."""
    yield state.root
    for position, need in state.root.needs.items():
        if need == "loop":
            loop_id = NodeId(state.root.graph.nodes[position].id)
            node = state.root.nodes.get(loop_id)
            if node is not None and node.rounds and node.round_outcome is None:
                yield state.scopes[round_key(loop_id, node.rounds)]


# ---- waits ---------------------------------------------------------------------------------------------------------


def _follow_waits(state: RunState, definition: Workflow, now: int) -> list[Record]:
    return [
        Record(WaitDeadlineExceeded(wait_id=wait_id, approved=wait.created.on_timeout == "success"))
        for wait_id, wait in state.waits.items()
        if wait.created.deadline_at is not None and now >= wait.created.deadline_at
    ]


def _close_waits(state: RunState, reason: Literal["failed", "cancelled"]) -> Iterator[Record]:
    for wait_id in state.waits:
        yield Record(WaitClosed(wait_id=wait_id, reason=reason))


# ---- loops ---------------------------------------------------------------------------------------------------------


def _follow_loops(state: RunState, definition: Workflow, now: int) -> list[Record]:
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


# ---- cancels -------------------------------------------------------------------------------------------------------


def _follow_node_cancels(state: RunState, definition: Workflow, now: int) -> list[Record]:
    """A node that is being cancelled: its gates are closed, and it is over once nothing of it is under way."""
    for key, node_id in state.cancelled_nodes:
        scope = state.scopes.get(key)
        node = scope.nodes.get(node_id) if scope is not None else None
        if scope is None or (node is not None and node.ended_at is not None):
            continue
        inside = {key} | {round_key(node_id, n) for n in ([node.rounds] if node is not None and node.rounds else [])}
        for wait_id, wait in state.waits.items():
            if wait.created.scope in inside and (wait.created.scope != key or wait.created.node_id == node_id):
                return [Record(WaitClosed(wait_id=wait_id, reason="cancelled"))]
        if not any(_belongs_to(attempt, key, node_id, inside) for attempt in state.open.values()):
            activity_id = work_activity(state.run_id, node_id, scope=key)
            return [Record(NodeCancelled(node_id=node_id, scope=key, activity_id=activity_id))]
    return []


def _belongs_to(attempt: AttemptState, key: str, node_id: NodeId, inside: set[str]) -> bool:
    return attempt.scope in inside and (attempt.scope != key or attempt.node_id == node_id)


def _cancel_run(state: RunState) -> list[Action]:
    """Gates are closed, what runs is stopped, then every node that is not over is told, then the run ends."""
    if closings := [*_close_waits(state, "cancelled")]:
        return [*closings]
    if state.open:
        return [Stop(attempt.activity_id, attempt.attempt_id) for attempt in state.open.values()]
    if cancelled := [*_cancel_nodes(state)]:
        return [*cancelled]
    return [Record(RunCancelled(reason=state.cancel.reason if state.cancel else None))]


def _cancel_nodes(state: RunState) -> Iterator[Record]:
    """Every node that is not over, of rounds under way first."""
    scopes = [*_active_scopes(state)]
    for scope in [*scopes[1:], *scopes[:1]]:
        for definition in scope.graph.nodes:
            node_id = NodeId(definition.id)
            node = scope.nodes.get(node_id)
            if node is None or node.ended_at is None:
                activity_id = work_activity(state.run_id, node_id, scope=scope.key)
                yield Record(NodeCancelled(node_id=node_id, scope=scope.key, activity_id=activity_id))


def _is_being_cancelled(state: RunState, scope: Scope, node_id: NodeId) -> bool:
    return bool(state.cancelled_nodes) and (
        (scope.key, node_id) in state.cancelled_nodes
        or (scope.loop is not None and ("", scope.loop) in state.cancelled_nodes)
    )


# ---- the end of the run --------------------------------------------------------------------------------------------


def _ending(state: RunState) -> Payload | None:
    """The event that ends the run, once nothing is under way and nothing more can start."""
    if state.open or state.closing or state.waits:
        return None
    root = state.root
    if state.halted:
        return _failed_run(state)
    if root.finished < len(root.graph.nodes):
        return None
    if root.failure is not None:
        return _failed_run(state)
    return RunSucceeded(sinks=[sink for sink in root.graph.sinks if root.nodes[NodeId(sink)].status == "succeeded"])


def _failed_run(state: RunState) -> Payload | None:
    """None while a failure inside a loop has not come to the loop itself."""
    failure = state.root.failure
    if failure is None:
        return None
    ending = RunBlocked if failure.error.error_class in NEVER_ABSORBED else RunFailed
    return ending(node_id=failure.node_id, error=failure.error)


# ---- what can go on and start --------------------------------------------------------------------------------------


def _carry_on(state: RunState) -> Iterator[Action]:
    for attempt in state.open.values():
        scope = state.scopes[attempt.scope]
        if _is_being_cancelled(state, scope, attempt.node_id):
            yield Stop(attempt.activity_id, attempt.attempt_id)
        elif not attempt.is_in_doubt and not attempt.is_waiting:
            yield Perform(attempt.activity_id, attempt.attempt_id)


def _starts(state: RunState, now: int) -> Iterator[Action]:
    """Facts that nodes need, then new attempts, as far as there is room: retries that are due, then nodes in order."""
    assert state.created is not None
    yield from _facts(state)
    room = state.created.max_concurrency - sum(_takes_room(state, attempt) for attempt in state.open.values())
    for activity_id, due_at in state.backoff.items():
        activity = state.activities[activity_id]
        if due_at > now:
            yield WakeAt(activity_id, due_at)
        elif room > 0:
            yield Record(_attempt(activity_id, state.scopes[activity.scope], activity.node_id, activity.item, activity))
            room -= 1
    yield from (Record(payload) for payload in islice(_ready_attempts(state), max(0, room)))


def _takes_room(state: RunState, attempt: AttemptState) -> bool:
    """What only waits for a person holds no room."""
    is_decision = isinstance(state.definition_of(attempt), DecisionNode)
    return not attempt.is_in_doubt and not attempt.is_waiting and not is_decision


def _facts(state: RunState) -> Iterator[Action]:
    for scope in _active_scopes(state):
        if _is_stopped(scope):
            continue
        for position, need in scope.needs.items():
            definition = scope.graph.nodes[position]
            node_id = NodeId(definition.id)
            if need == "evaluate":
                yield Evaluate("condition", scope.key, node_id)
            elif need == "expand":
                yield Evaluate("items", scope.key, node_id)
            elif need == "gate" and ((node := scope.nodes[node_id]).wait is None or node.wait.approved is not None):
                yield Evaluate("gate", scope.key, node_id)
            elif need == "decide":
                yield Record(_first_attempt(state, scope, node_id, None))


def _is_stopped(scope: Scope) -> bool:
    return scope.failure is not None and scope.graph.stops_on_failure


def _ready_attempts(state: RunState) -> Iterator[AttemptCreated]:
    """The attempts of all nodes that may start, in definition order; a round's stand where its loop does."""
    lists = [_ready_of(state, scope) for scope in _active_scopes(state) if not _is_stopped(scope)]
    return (payload for _, payload in merge(*lists, key=lambda entry: entry[0]))


def _ready_of(state: RunState, scope: Scope) -> Iterator[tuple[tuple[int, int], AttemptCreated]]:
    outer = -1 if scope.loop is None else state.root.graph.position[scope.loop]
    for position in scope.ready:
        node_id = NodeId(scope.graph.nodes[position].id)
        node = scope.nodes.get(node_id)
        place = (position, -1) if outer < 0 else (outer, position)
        if node is None:
            yield place, _first_attempt(state, scope, node_id, None)
        elif next(_ended_items(state, scope.key, node_id), None) is None:
            for item in node.todo:
                yield place, _first_attempt(state, scope, node_id, item)


def _first_attempt(state: RunState, scope: Scope, node_id: NodeId, item: int | None) -> AttemptCreated:
    activity_id = work_activity(state.run_id, node_id, scope=scope.key, item=item)
    return _attempt(activity_id, scope, node_id, item, state.activities.get(activity_id))


def _attempt(
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
