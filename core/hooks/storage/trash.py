"""Throwing a run away: renamed out of sight in one step, then deleted piece by piece.

The rename is what removes it: before, the run is whole; after, nobody takes what is left for a run. Whoever dies while
deleting leaves a directory that the next one deletes.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from hooks.errors import StorageError
from hooks.storage.durable_files import rename, storage_error
from hooks.storage.run_directory import RunDirectory

_TRASH = ".trash-"


def throw_away(directory: RunDirectory) -> None:
    """Remove a run whose lock the caller holds.

    Raises StorageError; the run is whole then, or out of sight and left to `empty_trash`.
    """
    trash = directory.path.parent / (_TRASH + secrets.token_hex(8))
    rename(directory.path, trash, "strict")
    _delete(trash)


def empty_trash(runs_dir: Path) -> None:
    """Delete what is left of runs that were thrown away by somebody who did not live to finish."""
    for path in runs_dir.glob(f"{_TRASH}*"):
        _delete(path)


def _delete(path: Path) -> None:
    # Two may delete the same leftovers at once: what one of them misses is not an error, what stays is.
    failures: list[OSError] = []
    shutil.rmtree(path, onerror=lambda _call, _path, info: failures.append(info[1]))  # type: ignore[arg-type]
    if os.path.lexists(path):
        raise storage_error("delete", path, failures[0]) if failures else StorageError(f"Cannot delete {path}.")
