"""Throwing runs away."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.storage.builders import make_run

from hooks.errors import StorageError
from hooks.storage.run_directory import RunDirectory, list_runs
from hooks.storage.trash import empty_trash, throw_away


def test_a_run_thrown_away_leaves_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    throw_away(run.directory)
    run.lock.release()

    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_deleted_is_out_of_sight_and_deleted_the_next_time(tmp_path: Path) -> None:
    """As if whoever threw it away had died in the middle."""
    run = make_run(tmp_path)
    run.lock.release()
    run.directory.path.rename(tmp_path / ".trash-0")

    assert list_runs(tmp_path) == []
    empty_trash(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="Cannot rename"):
        throw_away(RunDirectory(tmp_path / "gone"))
