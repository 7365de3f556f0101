"""Checks a run for damage without changing anything: the chain, the blobs, the workflow, and what attempts have left.

It depends on nothing but the content of the run's files, so that a copy, an archive or a run on another machine
verifies like the original. A torn tail is no damage: it is noticed, and the next driver cuts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Literal

import msgspec

from hooks.errors import CorruptRunError, StorageError
from hooks.events.envelope import Event
from hooks.events.payloads import AttemptCreated, ClosingPayload, EffectAttempted, FileLeft, RunCreated
from hooks.ids import ActivityId, NodeId, RevisionId, RunId, effect_draw, idempotency_key
from hooks.regular_files import open_regular
from hooks.storage.blobs import BlobReference, BlobStore, references_in
from hooks.storage.durable_files import read_bytes, refuse_link
from hooks.storage.log_reader import LogReader
from hooks.storage.run_directory import RunDirectory, read_workflow


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it was written. `damage` makes the run untrustworthy, a `notice` does not."""

    severity: Literal["damage", "notice"]
    file: str
    message: str
    line: int | None = None
    byte: int | None = None

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line is not None else ""
        byte = f", byte {self.byte}" if self.byte is not None else ""
        return f"{self.file}{line}{byte}: {self.message}"


def verify_run(directory: RunDirectory) -> list[Finding]:
    """Everything found wrong with a run, in the order of its log; empty if it is as it was written."""
    return list(_Verification(directory).findings())


class _Verification:
    """One walk over the log, with what later events are checked against."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._blobs = BlobStore(directory.blobs, "relaxed")
        self._checked_blobs: set[str] = set()
        self._created: RunCreated | None = None
        self._attempts: dict[str, AttemptCreated] = {}

    def findings(self) -> Iterator[Finding]:
        reader = LogReader(self._directory.log)
        try:
            for event in reader.stream():
                yield from self._check(event, reader.run_id or "")
        except CorruptRunError as error:
            yield _damage(error, self._directory.log)
            return
        for place in (self._directory.blobs, self._directory.attempts, self._directory.path / "hook-inputs"):
            yield from _check_directory(place)
        if self._created is None:
            yield Finding("damage", str(self._directory.log), "the log has no event", line=1, byte=0)
        yield from self._check_hook_inputs()
        if reader.torn_tail is not None:
            offset, size = reader.torn_tail
            yield Finding(
                "notice",
                str(self._directory.log),
                f"the last write is torn; `hooks recover` cuts its {size} bytes",
                line=reader.position.seq + 1,
                byte=offset,
            )

    def _check(self, event: Event, run_id: str) -> Iterator[Finding]:
        try:
            references = list(references_in(event.payload))
        except msgspec.ValidationError as error:
            yield self._finding(event, f"a reference to a blob is malformed: {error}")
            references = []
        for reference in references:
            yield from self._check_blob(reference)
        match event.payload:
            case RunCreated() as created:
                yield from self._check_workflow(event, created)
            case AttemptCreated() as created:
                self._attempts[created.attempt_id] = created
                activity = ActivityId(created.activity_id)
                yield from _check_directory(self._directory.attempt(activity, created.attempt))
            case EffectAttempted() as effect:
                yield from self._check_effect(event, effect, run_id)
            case ClosingPayload(files=files) as closing if files:
                yield from self._check_files(event, closing)
            case _:
                pass

    def _check_blob(self, reference: BlobReference) -> Iterator[Finding]:
        if reference.output_hash in self._checked_blobs:
            return
        self._checked_blobs.add(reference.output_hash)
        try:
            self._blobs.read(reference)
        except (CorruptRunError, StorageError) as error:
            yield _damage(error, self._directory.blobs / reference.output_hash)

    def _check_workflow(self, event: Event, created: RunCreated) -> Iterator[Finding]:
        if event.seq != 1:
            yield self._finding(event, "runCreated is not the first event")
            return
        self._created = created
        try:
            read_workflow(self._directory, created)
        except (CorruptRunError, StorageError) as error:
            yield _damage(error, self._directory.workflow)

    def _check_effect(self, event: Event, effect: EffectAttempted, run_id: str) -> Iterator[Finding]:
        attempt = self._attempts.get(effect.attempt_id)
        if self._created is None or attempt is None:
            yield self._finding(event, f"effectAttempted of {effect.attempt_id}, which was never created")
            return
        expected = idempotency_key(
            run_id=RunId(run_id),
            workflow_id=self._created.workflow_id,
            revision_id=RevisionId(self._created.revision_id),
            node_id=NodeId(effect.node_id),
            activity_id=ActivityId(effect.activity_id),
            epoch=effect.epoch,
            draw=effect_draw(effect.provider),
        )
        if effect.idempotency_key != expected:
            yield self._finding(event, f"the idempotency key {effect.idempotency_key} should be {expected}")
        sidecar = self._directory.effect_input(ActivityId(effect.activity_id), attempt.attempt)
        yield from _check_sidecar(sidecar, effect.input_hash)

    def _check_files(self, event: Event, closing: ClosingPayload) -> Iterator[Finding]:
        attempt = self._attempts.get(closing.attempt_id)
        if attempt is None:
            yield self._finding(event, f"{closing.attempt_id} ends, and was never created")
            return
        directory = self._directory.effect_input(ActivityId(closing.activity_id), attempt.attempt).parent
        for place, left in closing.files.items():
            if place.startswith("/") or ".." in place.split("/"):
                yield self._finding(event, f"{place!r} is no file of an attempt")
            else:
                yield from _check_left(directory / place, left)

    def _check_hook_inputs(self) -> Iterator[Finding]:
        """What hooks were given in files, each named by what it holds."""
        for path in sorted(self._directory.path.glob("hook-inputs/*")):
            if not path.name.endswith(".tmp"):
                yield from _check_input(path)

    def _finding(self, event: Event, message: str) -> Finding:
        return Finding("damage", str(self._directory.log), message, line=event.seq)


def _check_directory(path: Path) -> Iterator[Finding]:
    """A directory of the run that is none: what stands in it would be read from elsewhere, and written there."""
    try:
        refuse_link(path)
    except CorruptRunError as error:
        yield _damage(error, path)
    except OSError:
        return  # none there: what is missing of it is told of by its name


def _check_sidecar(path: Path, input_hash: str) -> Iterator[Finding]:
    try:
        data = read_bytes(path)
    except FileNotFoundError:
        yield Finding("damage", str(path), "the input of this effect is missing")
        return
    except (CorruptRunError, StorageError) as error:
        yield _damage(error, path)
        return
    if sha256(data).hexdigest() != input_hash:
        yield Finding("damage", str(path), "this is not the input the effect was attempted with (its hash differs)")


def _check_input(path: Path) -> Iterator[Finding]:
    """What a hook was given in a file: its name says what it holds."""
    try:
        with open_regular(path) as file:
            found = file_digest(file, "sha256").hexdigest()
    except OSError as error:
        yield Finding("damage", str(path), f"it cannot be read: {error.strerror}")
        return
    if found != path.name:
        yield Finding("damage", str(path), "this is not what was put there (its hash differs)")


def _check_left(path: Path, left: FileLeft) -> Iterator[Finding]:
    """A file as its attempt has left it. It was never synced: what a power cut can take of it is no damage."""
    try:
        with open_regular(path) as file:
            found = file_digest(file, "sha256").hexdigest()
            size = file.tell()
            file.seek(max(0, size - 1))
            last = file.read(1)
    except FileNotFoundError:
        yield Finding("notice", str(path), "it is gone; nobody had synced it")
        return
    except OSError as error:
        yield Finding("damage", str(path), f"it cannot be read: {error.strerror}")
        return
    if found == left.sha256:
        return
    if size < left.bytes or last == b"\0":
        yield Finding("notice", str(path), f"not all of its {left.bytes} bytes are there; nobody had synced them")
    else:
        yield Finding("damage", str(path), "this is not what was left there (its hash differs)")


def _damage(error: CorruptRunError | StorageError, path: Path) -> Finding:
    if isinstance(error, CorruptRunError):
        return Finding("damage", error.file, error.reason, line=error.line, byte=error.byte)
    return Finding("damage", str(path), error.message)
