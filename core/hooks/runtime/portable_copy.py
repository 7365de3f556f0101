"""A copy of a run to give away: what its log says so far, what that refers to, and nothing of what it must not hold.

The log is read up to a position at which it is whole, also while a driver goes on writing; everything it refers to was
durable before it. Where a value is found it is blotted out (blotting.py), and whatever names the bytes that changed is
named anew: blobs, files that attempts have left, sidecars, the definition with the idempotency keys that follow from
it, and with them the chain of the log. So the copy is checked like any run; where it was changed, it says so.

Nothing in the run directory is followed that is not a plain file or directory of our own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import orjson

from hooks.blotting import Blotter, unused
from hooks.definition.model import Workflow, every_node, workflow_from_json
from hooks.errors import CorruptRunError, StorageError, UsageError
from hooks.events.envelope import FIRST_PREV, close_line, decode, open_line
from hooks.events.payloads import (
    AttemptCreated,
    ClosingPayload,
    EffectAttempted,
    EffectSettled,
    Payload,
    ReconcileResult,
    RunCreated,
)
from hooks.ids import ActivityId, NodeId, RevisionId, RunId, attempt_directory, effect_draw, idempotency_key
from hooks.jsonio import canonical
from hooks.regular_files import NotARegularFileError, open_regular
from hooks.runtime.attempt_files import FILE_NAME, files_below
from hooks.runtime.reading import check_run
from hooks.secrets import parts_of
from hooks.storage.blobs import TEXT, BlobReference, reference_in, references_in, value_positions
from hooks.storage.durable_files import read_bytes, refuse_link, storage_error
from hooks.storage.log_reader import LogReader, Position, position_holds
from hooks.storage.run_directory import RunDirectory, read_workflow


class UnblottableError(UsageError):
    """A value stands where a run without it would not be one."""

    def __init__(self, place: str, run: str) -> None:
        super().__init__(
            f"{place} holds a value that is to be masked in a place that cannot be changed without breaking the run.",
            fix="Do not give this run away; or, if that value is no secret, unset its variable for this command.",
            run=run,
        )


@dataclass(frozen=True, slots=True)
class PortableCopy:
    """What was copied. `masked` names the places in the copy where something was blotted out."""

    run_id: str
    events: int
    timestamp: int
    """Of the last event, in ms."""
    origin_last_hash: str
    last_hash: str
    blobs: int
    masked: list[str]


@dataclass(slots=True)
class _Named:
    """What is named otherwise in the copy, by what it is called in the origin."""

    revision_id: str | None = None
    blobs: dict[str, BlobReference] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    """Hashes of sidecars."""
    places: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of files, by attempt id and place."""
    files: dict[str, str] = field(default_factory=dict)
    """Hashes of files that attempts have left."""
    keys: dict[str, str] = field(default_factory=dict)
    """Idempotency keys."""

    @property
    def is_nothing(self) -> bool:
        """Whether everything is named as it was."""
        return self == _Named()

    def touches(self, payload: Payload) -> bool:
        """Whether an event names anything that is named otherwise now."""
        match payload:
            case RunCreated() | EffectAttempted() if self.revision_id is not None:
                return True
            case EffectAttempted(input_hash=input_hash) if input_hash in self.inputs:
                return True
            case EffectSettled(idempotency_key=key) | ReconcileResult(idempotency_key=key) if key in self.keys:
                return True
            case ClosingPayload(files=files, attempt_id=attempt) if files and any(
                (attempt, place) in self.places or left.sha256 in self.files for place, left in files.items()
            ):
                return True
        return bool(self.blobs) and any(found.output_hash in self.blobs for found in references_in(payload))


def copy_portably(directory: RunDirectory, into: Path, blotter: Blotter) -> PortableCopy:
    """Copy a run into the new directory `into`, values blotted out.

    Raises CorruptRunError, naming the place, for a run that is not as it was written; UnblottableError.
    """
    notices = _refuse_damage(directory)
    copying = _Copying(directory, into, blotter)
    copy = copying.copy()
    left = check_run(RunDirectory(into))
    damage = next((finding for finding in left if finding.severity == "damage"), None)
    if damage is not None or len(left) > notices:
        raise UnblottableError((damage or left[-1]).file.removeprefix(f"{into}{os.sep}"), copy.run_id)
    return copy


def _refuse_damage(directory: RunDirectory) -> int:
    """Raise CorruptRunError for the first thing that is damaged; else how many files are noticed beside the log, whose
    torn end is not copied."""
    findings = check_run(directory)
    for finding in findings:
        if finding.severity == "damage":
            raise CorruptRunError(finding.message, file=finding.file, line=finding.line, byte=finding.byte)
    return sum(finding.file != str(directory.log) for finding in findings)


class _Copying:
    """One copy under way: first what the log refers to, then the log that names it."""

    def __init__(self, directory: RunDirectory, into: Path, blotter: Blotter) -> None:
        self._directory = directory
        self._into = into
        self._blotter = blotter
        self._named = _Named()
        self._masked: list[str] = []
        self._created: RunCreated | None = None
        self._attempts: list[AttemptCreated] = []
        self._references: dict[str, BlobReference] = {}
        self._run_id = ""

    def copy(self) -> PortableCopy:
        end = self._survey()
        if self._blotter.is_in(self._run_id.encode()):
            raise UnblottableError("The id of the run", self._run_id)
        self._into.mkdir(mode=0o700, parents=True)
        self._copy_workflow()
        self._copy_blobs()
        self._copy_attempts()
        last_hash = self._copy_log(end)
        return PortableCopy(
            run_id=self._run_id,
            events=end.seq,
            timestamp=end.timestamp,
            origin_last_hash=end.hash,
            last_hash=last_hash,
            blobs=len(self._references),
            masked=self._masked,
        )

    def _survey(self) -> Position:
        """Read the log as far as it is committed, and note what it refers to."""
        reader = LogReader(self._directory.log)
        for event in reader.stream():
            match event.payload:
                case RunCreated() as created:
                    self._created = created
                case AttemptCreated() as attempt:
                    self._attempts.append(attempt)
                case _:
                    pass
            self._references.update((found.output_hash, found) for found in references_in(event.payload))
        self._run_id = reader.run_id or ""
        return reader.position

    # ---- what the log refers to ------------------------------------------------------------------------------------

    def _copy_workflow(self) -> None:
        assert self._created is not None, "a checked run begins with runCreated"
        data = read_workflow(self._directory, self._created)
        for what, its_id in _ids_in(workflow_from_json(data)):
            if self._blotter.is_in(its_id.encode()):
                raise UnblottableError(what, self._run_id)
        blotted = self._blotted_document(data, "workflow.json")
        if blotted != data:
            self._named.revision_id = sha256(blotted).hexdigest()
            try:
                workflow_from_json(blotted)
            except (msgspec.ValidationError, ValueError) as error:
                raise UnblottableError("workflow.json", self._run_id) from error
        self._write("workflow.json", blotted)

    def _copy_blobs(self) -> None:
        if self._references:
            refuse_link(self._directory.blobs)
        store = self._directory.blob_store()
        for digest, reference in sorted(self._references.items()):
            data = store.read(reference)
            if reference.content_type == TEXT:
                blotted = self._blotter.blot_text(data.decode()).encode()
            else:
                blotted = self._blotted_document(data, None)
            new = sha256(blotted).hexdigest()
            if blotted != data:
                self._masked.append(f"blobs/{new}")
                self._named.blobs[digest] = BlobReference(
                    output_hash=new,
                    output_path=f"blobs/{new}",
                    output_bytes=len(blotted),
                    content_type=reference.content_type,
                )
            self._write(f"blobs/{new}", blotted)

    def _copy_attempts(self) -> None:
        if self._attempts and os.path.lexists(self._directory.attempts):
            refuse_link(self._directory.attempts)
        for attempt in self._attempts:
            name = attempt_directory(ActivityId(attempt.activity_id), attempt.attempt)
            if os.path.lexists(self._directory.attempts / name):
                refuse_link(self._directory.attempts / name)
                self._copy_attempt(attempt.attempt_id, name)

    def _copy_attempt(self, attempt_id: str, name: str) -> None:
        source = self._directory.attempts / name
        self._copy_sidecar(source / FILE_NAME, f"attempts/{name}/{FILE_NAME}")
        places = list(files_below(source))
        taken = set(places)
        for place in places:
            blotted = os.fsdecode(self._blotter.blot(os.fsencode(place)))
            if blotted != place:
                blotted = unused(blotted, taken)
                self._named.places[attempt_id, place] = blotted
                self._masked.append(f"attempts/{name}/{blotted} (its name)")
            self._copy_file(source / place, f"attempts/{name}/{blotted}")

    def _copy_sidecar(self, source: Path, place: str) -> None:
        try:
            data = read_bytes(source)
        except (FileNotFoundError, CorruptRunError):
            return  # none, or planted; one that an effect was made from has been checked
        blotted = self._blotted_document(data, place)
        if blotted != data:
            self._named.inputs[sha256(data).hexdigest()] = sha256(blotted).hexdigest()
        self._write(place, blotted)

    def _copy_file(self, source: Path, place: str) -> None:
        before, after = sha256(), sha256()

        def hashed(file: BinaryIO) -> Iterator[bytes]:
            # No further than it goes now: a live step may write faster than this reads.
            left = os.fstat(file.fileno()).st_size
            for part in parts_of(file):
                before.update(part[:left])
                yield part[:left]
                left -= len(part)
                if left <= 0:
                    return

        try:
            file = open_regular(source)
        except (FileNotFoundError, NotARegularFileError):
            return  # of a live attempt, or planted since it was listed
        except OSError as error:
            raise storage_error("read", source, error) from error
        with file, self._create(place) as target:
            for part in self._blotter.blot_parts(hashed(file)):
                after.update(part)
                target.write(part)
        if before.digest() != after.digest():
            self._named.files[before.hexdigest()] = after.hexdigest()
            self._masked.append(place)

    def _blotted_document(self, data: bytes, place: str | None) -> bytes:
        """A JSON document without the values; told of under `place`."""
        if not self._blotter.is_in_json(data):
            return data
        try:
            document = orjson.loads(data)
        except orjson.JSONDecodeError:
            # The sidecar of an effect that nobody has attempted yet may be half written.
            blotted = self._blotter.blot(data)
        else:
            blotted = canonical(self._blotter.blot_json(document))
        if self._blotter.is_in_json(blotted):
            raise UnblottableError(place or "a blob", self._run_id)
        if place is not None:
            self._masked.append(place)
        return blotted

    # ---- the log ---------------------------------------------------------------------------------------------------

    def _copy_log(self, end: Position) -> str:
        """Write the log up to `end`, its chain anew from the first line that is otherwise; the hash of the last one."""
        prev, chained_anew, all_named_alike = FIRST_PREV, False, self._named.is_nothing
        with self._create("events.jsonl") as target, open_regular(self._directory.log) as source:
            while source.tell() < end.offset:
                line = source.readline()
                told = self._told_anew(line, all_named_alike=all_named_alike)
                if told is None and not chained_anew:
                    target.write(line)
                    prev = line[-67:-3].decode()
                else:
                    chained_anew = True
                    line, prev = close_line(open_line(line) if told is None else told, prev)
                    target.write(line)
        if not position_holds(self._directory.log, end):
            raise StorageError(
                f"{self._directory.log} was taken back while it was read: its disk is full.",
                fix="Free space, then say it again.",
            )
        return prev

    def _told_anew(self, line: bytes, *, all_named_alike: bool) -> bytes | None:
        """What the line says in the copy, without its place in the chain; None if it is the same."""
        holds_a_value = self._blotter.is_in_json(open_line(line))
        if not holds_a_value and all_named_alike:
            return None
        event = decode(line[:-1]).event
        if not holds_a_value and not self._named.touches(event.payload):
            return None
        document = orjson.loads(line)
        form = document["payload"]
        self._rename(form, event.payload)
        place = f"events.jsonl, line {event.seq} ({event.payload.type})"
        if holds_a_value:
            form = {name: self._blotter.blot_json(value) for name, value in form.items()}
            self._masked.append(place)
        if isinstance(event.payload, RunCreated):
            # A blob of JSON is canonical, so its name is the digest of what it holds.
            blob = reference_in(form["params"])
            digest = sha256(canonical(form["params"])).hexdigest() if blob is None else blob.output_hash
            form["paramsDigest"] = digest
        document["payload"] = form
        for name in ("prev", "hash"):
            del document[name]
        told = orjson.dumps(document)[:-1]
        if self._blotter.is_in_json(told) or not _is_payload(form, type(event.payload)):
            raise UnblottableError(place, self._run_id)
        return told

    def _rename(self, form: dict[str, Any], payload: Payload) -> None:
        """Put the new names into the JSON form of an event."""
        for position, value in value_positions(payload):
            reference = reference_in(value)
            if reference is not None and reference.output_hash in self._named.blobs:
                container: Any = form
                for key in position[:-1]:
                    container = container[key]
                container[position[-1]] = msgspec.to_builtins(self._named.blobs[reference.output_hash])
        match payload:
            case RunCreated() if self._named.revision_id is not None:
                form["revisionId"] = self._named.revision_id
            case EffectAttempted() as effect:
                form["inputHash"] = self._named.inputs.get(effect.input_hash, effect.input_hash)
                form["idempotencyKey"] = self._key(effect)
            case EffectSettled(idempotency_key=key) | ReconcileResult(idempotency_key=key):
                form["idempotencyKey"] = self._named.keys.get(key, key)
            case ClosingPayload(files=files, attempt_id=attempt_id) if files:
                form["files"] = {
                    self._named.places.get((attempt_id, place), place): {
                        "sha256": self._named.files.get(left.sha256, left.sha256),
                        "bytes": left.bytes,
                    }
                    for place, left in files.items()
                }
            case _:
                pass

    def _key(self, effect: EffectAttempted) -> str:
        """The idempotency key under the new revision; the same for the same effect, as it was."""
        if self._named.revision_id is not None:
            assert self._created is not None, "the log has been read"
            self._named.keys[effect.idempotency_key] = idempotency_key(
                run_id=RunId(self._run_id),
                workflow_id=self._created.workflow_id,
                revision_id=RevisionId(self._named.revision_id),
                node_id=NodeId(effect.node_id),
                activity_id=ActivityId(effect.activity_id),
                epoch=effect.epoch,
                draw=effect_draw(effect.provider),
            )
        return self._named.keys.get(effect.idempotency_key, effect.idempotency_key)

    # ---- files of the copy -----------------------------------------------------------------------------------------

    def _create(self, place: str) -> BinaryIO:
        path = self._into / place
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path.open("xb")

    def _write(self, place: str, data: bytes) -> None:
        # Two blobs may come out as one.
        if not (self._into / place).exists():
            with self._create(place) as file:
                file.write(data)


def _ids_in(workflow: Workflow) -> Iterator[tuple[str, str]]:
    """The ids that everything in a run is named by, and how each is called without saying it."""
    yield "The workflow_id of workflow.json", workflow.workflow_id
    for number, node in enumerate(every_node(workflow), start=1):
        yield f"The id of node {number} of workflow.json, bodies of loops counted with their loop,", node.id


def _is_payload(form: dict[str, Any], kind: type[Payload]) -> bool:
    try:
        msgspec.convert(form, kind)
    except msgspec.ValidationError:
        return False
    return True
