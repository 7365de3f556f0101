"""How a run comes about: whole and durable, or not at all.

A run is built under a name that nobody takes for a run, with its lock held, and renamed onto its id when all of it is
durable. rename(2) fails on a directory that is not empty, so it decides between two who want the same id.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hooks.errors import CorruptRunError, RunIdTakenError, RunLockedError, StorageError
from hooks.events.envelope import Actor, Event
from hooks.events.payloads import Payload
from hooks.storage.durable_files import (
    GO_ON,
    Durability,
    make_directories,
    storage_error,
    sync_directory,
    write_new_file,
)
from hooks.storage.event_log import EventLog
from hooks.storage.locks import DriverLock, LockRole
from hooks.storage.log_reader import Position
from hooks.storage.run_directory import RunDirectory

FirstPayloads: TypeAlias = Callable[[int], Sequence[tuple[Actor, Payload]]]
"""What a run begins with, given the inode of its directory."""

_NEW = ".new-"


@dataclass(frozen=True, slots=True)
class CreatedRun:
    """A run that is durable and locked by us; `events` are those it began with."""

    directory: RunDirectory
    lock: DriverLock
    log: EventLog
    events: list[Event]


def create_run(
    runs_dir: Path,
    run_id: str,
    workflow_json: bytes,
    first_payloads: FirstPayloads,
    *,
    now_ms: int,
    durability: Durability,
    role: LockRole = "driver",
) -> CreatedRun:
    """Make the run `run_id`, with its first events, whole and durable when this returns.

    `first_payloads` is called with the inode of the run directory, which the first event records. Raises
    RunIdTakenError if there is such a run, StorageError if the disk fails. Nothing of the run is there then, unless the
    very last sync failed, that of its name.
    """
    try:
        return _create(runs_dir, run_id, workflow_json, first_payloads, now_ms, durability, role)
    except StorageError as error:
        # There is nothing to go on with.
        error.fix = error.fix and error.fix.replace(GO_ON, ", then start it again: nothing was started.")
        raise


def _create(
    runs_dir: Path,
    run_id: str,
    workflow_json: bytes,
    first_payloads: FirstPayloads,
    now_ms: int,
    durability: Durability,
    role: LockRole,
) -> CreatedRun:
    make_directories(runs_dir, durability, mode=0o777)
    remove_abandoned(runs_dir)
    building, lock = _begin(runs_dir, run_id, role)
    target = RunDirectory(runs_dir / run_id)
    try:
        events, position = _build(building, run_id, workflow_json, first_payloads, now_ms, durability)
        _claim(building.path, target.path)
        sync_directory(runs_dir, durability)
        # Opened again by the name that lasts: blobs and messages go by path.
        log = EventLog(
            target.log,
            run_id=run_id,
            blobs=target.blob_store(durability),
            durability=durability,
            position=position,
        )
    except BaseException:
        # After the rename nothing has the name it was built under, and nothing is removed.
        shutil.rmtree(building.path, ignore_errors=True)
        lock.release()
        raise
    return CreatedRun(target, lock, log, events)


def _begin(runs_dir: Path, run_id: str, role: LockRole) -> tuple[RunDirectory, DriverLock]:
    """A new directory with its lock held. Another creator may tidy it away before we hold the lock: then once more."""
    for _ in range(100):
        building = RunDirectory(runs_dir / (_NEW + secrets.token_hex(8)))
        try:
            building.path.mkdir(mode=0o700)
        except OSError as error:
            raise storage_error("make the directory", building.path, error) from error
        try:
            return building, DriverLock.acquire(building.lock, role=role, run_id=run_id)
        except RunLockedError:
            continue
        except StorageError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
    raise StorageError(f"Cannot make a run in {runs_dir}: new directories there disappear.")


def _build(
    building: RunDirectory,
    run_id: str,
    workflow_json: bytes,
    first_payloads: FirstPayloads,
    now_ms: int,
    durability: Durability,
) -> tuple[list[Event], Position]:
    # Three names, made durable by the one sync of their parent below.
    building.make_subdirectories("relaxed")
    write_new_file(building.workflow, workflow_json, durability)
    blobs = building.blob_store(durability)
    with EventLog(building.log, run_id=run_id, blobs=blobs, durability=durability) as log:
        inode = building.path.stat().st_ino
        events = [log.add(actor, payload, now_ms) for actor, payload in first_payloads(inode)]
        log.flush()
        sync_directory(building.path, durability)
        return events, log.position


def _claim(building: Path, target: Path) -> None:
    try:
        os.rename(building, target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise RunIdTakenError(target.name) from error
        raise storage_error("rename a new run to", target, error) from error


def remove_abandoned(runs_dir: Path) -> None:
    """Remove what creators left that died before their run had a name: each `.new-*` whose lock is free.

    Taking the lock first makes this safe beside a creator at work: one that loses its directory begins again.
    """
    for path in runs_dir.glob(f"{_NEW}*"):
        try:
            with DriverLock.acquire(path / "driver.lock", role="driver", run_id=path.name):
                shutil.rmtree(path, ignore_errors=True)
        except (RunLockedError, StorageError, CorruptRunError):
            continue  # in use, or just renamed, or not ours to remove
