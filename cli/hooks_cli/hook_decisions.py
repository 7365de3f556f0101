"""What hooks have said in a run, and what a person is asked about on their behalf: only the log tells it whole."""

from __future__ import annotations

from typing import Any

from hooks.definition.model import HostExecutorNode
from hooks.events.payloads import HookDecided, HookDecision
from hooks.ids import ActivityId
from hooks.runtime.node_names import event_place
from hooks.runtime.reading import RunView, read_events

_SILENT = ("allow", "not_run")


def decision_documents(view: RunView, node: str | None = None) -> list[dict[str, Any]]:
    """What each hook said other than allow, in order; with `node` only at the place of that name, rounds apart."""
    if not view.state.hook_set:
        return []
    return [
        {
            "seq": event.seq,
            "node": place or None,
            "hook": event.payload.hook,
            "name": decision.plugin,
            "outcome": decision.outcome,
            "reason": decision.reason,
            "code": decision.code,
            "changed": _changed(view, decision),
        }
        for event in read_events(view.directory)
        if isinstance(event.payload, HookDecided)
        for place in [event_place(event.payload)]
        if node in (None, place)
        for decision in event.payload.decisions
        if decision.outcome not in _SILENT
    ]


def asked_about(view: RunView) -> dict[str, dict[str, Any]]:
    """By wait id, for each open gate that a hook has opened: the hook point, and what would be done if approved."""
    asks = {wait_id: wait for wait_id, wait in view.state.waits.items() if wait.created.stage == "ask"}
    if not asks:
        return {}
    decided = [event.payload for event in read_events(view.directory) if isinstance(event.payload, HookDecided)]
    about = {}
    for wait_id, wait in asks.items():
        attempt = view.state.open.get(ActivityId(wait.created.work_activity_id or ""))
        if attempt is None or attempt.component is None:
            continue
        node, bound = view.state.definition_of(attempt), view.blobs.resolve(attempt.component.bound)
        call = {"executor": node.executor, "input": bound} if isinstance(node, HostExecutorNode) else {"prompt": bound}
        changes = {
            name: view.blobs.resolve(change.after)
            for each in decided
            if each.hook == wait.created.hook and each.attempt_id == attempt.attempt_id
            for decision in each.decisions
            for name, change in decision.changed.items()
        }
        about[str(wait_id)] = {"hook": wait.created.hook, **call, **changes}
    return about


def _changed(view: RunView, decision: HookDecision) -> dict[str, Any]:
    return {
        name: {"before": view.blobs.resolve(change.before), "after": view.blobs.resolve(change.after)}
        for name, change in decision.changed.items()
    }
