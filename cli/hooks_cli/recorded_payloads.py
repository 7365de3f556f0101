"""The payloads of a run that is recorded: what its hooks were shown, or would have been."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hooks.events.payloads import HookDecided
from hooks.pipeline.dispatch import Subject
from hooks.pipeline.history import payloads_after
from hooks.pipeline.subjects import subject_of
from hooks.runtime.reading import Folding, read_events
from hooks.storage.run_directory import RunDirectory
from hooks_cli.policies import Policies


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run, its hooks as it has pinned them, and its payloads in order."""

    run_id: str
    directory: Path
    working_directory: Path
    policies: Policies
    payloads: list[RecordedPayload]


@dataclass(frozen=True, slots=True)
class RecordedPayload:
    """A payload, the event that is its occasion or tells what was decided on it, and what it is about."""

    seq: int
    subject: Subject
    document: dict[str, Any]


def recorded_payloads(directory: RunDirectory) -> Recorded:
    """Fold the run's log and make the payloads of every event that is the occasion for some."""
    folding, blobs = Folding(directory), directory.blob_store()
    payloads: list[RecordedPayload] = []
    made_of: dict[str, RecordedPayload] = {}
    decided_before: dict[str, int] = {}
    gates: dict[str, Any] = {}
    for event in read_events(directory):
        folding.receive(event)
        for document in payloads_after(folding.state, folding.definition, event, blobs.resolve, gates):
            subject = subject_of(folding.definition, folding.state, document["node_id"])
            made = RecordedPayload(event.seq, subject, document)
            made_of[document["request_id"]] = made
            payloads.append(made)
            if (seq := decided_before.pop(document["request_id"], None)) is not None:
                payloads.append(replace(made, seq=seq))
        if isinstance(event.payload, HookDecided):
            # The number a person sees beside a decision is that of this event, not of its occasion; and a call is
            # decided on before the event that permits it.
            question = _question(folding.state.run_id, event.payload)
            if question in made_of:
                payloads.append(replace(made_of[question], seq=event.seq))
            else:
                decided_before[question] = event.seq
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


def _question(run_id: str, decided: HookDecided) -> str:
    """The request id of the payload that this was decided on."""
    return f"{decided.attempt_id or run_id}::{decided.hook}::{decided.ordinal}"
