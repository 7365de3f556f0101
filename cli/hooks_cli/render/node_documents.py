"""What `--json` prints of the nodes of a run: one shape for all kinds, with what only some have left null.

A loop carries the nodes of its last round in `body`, a fan-out its items in `items`. Values that stand in a blob stay
references; who shows one resolves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from hooks.definition.model import DecisionNode, HostExecutorNode, LoopNode, Node, SubagentNode, Workflow
from hooks.events.payloads import ErrorInfo
from hooks.ids import ActivityId, NodeId, work_activity
from hooks.kernel.retry_rules import retry_of
from hooks.kernel.state import ActivityState, Composite, NodeState, RunState, Scope, output_of
from hooks.kernel.status import RunStatus
from hooks.runtime.node_names import node_name
from hooks_cli.render.errors import doubt_error, error_document
from hooks_cli.render.node_status import activities_of, activity_status, last_round, node_status, unbegun, why_not_run
from hooks_cli.render.text import iso_time_or_none

Draws: TypeAlias = Mapping[ActivityId, dict[str, Any]]
"""The draws and the loop_budget of agent steps, of those that have something to tell."""
_NO_DRAWS: dict[str, Any] = {"draws": None, "loop_budget": None}


def node_documents(
    workflow: Workflow, state: RunState, status: RunStatus, scope: Scope, draws: Draws
) -> dict[str, Any]:
    """Every node of a scope by its id, in the order of the file."""
    return {node.id: node_document(workflow, state, status, scope, node, draws) for node in scope.graph.nodes}


def node_document(
    workflow: Workflow, state: RunState, status: RunStatus, scope: Scope, definition: Node, draws: Draws
) -> dict[str, Any]:
    """What became of one node so far."""
    node = scope.nodes.get(NodeId(definition.id))
    activities = [*activities_of(node)] if node is not None else []
    body = last_round(state, definition.id, node) if isinstance(definition, LoopNode) else None
    return {
        "name": node_name(definition.id, scope.key),
        "status": node_status(state, status, scope, definition.id),
        "taken_over": node is not None and node.is_imported,
        "type": _TYPES[type(definition)],
        "performed_by": performed_by(definition),
        "depends": definition.depends,
        "attempts": sum(activity.attempts for activity in activities),
        **_draws_of(node.activity if node is not None else None, draws),
        "max_attempts": retry_of(definition, workflow).max_attempts,
        "next_try_at": iso_time_or_none(_next_try(state, activities)),
        "next_try": _number_of_next_try(state, activities),
        "not_run_because": why_not_run(state, scope, definition.id),
        "started_at": iso_time_or_none(node.started_at) if node is not None else None,
        "ended_at": iso_time_or_none(node.ended_at) if node is not None else None,
        "error": error_document(_error_of(state, node)),
        "effect_done": node is not None and any(activity.effect_done for activity in activities),
        "activity_id": work_activity(state.run_id, NodeId(definition.id), scope=scope.key) if node else None,
        "output": output_of(node) if node is not None and node.status == "succeeded" else None,
        "items": _items(state, status, node, draws) if node is not None and node.is_fan_out else None,
        "round": body.iteration if body is not None else None,
        "body": node_documents(workflow, state, status, body, draws) if body is not None else None,
    }


_TYPES: dict[type[Node], str] = {
    SubagentNode: "subagent",
    HostExecutorNode: "host_executor",
    LoopNode: "loop",
    DecisionNode: "decision",
}


def performed_by(definition: Node) -> str:
    """Who does the work of a node, or ends it."""
    match definition:
        case SubagentNode(agent=agent):
            return agent
        case HostExecutorNode(executor=executor):
            return executor
        case LoopNode(decision=decision):
            return f"until {decision}"
        case DecisionNode():
            return "a person"


def _error_of(state: RunState, node: NodeState | None) -> ErrorInfo | None:
    if node is None:
        return None
    errors = (_error_of_activity(state, activity) for activity in activities_of(node))
    return node.error or next(filter(None, errors), None)


def _error_of_activity(state: RunState, activity: ActivityState) -> ErrorInfo | None:
    return doubt_error(state, activity) or activity.error


def _draws_of(activity: ActivityState | None, draws: Draws) -> dict[str, Any]:
    return _NO_DRAWS if activity is None else draws.get(activity.activity_id, _NO_DRAWS)


def _next_try(state: RunState, activities: list[ActivityState]) -> int | None:
    """When the first of those that wait for their next try is due: a new attempt, or a call in the same one."""
    waiting = [
        due
        for activity in activities
        for due in (state.backoff.get(activity.activity_id), state.pauses.get(activity.activity_id))
        if due is not None
    ]
    return min(waiting, default=None)


def _number_of_next_try(state: RunState, activities: list[ActivityState]) -> int | None:
    """Which of its attempts an activity waits for, of those that use up `max_attempts`; None for several of them."""
    waiting = [activity.counted + 1 for activity in activities if activity.activity_id in state.backoff]
    return waiting[0] if len(activities) == 1 and waiting else None


def _items(state: RunState, status: RunStatus, node: NodeState, draws: Draws) -> list[dict[str, Any]]:
    return [_item(state, status, index, activity, draws) for index, activity in enumerate(node.items)]


def _item(
    state: RunState, status: RunStatus, index: int, activity: ActivityState | None, draws: Draws
) -> dict[str, Any]:
    return {
        "index": index,
        "status": unbegun(state) if activity is None else activity_status(state, status, activity),
        "attempts": 0 if activity is None else activity.attempts,
        **_draws_of(activity, draws),
        "next_try_at": None if activity is None else iso_time_or_none(_next_try(state, [activity])),
        "next_try": None if activity is None else _number_of_next_try(state, [activity]),
        "started_at": None if activity is None else iso_time_or_none(activity.started_at),
        "ended_at": None if activity is None else iso_time_or_none(activity.ended_at),
        "error": None if activity is None else error_document(_error_of_activity(state, activity)),
        "activity_id": None if activity is None else activity.activity_id,
        "output": None if activity is None else activity.output,
    }


def plain(value: Any) -> Any:
    """`value` with outputs that are made of others (a fan-out's list, a loop's map) as the JSON they are."""
    match value:
        case Composite(parts):
            return plain(parts)
        case dict():
            return {key: plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case _:
            return value
