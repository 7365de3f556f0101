"""Large values, kept beside the log under the hash of their bytes.

A value stands in an event either as itself or as a reference {outputHash, outputPath, outputBytes, contentType}. The
two can never be confused: a mapping with the key `outputHash` that some model or child made up is itself put into a
blob, so that at a value position such a mapping always is a reference. Only a BlobReference object, which nothing but
this module makes, goes into an event as the reference it is; so a large value moves on to a later event unread.

Value positions are the fields a payload lists in `values`, the details of its error, and what hooks changed and told.

A blob's bytes are synced by `spill`, its name by `sync_names`: once for the events of one write, and before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import orjson
from msgspec import Struct

from hooks.errors import CorruptRunError
from hooks.events.payloads import HookDecided, Payload
from hooks.jsonio import canonical
from hooks.storage.durable_files import (
    Durability,
    read_bytes,
    replace_file,
    storage_error,
    sync_directory,
    write_new_file,
)

LARGEST_INLINE_VALUE = 8 * 1024
LINE_GOAL = 64 * 1024
REFERENCE_KEY = "outputHash"
TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
PositionPath: TypeAlias = tuple[str | int, ...]


class BlobReference(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a large value is kept. Given as a value of a payload, it goes into the log as it is."""

    output_hash: str
    output_path: str
    output_bytes: int
    content_type: str


def reference_in(value: Any) -> BlobReference | None:
    """The reference that stands at a value position of an event read from a log, or None for an inline value."""
    if isinstance(value, BlobReference):
        return value
    if isinstance(value, dict) and REFERENCE_KEY in value:
        return msgspec.convert(value, BlobReference)
    return None


def references_in(payload: Payload) -> Iterator[BlobReference]:
    """Every blob that `payload`, read from a log, refers to."""
    for _, value in value_positions(payload):
        reference = reference_in(value)
        if reference is not None:
            yield reference


class BlobStore:
    """The blobs/ directory of one run. Only the driver spills; anyone may resolve."""

    def __init__(self, directory: Path, durability: Durability) -> None:
        self._directory = directory
        self._durability = durability
        self._written: set[str] = set()
        self._names_unsynced = False

    def spill(self, payload: Payload, line_bytes: int) -> dict[str, Any]:
        """The JSON form of `payload`, with blobs in place of what is too large for a line of `line_bytes` bytes.

        Blobs hold every value above LARGEST_INLINE_VALUE, then the largest next until the line is below LINE_GOAL,
        and every inline mapping that could pass for a reference. Their bytes are durable when this returns.
        """
        form: dict[str, Any] = msgspec.to_builtins(payload)
        inline = []
        for position, value in value_positions(payload):
            if isinstance(value, BlobReference):
                continue
            size = len(orjson.dumps(value))
            if size > LARGEST_INLINE_VALUE or (isinstance(value, dict) and REFERENCE_KEY in value):
                line_bytes += self._replace(form, position, value) - size
            else:
                inline.append((size, position, value))
        inline.sort(key=lambda entry: entry[0], reverse=True)
        for size, position, value in inline:
            if line_bytes < LINE_GOAL or size <= _REFERENCE_BYTES:
                break
            line_bytes += self._replace(form, position, value) - size
        return form

    def _replace(self, form: dict[str, Any], position: PositionPath, value: Any) -> int:
        """Put a reference at `position` of `form`, and return the size of its JSON."""
        container: Any = form
        for key in position[:-1]:
            container = container[key]
        reference = msgspec.to_builtins(self.store(value))
        container[position[-1]] = reference
        return len(orjson.dumps(reference))

    def store(self, value: Any) -> BlobReference:
        """Keep `value` as a blob, its bytes durable; its name is so after `sync_names`."""
        data, content_type = (value.encode(), TEXT) if isinstance(value, str) else (canonical(value), _JSON)
        digest = sha256(data).hexdigest()
        if digest not in self._written:
            self._write(self._directory / digest, data)
            self._written.add(digest)
            self._names_unsynced = True
        return BlobReference(
            output_hash=digest, output_path=f"blobs/{digest}", output_bytes=len(data), content_type=content_type
        )

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_new_file(path, data, self._durability)
        except FileExistsError:
            # Left by an earlier driver, which may have died before its bytes were on disk: reading them back from the
            # page cache would prove nothing, so they are written again.
            replace_file(path, data, self._durability)

    def sync_names(self) -> None:
        """Make the names of all blobs stored so far durable; free if there are none since the last time."""
        if self._names_unsynced:
            sync_directory(self._directory, self._durability)
            self._names_unsynced = False

    def resolve(self, value: Any) -> Any:
        """The value at a value position: itself, or what the blob it refers to holds.

        Raises CorruptRunError if the blob is missing or is not what its name says.
        """
        if not value or type(value) is str:
            return value  # as most values are; a step resolves some thirty of them
        reference = reference_in(value)
        if reference is None:
            return value
        data = self.read(reference)
        return data.decode() if reference.content_type == TEXT else orjson.loads(data)

    def read(self, reference: BlobReference) -> bytes:
        """The bytes of a blob. Raises CorruptRunError unless it is there and holds what its name says."""
        path = self._path(reference)
        try:
            data = read_bytes(path)
        except FileNotFoundError as error:
            raise _damaged("this blob is missing", path) from error
        if len(data) != reference.output_bytes or sha256(data).hexdigest() != reference.output_hash:
            raise _damaged("the content of this blob is not what its name says", path)
        return data

    def require(self, references: Iterable[BlobReference]) -> None:
        """Raise CorruptRunError for a blob that is missing or has another size; their content is not read."""
        for reference in references:
            path = self._path(reference)
            try:
                size = os.stat(path).st_size
            except FileNotFoundError as error:
                raise _damaged("this blob is missing", path) from error
            except OSError as error:
                raise storage_error("read", path, error) from error
            if size != reference.output_bytes:
                raise _damaged(f"this blob has {size} bytes; {reference.output_bytes} were written", path)

    def _path(self, reference: BlobReference) -> Path:
        """Where it is; derived from the hash, so that what stands in the log never names a file outside blobs/."""
        digest = reference.output_hash
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise CorruptRunError(f"{digest!r} is not the name of a blob", file=str(self._directory))
        return self._directory / digest


def _damaged(what: str, path: Path) -> CorruptRunError:
    fix = "Put this file back as it was, from a backup or another copy of the run; then go on with `hooks recover`."
    return CorruptRunError(what, file=str(path), fix=fix)


_REFERENCE_BYTES = len(
    orjson.dumps(
        BlobReference(output_hash="0" * 64, output_path="blobs/" + "0" * 64, output_bytes=10**6, content_type=TEXT),
        default=msgspec.to_builtins,
    )
)


def value_positions(payload: Payload) -> Iterator[tuple[PositionPath, Any]]:
    """Where in the JSON form of `payload` a value or a reference may stand, and what stands there."""
    for name, encoded_name in _value_fields(type(payload)):
        yield (encoded_name,), getattr(payload, name)
    error = getattr(payload, "error", None)
    if error is not None:
        for key, value in error.details.items():
            yield ("error", "details", key), value
    if isinstance(payload, HookDecided):
        for index, decision in enumerate(payload.decisions):
            for field, change in decision.changed.items():
                yield ("decisions", index, "changed", field, "before"), change.before
                yield ("decisions", index, "changed", field, "after"), change.after
            for key, value in decision.details.items():
                yield ("decisions", index, "details", key), value
            if decision.state is not None:
                yield ("decisions", index, "state", "value"), decision.state.value


@cache
def _value_fields(payload_type: type[Payload]) -> tuple[tuple[str, str], ...]:
    """The fields of `payload_type` that hold a value, each with its name in the log."""
    encoded = {field.name: field.encode_name for field in msgspec.structs.fields(payload_type)}
    return tuple((name, encoded[name]) for name in payload_type.values)
