"""The payloads of a run that is recorded: what its hooks were shown, or would have been."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks.pipeline.history import payloads_after
from hooks.runtime.reading import Folding, read_events
from hooks.storage.run_directory import RunDirectory
from hooks_cli.policies import Policies


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run, its hooks as it has pinned them, and its payloads, each with the seq of its occasion."""

    run_id: str
    directory: Path
    working_directory: Path
    policies: Policies
    payloads: list[tuple[int, dict[str, Any]]]


def recorded_payloads(directory: RunDirectory) -> Recorded:
    """Fold the run's log and make the payload of every event that is the occasion for one."""
    folding, blobs = Folding(directory), directory.blob_store()
    payloads = []
    gates: dict[str, Any] = {}
    for event in read_events(directory):
        folding.receive(event)
        documents = payloads_after(folding.state, folding.definition, event, blobs.resolve, gates)
        payloads += [(event.seq, document) for document in documents]
        gates = dict(folding.state.waits)
    created = folding.state.created
    assert created is not None, "a log that was folded begins with runCreated"
    return Recorded(
        run_id=folding.state.run_id,
        directory=directory.path,
        working_directory=Path(created.working_directory),
        policies=Policies(folding.state.hook_set, created.workflow_id, is_pinned=True),
        payloads=payloads,
    )
