"""Who cancelled a run, or a node of it, and why."""

from __future__ import annotations

from typing import Any

from hooks.events.payloads import CancelRequested
from hooks.kernel.state import RunState
from hooks.runtime.node_names import reference_name


def cancel_documents(state: RunState) -> list[dict[str, Any]]:
    """Each cancel that counts; `node` is None for that of the run."""
    of_run = [] if state.cancel is None else [state.cancel]
    return [_document(request) for request in [*of_run, *state.cancelled_nodes.values()]]


def cancel_of_node(state: RunState, name: str, status: str) -> dict[str, Any] | None:
    """The cancel that has ended, or is to end, a node: its own, that of its loop, or that of the run."""

    def is_meant(node: str | None) -> bool:
        return node == name or (status == "cancelled" and (node is None or name.startswith(f"{node}.")))

    return next((each for each in reversed(cancel_documents(state)) if is_meant(each["node"])), None)


def _document(request: CancelRequested) -> dict[str, Any]:
    node = None if request.node is None else reference_name(request.node)
    return {"node": node, "by": request.by, "reason": request.reason}
