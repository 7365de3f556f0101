"""What stands in a run under the name of a file and is none is damage: told at once, never waited for or followed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.storage.builders import NOW, finished_run, run_created
from tests.storage.test_verify import effect, run_with_effect

from hooks.errors import CorruptRunError
from hooks.storage.inbox import BadRequest, requests_in
from hooks.storage.locks import DriverLock, probe
from hooks.storage.log_end import seems_finished
from hooks.storage.log_reader import LogReader
from hooks.storage.run_creation import remove_abandoned
from hooks.storage.run_directory import find_run, list_runs, read_workflow
from hooks.storage.run_opening import open_run
from hooks.storage.verify import verify_run

THINGS: list[tuple[Callable[[Path], object], str]] = [
    (os.mkfifo, "it is a FIFO, not a file"),
    (Path.mkdir, "it is a directory, not a file"),
    (lambda path: path.symlink_to("/dev/zero"), "it is a symbolic link, not a file"),
]
thing = pytest.mark.parametrize(("make", "said"), THINGS)


def replace(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink(missing_ok=True)
    make(path)


@thing
def test_a_log_that_is_no_file_is_damage(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    directory = finished_run(tmp_path)
    replace(directory.log, make)

    for read in (lambda: LogReader(directory.log).read_new(), directory.logged_run_id):
        with pytest.raises(CorruptRunError, match=said):
            read()
    with pytest.raises(CorruptRunError, match=said):
        open_run(directory, role="driver", now_ms=NOW, durability="strict")
    assert [str(finding) for finding in verify_run(directory)] == [f"{directory.log}: {said}"]
    assert directory.first_event() is None
    assert not seems_finished(directory)
    assert [run.path for run in list_runs(tmp_path)] == [directory.path]
    assert find_run(tmp_path, "demo").path == directory.path


@thing
def test_a_lock_that_is_no_file_is_damage(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    directory = finished_run(tmp_path)
    replace(directory.lock, make)

    with pytest.raises(CorruptRunError, match=said):
        probe(directory.lock)
    with pytest.raises(CorruptRunError, match=said):
        DriverLock.acquire(directory.lock, role="driver", run_id="demo-run")


@thing
def test_an_abandoned_run_with_a_lock_that_is_no_file_stays(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    (tmp_path / ".new-1").mkdir()
    make(tmp_path / ".new-1" / "driver.lock")

    remove_abandoned(tmp_path)
    assert (tmp_path / ".new-1").exists()


@thing
def test_a_workflow_that_is_no_file_is_damage(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    directory = finished_run(tmp_path)
    replace(directory.workflow, make)

    with pytest.raises(CorruptRunError, match=said):
        read_workflow(directory, run_created())


@thing
def test_a_blob_and_a_sidecar_that_are_no_files_are_damage(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    directory, sidecar = run_with_effect(tmp_path, effect())
    (blob,) = directory.blobs.iterdir()
    replace(blob, make)
    replace(sidecar, make)

    assert [str(finding) for finding in verify_run(directory)] == [f"{blob}: {said}", f"{sidecar}: {said}"]


@thing
def test_a_request_that_is_no_file_is_named(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    make(tmp_path / "1.json")

    assert list(requests_in(tmp_path)) == [(tmp_path / "1.json", BadRequest(tmp_path / "1.json", said))]


@pytest.mark.parametrize("name", ["blobs", "attempts", "hook-inputs"])
def test_a_directory_of_a_run_that_leads_elsewhere_is_damage(tmp_path: Path, name: str) -> None:
    directory, _ = run_with_effect(tmp_path, effect())
    place = directory.path / name
    place.mkdir(exist_ok=True)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")

    assert [str(finding) for finding in verify_run(directory)] == [f"{place}: it is a symbolic link, not a directory"]


def test_the_directory_of_an_attempt_that_leads_elsewhere_is_damage(tmp_path: Path) -> None:
    directory, sidecar = run_with_effect(tmp_path, effect())
    sidecar.parent.rename(tmp_path / "elsewhere")
    sidecar.parent.symlink_to(tmp_path / "elsewhere")

    assert [str(finding) for finding in verify_run(directory)] == [
        f"{sidecar.parent}: it is a symbolic link, not a directory"
    ]
