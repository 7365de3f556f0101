"""How a driver becomes the driver of an existing run.

In this order: take the lock; make durable what an earlier driver wrote and did not live to sync; read the whole log and
check it; look for every blob it names; refuse a copied directory; only then change anything, which is to cut a torn
tail.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hooks.errors import CorruptRunError, NotFoundError, RunCopiedError
from hooks.events.envelope import Event
from hooks.events.payloads import LogRepaired, ResumeStarted, RunCreated
from hooks.regular_files import open_regular
from hooks.storage.blobs import BlobReference, references_in
from hooks.storage.durable_files import (
    Durability,
    rename,
    storage_error,
    sync_directory,
    sync_file,
    write_all,
)
from hooks.storage.event_log import EventLog
from hooks.storage.locks import DriverLock, LockRole
from hooks.storage.log_reader import LogReader, TornTail
from hooks.storage.run_directory import RunDirectory, read_workflow

_COPY_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run locked by us, its log read, checked, repaired and open for writing.

    `events` is empty if a receiver was given. `created` is the run's first event.
    """

    directory: RunDirectory
    lock: DriverLock
    log: EventLog
    created: RunCreated
    workflow_json: bytes
    events: list[Event]
    taken_over: bool
    repaired: LogRepaired | None


def open_run(
    directory: RunDirectory,
    *,
    role: LockRole,
    now_ms: int,
    take_over: bool = False,
    has_ended: Callable[[], bool] = lambda: False,
    admit: Callable[[], object] = lambda: None,
    durability: Durability | None = None,
    receive: Callable[[Event], object] | None = None,
) -> OpenedRun:
    """Become the driver of an existing run: lock it, make what is there durable, read and check it, cut a torn tail.

    Every event goes to `receive` in order (a long log need not be in memory at once), or into `events` without one;
    the logRepaired of a cut included. `durability` is by default what the run was created with. resumeStarted is the
    caller's to add.

    Raises RunLockedError, CorruptRunError (nothing was changed), StorageError, and RunCopiedError unless `take_over`
    if the directory is not the one its last driver worked in. A copy of a run that `has_ended`, asked when all events
    were received, is opened like the original: there is nothing left in it that could be done twice. Then `admit` may
    refuse by raising. After an error the lock is free again.
    """
    if not os.path.isdir(directory.path):
        raise NotFoundError(f"There is no run directory {directory.path}.", fix="`hooks ls` lists the runs.")
    if not os.path.exists(directory.log):
        raise CorruptRunError("the log is missing", file=str(directory.log))
    lock = DriverLock.acquire(directory.lock, role=role, run_id=directory.run_id)
    try:
        return _open_locked(directory, lock, now_ms, lambda: take_over or has_ended(), admit, durability, receive)
    except BaseException:
        lock.release()
        raise


def _open_locked(
    directory: RunDirectory,
    lock: DriverLock,
    now_ms: int,
    may_be_copy: Callable[[], bool],
    admit: Callable[[], object],
    durability: Durability | None,
    receive: Callable[[Event], object] | None,
) -> OpenedRun:
    events: list[Event] = []
    receive = receive or events.append
    durability = durability or _created_durability(directory)
    _make_durable(directory, durability)
    reader = LogReader(directory.log)
    blobs = directory.blob_store(durability)
    named: dict[str, BlobReference] = {}
    created, inode = _read_all(reader, directory, _noting_blobs(named, receive))
    workflow_json = read_workflow(directory, created)
    blobs.require(named.values())
    taken_over = inode != directory.path.stat().st_ino
    if taken_over and not may_be_copy():
        raise RunCopiedError(directory.run_id)
    admit()
    repaired = _cut_tail(directory, reader.torn_tail, durability) if reader.torn_tail else None
    directory.make_subdirectories(durability)
    log = EventLog(
        directory.log,
        run_id=reader.run_id or directory.run_id,
        blobs=blobs,
        durability=durability,
        position=reader.position,
    )
    if repaired:
        try:
            receive(log.add("system", repaired, now_ms))
            log.flush()
        except BaseException:
            log.close()
            raise
    return OpenedRun(directory, lock, log, created, workflow_json, events, taken_over, repaired)


def _created_durability(directory: RunDirectory) -> Durability:
    first = directory.first_event()
    return first.payload.durability if first and isinstance(first.payload, RunCreated) else "strict"


def _make_durable(directory: RunDirectory, durability: Durability) -> None:
    """Make durable what an earlier driver may have written without living to sync it, before anyone acts on it."""
    if os.path.exists(directory.suspect_marker):
        _write_log_anew(directory)
    sync_file(directory.log, durability)
    for path in (directory.blobs, directory.attempts):
        if os.path.isdir(path):
            sync_directory(path, durability)
    sync_directory(directory.path, durability)
    sync_directory(directory.path.resolve().parent, durability)


def _write_log_anew(directory: RunDirectory) -> None:
    """Copy the log to a new file after a failed sync: its old pages may count as clean without being on disk."""
    copy = directory.path / "events.jsonl.new"
    _remove(copy)
    _copy_range(directory.log, copy, 0, "strict")
    rename(copy, directory.log, "strict")
    _remove(directory.suspect_marker)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error("remove", path, error) from error


def _copy_range(source: Path, target: Path, offset: int, durability: Durability) -> None:
    """Make `target` a durable copy of `source` from `offset` on; its name is durable once its directory is synced."""
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open_regular(source) as file:
                file.seek(offset)
                while chunk := file.read(_COPY_CHUNK):
                    write_all(descriptor, chunk)
            if durability == "strict":
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
    except FileExistsError:
        raise
    except OSError as error:
        target.unlink(missing_ok=True)
        raise storage_error("write", target, error) from error


def _read_all(reader: LogReader, directory: RunDirectory, receive: Callable[[Event], object]) -> tuple[RunCreated, int]:
    """Read the whole log; the event that created the run, and the inode its last driver saw."""
    events = reader.stream()
    first = next(events, None)
    if first is None or not isinstance(first.payload, RunCreated):
        raise CorruptRunError("the log does not begin with runCreated", file=str(directory.log), line=1, byte=0)
    receive(first)
    inode = first.payload.session.inode
    for event in events:
        if isinstance(event.payload, ResumeStarted):
            inode = event.payload.session.inode
        receive(event)
    return first.payload, inode


def _noting_blobs(named: dict[str, BlobReference], receive: Callable[[Event], object]) -> Callable[[Event], object]:
    def note(event: Event) -> None:
        for reference in references_in(event.payload):
            named[reference.output_hash] = reference
        receive(event)

    return note


def _cut_tail(directory: RunDirectory, tail: TornTail, durability: Durability) -> LogRepaired:
    """Keep the bytes of a torn write in a file of their own, then cut them off. In this order, each step durable."""
    kept_in = _keep_tail(directory, tail, durability)
    try:
        os.truncate(directory.log, tail.offset)
    except OSError as error:
        raise storage_error("cut the torn end off", directory.log, error) from error
    sync_file(directory.log, durability)
    return LogRepaired(cut_at=tail.offset, cut_bytes=tail.size, kept_in=kept_in)


def _keep_tail(directory: RunDirectory, tail: TornTail, durability: Durability) -> str:
    number = 1
    while True:
        name = f"events.cut-{number}"
        try:
            _copy_range(directory.log, directory.path / name, tail.offset, durability)
        except FileExistsError:
            number += 1
            continue
        sync_directory(directory.path, durability)
        return name
