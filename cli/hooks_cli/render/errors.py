"""The errors of a run: which one a person must see, whose it is, and how it reads."""

from __future__ import annotations

from typing import Any

import msgspec

from hooks.definition.model import LoopNode
from hooks.events.payloads import ErrorInfo
from hooks.ids import NodeId
from hooks.kernel.state import ActivityState, NodeState, RunState, Scope
from hooks.runtime.node_names import name_in_id, node_name
from hooks_cli.render.node_status import last_round


def error_text(error: ErrorInfo) -> str:
    """An error as a person reads it; may hold anything a run printed."""
    return f"{error.error_code}: {error.error_message}"


def placed_error_text(place: str | None, error: ErrorInfo) -> str:
    """The same with the place it comes from; that of the run itself has none."""
    return f"{place}: {error_text(error)}" if place else error_text(error)


def error_document(error: ErrorInfo | None) -> dict[str, Any] | None:
    """An error as the log has it."""
    return None if error is None else msgspec.to_builtins(error)


def doubt_error(state: RunState, activity: ActivityState) -> ErrorInfo | None:
    """Why the effect of an activity is in doubt, as an error; None if it is not."""
    attempt = state.in_doubt.get(activity.activity_id)
    if attempt is None or attempt.reconciled is None:
        return None
    ended = attempt.settled.error if attempt.settled is not None else None
    seen = f"{ended.error_message} " if ended is not None else ""
    return ErrorInfo(
        error_code="OutcomeUnknown",
        error_class="manual",
        error_message=f"{seen}Nobody knows whether it happened: {doubt_reason(attempt.reconciled.reason)}.",
    )


_DOUBTS = {
    "NoReconciler": "nothing can look it up, and a repeat might do it twice",
    "IdempotencyExpired": "the time is over in which a repeat is harmless",
    "MissingEffectInput": "the file of its input is gone",
    "EffectInputHashMismatch": "the file of its input is not what was sent",
    "MissingSecret": "the environment lacks a secret that the look-up needs",
    "cancelled": "it was cancelled under way",
}


def doubt_reason(reason: str) -> str:
    """Why an effect came to be in doubt, in words; may hold anything a provider said."""
    return _DOUBTS.get(reason, reason)


def last_error(state: RunState) -> tuple[str, ErrorInfo] | None:
    """The error that decides how the run ends, else why it is in doubt, else the newest; with its place, which is
    empty where the run itself was refused."""
    if state.refusal is not None:
        return "", state.refusal
    if state.root.failure is not None:
        return _origin(state, state.root, state.root.failure.node_id), state.root.failure.error
    for activity_id in state.in_doubt:
        doubt = doubt_error(state, state.activities[activity_id])
        if doubt is not None:
            return name_in_id(activity_id), doubt
    failed = [activity for activity in state.activities.values() if activity.error is not None]
    newest = max(failed, key=_last_seen, default=None)
    return None if newest is None or newest.error is None else (name_in_id(newest.activity_id), newest.error)


def errors(state: RunState) -> list[tuple[str, ErrorInfo]]:
    """`last_error` first, then those of the other nodes that failed, with the names of their places."""
    found = last_error(state)
    if found is None:
        return []
    others = [
        (_origin(state, state.root, node_id), node.error)
        for node_id, node in state.root.nodes.items()
        if node.status == "failed" and node.error is not None
    ]
    return [found, *(other for other in others if other[0] != found[0])]


def _origin(state: RunState, scope: Scope, node_id: NodeId) -> str:
    """Where the failure of a node comes from: an item of its fan-out, a node of its loop's last round, or itself."""
    definition, node = scope.graph.nodes[scope.graph.position[node_id]], scope.nodes.get(node_id)
    body = last_round(state, node_id, node) if isinstance(definition, LoopNode) else None
    if body is not None and body.failure is not None:
        return _origin(state, body, body.failure.node_id)
    return node_name(node_id, scope.key, _failed_item(node) if node is not None else None)


def _failed_item(node: NodeState) -> int | None:
    return next((item.item for item in node.items if item is not None and item.error == node.error), None)


def _last_seen(activity: ActivityState) -> int:
    return activity.ended_at or activity.started_at
