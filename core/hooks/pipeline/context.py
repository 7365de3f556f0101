"""The second argument of a hook in Python that takes one: who it is, where its run is, and what it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks.definition.hook_points import HookType


@dataclass(frozen=True, slots=True)
class HookContext:
    """Where a hook finds itself. The run directory is for reading.

    `state` is a JSON object that belongs to the plugin in this run, over all its hooks: it may be changed in place, is
    saved with the hook's decision, and is there again when the run goes on in another process. What a hook changed
    before it failed is saved with the next decision of the plugin. With `is_replay` all this has happened, and the hook
    is asked what it would have said; nothing follows but what it does itself.
    """

    plugin: str
    hook: HookType
    ordinal: int
    run_id: str
    workflow_id: str
    node_id: str | None
    activity_id: str | None
    attempt_id: str | None
    run_directory: Path
    working_directory: Path
    state: dict[str, Any]
    is_replay: bool = False
