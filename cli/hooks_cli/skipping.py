"""Why a node was skipped: only the log says it, the folded state does not keep it."""

from __future__ import annotations

from hooks.events.payloads import NodeSkipped
from hooks.runtime.node_names import event_place
from hooks.runtime.reading import read_events
from hooks.storage.run_directory import RunDirectory
from hooks_cli.render.event_line import detail


def why_skipped(directory: RunDirectory, name: str) -> str | None:
    """The reason of the last time the node of this name was skipped; None if it never was."""
    reasons = [
        detail(event.payload)
        for event in read_events(directory)
        if isinstance(event.payload, NodeSkipped) and event_place(event.payload) == name
    ]
    return reasons[-1] if reasons else None
