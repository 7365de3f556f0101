from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.storage.builders import RUN, WORKFLOW_JSON, add_group, events_of, finished_run, make_run, output, types_of

from hooks.errors import RunIdTakenError, RunLockedError
from hooks.storage.locks import DriverLock, probe
from hooks.storage.run_directory import list_runs
from hooks.storage.verify import verify_run

ROOT = Path(__file__).parents[2]


def test_a_new_run_is_whole_locked_and_private(tmp_path: Path) -> None:
    run = make_run(tmp_path / "state" / "runs", durability="strict")
    path = run.directory.path

    assert {entry.name for entry in path.iterdir()} == {
        "attempts", "blobs", "driver.lock", "events.jsonl", "inbox", "workflow.json",
    }  # fmt: skip
    assert events_of(run.directory) == run.events
    assert types_of(run.events) == ["runCreated", "runStarted"]
    assert run.events[0].payload.session.inode == path.stat().st_ino  # type: ignore[attr-defined]
    assert run.directory.workflow.read_bytes() == WORKFLOW_JSON
    assert run.directory.driver() is not None
    assert path.stat().st_mode & 0o777 == 0o700
    assert run.directory.log.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [RUN]


def test_the_log_of_a_new_run_goes_on_at_its_lasting_place(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    add_group(run.log, output("x" * 9000))

    assert [entry.name for entry in tmp_path.iterdir()] == [RUN]
    assert verify_run(run.directory) == []


def test_a_taken_id_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    first = finished_run(tmp_path)
    before = first.log.read_bytes()

    with pytest.raises(RunIdTakenError):
        make_run(tmp_path)

    assert [entry.name for entry in tmp_path.iterdir()] == [RUN]
    assert first.log.read_bytes() == before


def test_a_file_with_the_name_of_the_run_counts_as_taken(tmp_path: Path) -> None:
    (tmp_path / RUN).write_text("mine")

    with pytest.raises(RunIdTakenError):
        make_run(tmp_path)

    assert (tmp_path / RUN).read_text() == "mine"


def test_an_empty_directory_with_the_name_of_the_run_is_used(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir()

    assert verify_run(make_run(tmp_path).directory) == []


def test_what_a_creator_left_that_died_is_removed_by_the_next(tmp_path: Path) -> None:
    for name, content in [("driver.lock", b""), ("workflow.json", b"{}")]:
        (tmp_path / f".new-{name}").mkdir()
        (tmp_path / f".new-{name}" / name).write_bytes(content)
    busy = tmp_path / ".new-busy"
    busy.mkdir()

    with DriverLock.acquire(busy / "driver.lock", role="driver", run_id=RUN):
        make_run(tmp_path)

    assert {entry.name for entry in tmp_path.iterdir()} == {RUN, ".new-busy"}


CREATE = """
import sys
from pathlib import Path
from hooks.errors import RunIdTakenError
from tests.storage.builders import make_run
sys.stdin.read()
try:
    for number in range(int(sys.argv[3])):
        make_run(Path(sys.argv[1]), f"{sys.argv[2]}{number}")
except RunIdTakenError:
    sys.exit(2)
"""


def creators(runs_dir: Path, prefixes: list[str], runs: int) -> list[int]:
    """The exit codes of processes that all create runs at the same moment."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CREATE, str(runs_dir), prefix, str(runs)], cwd=ROOT, stdin=subprocess.PIPE
        )
        for prefix in prefixes
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    return [process.wait() for process in processes]


def test_of_50_who_create_one_run_one_wins_and_nothing_is_left_of_the_others(tmp_path: Path) -> None:
    codes = creators(tmp_path, ["same"] * 50, 1)

    assert sorted(codes) == [0] + [2] * 49
    assert [entry.name for entry in tmp_path.iterdir()] == ["same0"]
    assert [verify_run(run) for run in list_runs(tmp_path)] == [[]]


def test_creators_in_the_same_moment_do_not_disturb_each_other(tmp_path: Path) -> None:
    """B28: each of them also tidies up what it takes for abandoned."""
    codes = creators(tmp_path, ["a", "b", "c", "d"], 25)

    assert codes == [0] * 4
    assert len(list_runs(tmp_path)) == 100
    assert [run for run in list_runs(tmp_path) if verify_run(run)] == []


def test_the_lock_of_a_new_run_is_held_from_its_first_moment(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    with pytest.raises(RunLockedError):
        DriverLock.acquire(run.directory.lock, role="driver", run_id=RUN)
    run.lock.release()
    assert probe(run.directory.lock) is None
