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

from typing import Any

from hooks.definition.model import Workflow
from hooks.events.payloads import (
    ErrorInfo,
    NodeFailed,
    NodeSkipped,
    NodeSucceeded,
    Payload,
    RunBlocked,
    RunFailed,
    RunStarted,
    RunSucceeded,
    WaitDeadlineExceeded,
)
from hooks.ids import NodeId, work_activity
from hooks.kernel.actions import Action, Record, WakeAt
from hooks.kernel.cancel_rules import cancel_run, close_waits, follow_node_cancels
from hooks.kernel.follow_attempts import follow_attempts
from hooks.kernel.loop_rules import follow_loops
from hooks.kernel.starts import carry_on, has_refusal, starts
from hooks.kernel.state import RunState
from hooks.kernel.walk import NEVER_ABSORBED, active_scopes


def decide(state: RunState, definition: Workflow, now: int) -> list[Action]:
    """What is to be done in this state at `now` (ms, never before the last event). Cost: the work under way."""
    if state.created is None or state.ended is not None:
        return []
    if state.started_at is None:
        return [Record(RunStarted())]
    if state.refusal is not None and not state.activities:
        return [Record(_refused_run(state.refusal))]
    for decisions in (follow_attempts, _follow_nodes, _follow_waits, follow_node_cancels, follow_loops):
        if records := decisions(state, definition, now):
            return [*records]
    if state.cancel is not None:
        return cancel_run(state)
    if state.halted and (closings := [*close_waits(state, "failed")]):
        return [*closings]
    if (ending := _ending(state)) is not None:
        return [Record(ending)]
    is_held = state.halted or has_refusal(state) or _is_asked_about(state)
    actions: list[Action] = [] if is_held else [*starts(state, now)]
    actions.extend(carry_on(state, now))
    deadlines = ((wait_id, wait.created.deadline_at) for wait_id, wait in state.waits.items())
    actions.extend(WakeAt(wait_id, due_at) for wait_id, due_at in deadlines if due_at is not None)
    return actions


# ---- nodes ---------------------------------------------------------------------------------------------------------


def _follow_nodes(state: RunState, definition: Workflow, now: int) -> list[Record]:
    """Nodes whose work is all done; else nodes that end without any."""
    if state.completing:
        named = [(key, node_id, work_activity(state.run_id, node_id, scope=key)) for key, node_id in state.completing]
        return [Record(NodeSucceeded(node_id=node_id, scope=key, activity_id=work)) for key, node_id, work in named]
    is_over = state.halted or state.cancel is not None
    for scope in active_scopes(state):
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


# ---- waits ---------------------------------------------------------------------------------------------------------


def _follow_waits(state: RunState, definition: Workflow, now: int) -> list[Record]:
    return [
        Record(WaitDeadlineExceeded(wait_id=wait_id, approved=wait.created.on_timeout == "success"))
        for wait_id, wait in state.waits.items()
        if wait.created.deadline_at is not None and now >= wait.created.deadline_at
    ]


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
    if root.failure is not None or root.left_failed is not None:
        return _failed_run(state)
    return RunSucceeded(sinks=[sink for sink in root.graph.sinks if root.nodes[NodeId(sink)].status == "succeeded"])


def _failed_run(state: RunState) -> Payload | None:
    """None while a failure inside a loop has not come to the loop itself."""
    failure = state.root.failure or state.root.left_failed
    if failure is None:
        return None
    ending = RunBlocked if failure.error.error_class in NEVER_ABSORBED else RunFailed
    return ending(node_id=failure.node_id, error=failure.error)


def _refused_run(error: ErrorInfo) -> Payload:
    """The end of a run that was refused before it began; a deadline that passed is a failure, not a refusal."""
    return RunBlocked(error=error) if error.error_class in NEVER_ABSORBED else RunFailed(error=error)


def _is_asked_about(state: RunState) -> bool:
    """A policy asked about the run itself, and nobody has answered."""
    return state.run_wait is not None and state.run_wait.approved is None
