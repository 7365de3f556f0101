"""The attempts of a node, as the log tells them: what each was given to do, how it ended, and who allowed it.

A state keeps of an attempt that is over only what is needed to go on, so this reads the log once more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from hooks.events.payloads import (
    ActivityFailed,
    ActivitySucceeded,
    ActivityTimedOut,
    AttemptCreated,
    AttemptPayload,
    ClosingPayload,
    ComponentStarted,
    EffectAttempted,
    EffectSettled,
    ReconcileResult,
    WaitClosed,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.ids import ActivityId
from hooks.kernel.state import ActivityState
from hooks.regular_files import open_regular
from hooks.runtime.attempt_files import read_effect_input
from hooks.runtime.node_names import name_in_id
from hooks.runtime.reading import RunView, read_events
from hooks.storage.run_directory import RunDirectory
from hooks.times import iso_time
from hooks_cli.render.documents import path_text
from hooks_cli.render.errors import error_document

Document: TypeAlias = dict[str, Any]

_STDERR_BYTES = 4_096
_STDERR_LINES = 10


def attempt_documents(view: RunView, activities: Iterable[ActivityState]) -> list[Document]:
    """Every attempt of these activities, in the order in which they began."""
    meant = {str(activity.activity_id) for activity in activities}
    told: dict[str, Document] = {}
    for event in read_events(view.directory):
        payload = event.payload
        if isinstance(payload, AttemptPayload) and payload.activity_id in meant:
            if isinstance(payload, AttemptCreated):
                told[payload.attempt_id] = _begun(view.directory, payload, event.timestamp)
            _note(view, told[payload.attempt_id], payload, event.timestamp)
    return list(told.values())


def answer_documents(view: RunView, name: str) -> list[Document]:
    """How the gates at the place of this name were answered or closed, in order, and what they asked."""
    gates: dict[str, WaitCreated] = {}
    answers: list[Document] = []
    for event in read_events(view.directory):
        match event.payload:
            case WaitCreated() as gate:
                if name_in_id(gate.work_activity_id or gate.activity_id).partition("[")[0] == name.partition("[")[0]:
                    gates[gate.wait_id] = gate
            case WaitResolved(wait_id=wait_id) as answer if wait_id in gates:
                document = _answer(view, gates[wait_id], answer.approved, at=answer.answered_at)
                answers.append({**document, "by": answer.by, "comment": answer.comment})
            case WaitDeadlineExceeded(wait_id=wait_id, approved=approved) if wait_id in gates:
                answers.append(_answer(view, gates[wait_id], approved, at=event.timestamp))
            case WaitClosed(wait_id=wait_id, reason=reason) if wait_id in gates:
                document = _answer(view, gates[wait_id], None, at=event.timestamp)
                answers.append({**document, "closed_because": reason})
            case _:
                pass
    return answers


def _answer(view: RunView, gate: WaitCreated, approved: bool | None, *, at: int) -> Document:
    """The answer that silence was, at the deadline, or None; of a person it has more."""
    return {
        "gate": name_in_id(gate.work_activity_id or gate.activity_id),
        "stage": gate.stage,
        "approved": approved,
        "by": None,
        "comment": "",
        "at": iso_time(at),
        "closed_because": None,
        "prompt": view.blobs.resolve(gate.prompt),
        "digest": gate.digest,
    }


def _begun(directory: RunDirectory, created: AttemptCreated, at: int) -> Document:
    files = directory.attempt(ActivityId(created.activity_id), created.attempt)
    return {
        "place": name_in_id(created.activity_id),
        "attempt": created.attempt,
        "attempt_id": created.attempt_id,
        "started_at": iso_time(at),
        "ended_at": None,
        "ended": None,
        "error": None,
        "given": None,
        "effect": None,
        "directory": path_text(files) if files.is_dir() else None,
        "stderr": [],
    }


def _note(view: RunView, document: Document, payload: AttemptPayload, at: int) -> None:
    """Write into the document of an attempt what one of its events tells."""
    match payload:
        case ComponentStarted(bound=bound):
            document["given"] = view.blobs.resolve(bound)
        case EffectAttempted() as permitted:
            document["effect"] = {
                "idempotency_key": permitted.idempotency_key,
                "provider": permitted.provider,
                "epoch": permitted.epoch,
                "outcome": None,
                "settled_by": None,
                "reason": None,
            }
            _given_by_sidecar(view, document, permitted)
        case EffectSettled(outcome=outcome):
            document["effect"] = {**(document["effect"] or {}), "outcome": outcome}
        case ReconcileResult() as found:
            said = {"outcome": found.outcome, "settled_by": found.by, "reason": found.reason}
            document["effect"] = {**(document["effect"] or {}), **said}
        case ClosingPayload():
            document["ended_at"], document["ended"] = iso_time(at), _ended(payload)
            document["error"] = error_document(getattr(payload, "error", None))
            if document["error"] is not None and document["directory"] is not None:
                document["stderr"] = _last_lines(Path(document["directory"]) / "stderr")
        case _:
            pass


def _given_by_sidecar(view: RunView, document: Document, permitted: EffectAttempted) -> None:
    """The sidecar has what is really executed, with the changes of hooks; one that is damaged would mislead."""
    directory = view.directory.attempt(ActivityId(permitted.activity_id), document["attempt"])
    effect_input, _ = read_effect_input(directory, permitted.input_hash)
    if effect_input is not None:
        document["given"] = effect_input.input


def _ended(closing: ClosingPayload) -> str:
    match closing:
        case ActivitySucceeded():
            return "succeeded"
        case ActivityFailed(interrupted=interrupted):
            return "interrupted" if interrupted else "failed"
        case ActivityTimedOut():
            return "timed out"
        case _:
            return "cancelled"


def _last_lines(stderr: Path) -> list[str]:
    """The end of what a process wrote there; secrets were masked when it was kept."""
    try:
        with open_regular(stderr) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _STDERR_BYTES))
            data = file.read()
    except OSError:
        return []
    lines = data.decode("utf-8", "replace").splitlines()
    return lines[-_STDERR_LINES:]
