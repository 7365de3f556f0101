"""Which runs may be thrown away, and doing so.

Only what nobody needs to move any more: a run that has ended, with nothing in doubt. A run that is live, unfinished,
waiting, in doubt or damaged stays, and so does one that cannot be read. It is looked at once more under its lock, since
somebody may have reopened it meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hooks.errors import HooksError, RunLockedError
from hooks.kernel.status import Status
from hooks.runtime.reading import read_run
from hooks.storage.locks import DriverLock
from hooks.storage.run_creation import remove_abandoned
from hooks.storage.run_directory import RunDirectory, list_runs
from hooks.storage.trash import empty_trash, throw_away


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that may be thrown away; `ended_at` in ms."""

    directory: RunDirectory
    status: Status
    ended_at: int


def finished_runs(runs_dir: Path, *, ended_before: int | None = None, keep: int = 0) -> list[FinishedRun]:
    """The runs that may be thrown away, the oldest first: those that ended before a time (ms), less the newest `keep`
    of all that have ended."""
    found = sorted(_finished(runs_dir), key=lambda run: (run.ended_at, run.directory.run_id))
    beyond = found[: max(0, len(found) - keep)]
    return [run for run in beyond if ended_before is None or run.ended_at < ended_before]


def remove_run(run: FinishedRun) -> bool:
    """Throw a run away, unless it is live or somebody has reopened it since: then False. Raises StorageError."""
    try:
        with DriverLock.acquire(run.directory.lock, role="driver", run_id=run.directory.run_id):
            if _as_finished(run.directory) is None:
                return False
            throw_away(run.directory)
    except RunLockedError:
        return False
    return True


def remove_leftovers(runs_dir: Path) -> None:
    """Delete what died while being made or thrown away. Raises StorageError."""
    remove_abandoned(runs_dir)
    empty_trash(runs_dir)


def _finished(runs_dir: Path) -> Iterator[FinishedRun]:
    for directory in list_runs(runs_dir):
        # A link is somebody's way to a run that lies elsewhere.
        if not os.path.islink(directory.path) and directory.driver() is None:
            run = _as_finished(directory)
            if run is not None:
                yield run


def _as_finished(directory: RunDirectory) -> FinishedRun | None:
    """The run as one that may be thrown away, or None; what cannot be read is nothing to judge."""
    try:
        view = read_run(directory)
    except HooksError:
        return None
    state = view.state
    if state.ended is None or state.ended_at is None or state.in_doubt:
        return None
    return FinishedRun(directory, view.status.status, state.ended_at)
