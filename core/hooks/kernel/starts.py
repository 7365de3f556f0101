"""What can go on and what can start, as far as there is room."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import islice

from hooks.definition.model import DecisionNode
from hooks.events.payloads import AttemptCreated
from hooks.ids import NodeId
from hooks.kernel.actions import Action, Evaluate, Perform, Record, Stop, WakeAt
from hooks.kernel.cancel_rules import is_being_cancelled
from hooks.kernel.follow_attempts import ended_items
from hooks.kernel.new_attempts import first_attempt, next_attempt
from hooks.kernel.state import AttemptState, RunState, Scope
from hooks.kernel.walk import active_scopes


def carry_on(state: RunState, now: int) -> Iterator[Action]:
    is_refused = has_refusal(state)
    for attempt in state.open.values():
        scope = state.scopes[attempt.scope]
        if is_being_cancelled(state, scope, attempt.node_id):
            yield Stop(attempt.activity_id, attempt.attempt_id)
        elif state.pauses.get(attempt.activity_id, now) > now and not state.halted:
            yield WakeAt(attempt.activity_id, state.pauses[attempt.activity_id])
        elif not attempt.is_in_doubt and not attempt.is_waiting and (not is_refused or _goes_on_refused(attempt)):
            yield Perform(attempt.activity_id, attempt.attempt_id)


def has_refusal(state: RunState) -> bool:
    """A person has said no to a step that is still open: its failure is certain, so nothing else begins before it."""
    return any(_is_refused(attempt) for attempt in state.open.values())


def _is_refused(attempt: AttemptState) -> bool:
    return attempt.wait is not None and attempt.wait.approved is False and attempt.wait.created.stage != "decision"


def _goes_on_refused(attempt: AttemptState) -> bool:
    return _is_refused(attempt) or attempt.is_permitted


def starts(state: RunState, now: int) -> Iterator[Action]:
    """Facts that nodes need, then new attempts, as far as there is room: retries that are due, then nodes in order."""
    yield from _facts(state)
    room = state.max_concurrency - sum(_takes_room(state, attempt) for attempt in state.open.values())
    for activity_id, due_at in state.backoff.items():
        activity = state.activities[activity_id]
        if due_at > now:
            yield WakeAt(activity_id, due_at)
        elif room > 0:
            yield Record(
                next_attempt(activity_id, state.scopes[activity.scope], activity.node_id, activity.item, activity)
            )
            room -= 1
    yield from (Record(payload) for payload in islice(_ready_attempts(state), max(0, room)))


def _takes_room(state: RunState, attempt: AttemptState) -> bool:
    """What only waits, for a person or for its time, holds no room."""
    is_decision = isinstance(state.definition_of(attempt), DecisionNode)
    is_paused = attempt.activity_id in state.pauses
    return not attempt.is_in_doubt and not attempt.is_waiting and not is_decision and not is_paused


def _facts(state: RunState) -> Iterator[Action]:
    for scope in active_scopes(state):
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
                yield Record(first_attempt(state, scope, node_id, None))


def _is_stopped(scope: Scope) -> bool:
    return scope.failure is not None and scope.graph.stops_on_failure


def _ready_attempts(state: RunState) -> Iterator[AttemptCreated]:
    """The attempts of all nodes that may start, in definition order; a round's stand where its loop does."""
    lists = [_ready_of(state, scope) for scope in active_scopes(state) if not _is_stopped(scope)]
    return (payload for _, payload in merge(*lists, key=lambda entry: entry[0]))


def _ready_of(state: RunState, scope: Scope) -> Iterator[tuple[tuple[int, int], AttemptCreated]]:
    outer = -1 if scope.loop is None else state.root.graph.position[scope.loop]
    for position in scope.ready:
        node_id = NodeId(scope.graph.nodes[position].id)
        node = scope.nodes.get(node_id)
        place = (position, -1) if outer < 0 else (outer, position)
        if node is None:
            yield place, first_attempt(state, scope, node_id, None)
        elif next(ended_items(state, scope.key, node_id), None) is None:
            for item in node.todo:
                yield place, first_attempt(state, scope, node_id, item)
