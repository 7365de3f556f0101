"""Writes events.jsonl. One process writes, and it holds the run's lock.

Theory of operation. Whatever happens, these hold:

- **A group is one write and one sync.** Events are added to a pending group; `flush` writes the group at once, with one
  fdatasync. Events that nobody waits for cost nothing of their own.
- **Nothing is acted upon before `flush` has returned.** `add` promises nothing. So a group that a crash cut short has
  no consequences, and the next holder of the lock may cut its remains.
- **No line names a blob that is not durable.** Their bytes are synced as they are added, their names before the write.
- **No two lines need each other.** For every prefix of the log the kernel decides the rest again, so a torn group may
  keep its good lines.
- **A failed write leaves nothing.** The file is cut back to its last good length, and the log takes nothing more: the
  caller's state has events in it that are not in the log. Folding the log again is the only way on.
- **A failed sync is never retried.** The kernel reports it once and counts the pages as clean, so a second sync would
  succeed and mean nothing. The log is poisoned for good and a marker tells the next driver, which copies the log to a
  new file (whose pages are all dirty), syncs and renames it before it acts. Cutting back may fail too, and poisons.
- **Time does not run backwards.** An event is stamped with the given time or that of the event before, if later.
  Order is by seq alone.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Literal, NoReturn, Self

import msgspec

from hooks.errors import CorruptRunError, JsonBorderError, LogPoisonedError, StorageError
from hooks.events.envelope import Actor, Event, encode
from hooks.events.payloads import Payload
from hooks.storage.blobs import LARGEST_INLINE_VALUE, REFERENCE_KEY, BlobStore
from hooks.storage.durable_files import Durability, storage_error, write_all
from hooks.storage.log_reader import LONGEST_LINE, START, Position

SUSPECT_MARKER = "log.suspect"
_REFERENCE_KEY = f'"{REFERENCE_KEY}"'.encode()


class EventLog:
    """The log of one run, open for writing at its end."""

    def __init__(
        self, path: Path, *, run_id: str, blobs: BlobStore, durability: Durability, position: Position = START
    ) -> None:
        """Open the log at `path` after `position`, which is where its last line ends; at START it is made.

        Raises StorageError, also if the file does not end there.
        """
        self._path = path
        self._run_id = run_id
        self._blobs = blobs
        self._durability = durability
        self._lines: list[bytes] = []
        self._written = self._added = position
        self._health: Literal["good", "failed", "poisoned"] = "good"
        self._descriptor = _open_at(path, position)

    @property
    def seq(self) -> int:
        """The seq of the last event added."""
        return self._added.seq

    @property
    def last_hash(self) -> str:
        """The hash of the last event added."""
        return self._added.hash

    @property
    def pending(self) -> int:
        """How many events are added and not yet durable."""
        return len(self._lines)

    @property
    def position(self) -> Position:
        """The end of what is durable."""
        return self._written

    def add(self, actor: Actor, payload: Payload, now_ms: int) -> Event:
        """Put an event into the pending group and return it as a reader will see it, large values as references.

        It is durable after the next `flush`, not before. Raises JsonBorderError for a payload that JSON cannot carry
        (nothing was added), StorageError if a blob could not be kept (the log then takes nothing more).
        """
        self._require_good()
        seq = self._added.seq + 1
        event = Event(
            seq=seq,
            timestamp=max(now_ms, self._added.timestamp),
            actor=actor,
            payload=payload,
            group=self._written.seq + 1,
        )
        line, digest = self._encode(event, payload)
        if len(line) > LARGEST_INLINE_VALUE or _REFERENCE_KEY in line:
            form = self._spill(payload, len(line))
            event = msgspec.structs.replace(event, payload=msgspec.convert(form, type(payload)))
            line, digest = self._encode(event, form)
        if len(line) > LONGEST_LINE:
            raise JsonBorderError(f"{payload.type}: {len(line)} bytes are more than a line of the log may have")
        self._lines.append(line)
        self._added = Position(self._added.offset + len(line), seq, digest, event.group, event.timestamp)
        return event

    def _encode(self, event: Event, form: object) -> tuple[bytes, str]:
        try:
            return encode(event, self._run_id, self._added.hash, msgspec.to_builtins(form))
        except TypeError as error:
            raise JsonBorderError(f"{event.payload.type}: {error}") from error

    def _spill(self, payload: Payload, line_bytes: int) -> dict[str, object]:
        try:
            return self._blobs.spill(payload, line_bytes)
        except StorageError:
            self._health = "failed"
            raise

    def flush(self) -> None:
        """Make all pending events durable: one write, one sync; nothing at all if none is pending.

        Raises StorageError if the write failed: the group is gone and the log ends as before. Raises LogPoisonedError
        if a sync failed: whether the group is there is unknown. Raises CorruptRunError if the file was taken away,
        replaced or changed by somebody else. The log takes nothing more in either case.
        """
        self._require_good()
        if not self._lines:
            return
        # Good again only at the end: an exception anywhere in between, a KeyboardInterrupt too, leaves it refusing.
        self._health = "failed"
        self._require_in_place()
        self._sync_blob_names()
        self._write(b"".join(self._lines))
        self._sync()
        self._lines.clear()
        self._written = self._added
        self._health = "good"

    def _require_in_place(self) -> None:
        """What is not under its name any more, or has another length, is not the log: nothing is permitted by it."""
        ours = os.fstat(self._descriptor)
        try:
            there = os.stat(self._path)
        except OSError as error:
            raise CorruptRunError(f"the log is gone: {error.strerror}", file=str(self._path)) from error
        if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            raise CorruptRunError("the log was replaced while it was being written", file=str(self._path))
        if ours.st_size != self._written.offset:
            reason = f"the log has {ours.st_size} bytes; {self._written.offset} were written"
            raise CorruptRunError(reason, file=str(self._path))

    def _sync_blob_names(self) -> None:
        try:
            self._blobs.sync_names()
        except StorageError as error:
            self._poison(error.message, error)

    def _write(self, data: bytes) -> None:
        try:
            write_all(self._descriptor, data)
        except OSError as error:
            self._cut_back()
            raise storage_error("append to", self._path, error) from error

    def _cut_back(self) -> None:
        try:
            os.ftruncate(self._descriptor, self._written.offset)
        except OSError as error:
            self._poison(f"Cannot cut {self._path} back after a failed write: {error.strerror}.", error)

    def _sync(self) -> None:
        if self._durability == "relaxed":
            return
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            self._poison(f"Cannot sync {self._path}: {error.strerror}.", error)

    def _poison(self, reason: str, cause: Exception) -> NoReturn:
        self._health = "poisoned"
        # Best effort on a disk that just failed. Without the marker the next driver still syncs before it acts.
        with contextlib.suppress(OSError):
            marker = os.open(self._path.with_name(SUSPECT_MARKER), os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.fsync(marker)
            finally:
                os.close(marker)
        raise LogPoisonedError(
            f"{reason} What the disk holds of the last events is unknown.",
            fix="Check the disk (`dmesg`), then go on with `hooks recover`: it writes the log anew first.",
            run=self._run_id,
        ) from cause

    def _require_good(self) -> None:
        if self._health == "good":
            return
        error = LogPoisonedError if self._health == "poisoned" else StorageError
        raise error(
            f"The log {self._path} takes nothing more after a failed write.",
            fix="Go on with `hooks recover` once the disk is well.",
            run=self._run_id,
        )

    def discard(self) -> None:
        """Drop what is pending: something in it must not be written. The log takes nothing more."""
        self._lines.clear()
        self._health = "failed"

    def close(self) -> None:
        """Let go of the file. Pending events are dropped: nobody was promised them."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._health = "failed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open_at(path: Path, position: Position) -> int:
    flags = os.O_WRONLY | os.O_APPEND | (0 if position.seq else os.O_CREAT | os.O_EXCL)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise storage_error("open", path, error) from error
    size = os.fstat(descriptor).st_size
    if size != position.offset:
        os.close(descriptor)
        raise StorageError(
            f"{path} has {size} bytes where {position.offset} were read: something else is writing to it.",
            fix="Find out what writes there; only one driver may.",
        )
    return descriptor
