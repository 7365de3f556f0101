from __future__ import annotations

from pathlib import Path

import pytest
from tests.storage.builders import make_run

from hooks.errors import NotFoundError
from hooks.storage.run_directory import RunDirectory, find_run, list_runs


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    """Four runs, the one first by name being the last in time; and what is no run."""
    runs = [("notes-2", "notes", 20), ("notes-1", "notes", 30), ("triage-1", "triage", 10), ("aaaa", "triage", 40)]
    for run_id, workflow_id, now_ms in runs:
        run = make_run(tmp_path, run_id, workflow_id=workflow_id, now_ms=now_ms)
        run.log.close()
        run.lock.release()
    for name in (".new-123", ".trash-1", "stray"):
        (tmp_path / name).mkdir()
    (tmp_path / ".new-123" / "events.jsonl").touch()
    (tmp_path / "file").touch()
    return tmp_path


def found(runs_dir: Path, word: str) -> str:
    return find_run(runs_dir, word).run_id


def names(runs: list[RunDirectory]) -> list[str]:
    return [run.run_id for run in runs]


def test_all_runs_are_listed_and_nothing_else(runs_dir: Path) -> None:
    assert names(list_runs(runs_dir)) == ["aaaa", "notes-1", "notes-2", "triage-1"]


def test_damaged_runs_are_listed_too(runs_dir: Path) -> None:
    (runs_dir / "notes-1" / "events.jsonl").write_bytes(b"\xff\0garbage")
    (runs_dir / "notes-2" / "events.jsonl").unlink()

    assert names(list_runs(runs_dir)) == ["aaaa", "notes-1", "notes-2", "triage-1"]
    assert [run.first_event() is None for run in list_runs(runs_dir)] == [False, True, True, False]


def test_a_runs_directory_that_does_not_exist_has_no_runs(tmp_path: Path) -> None:
    assert list_runs(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("word", "run_id"),
    [
        ("notes-1", "notes-1"),
        ("tria", "triage-1"),
        ("aaaa", "aaaa"),
        ("last", "aaaa"),
        ("last~0", "aaaa"),
        ("last~1", "notes-1"),
        ("last~3", "triage-1"),
        ("last:notes", "notes-1"),
        ("last:triage", "aaaa"),
    ],
)
def test_a_person_names_a_run_by_id_prefix_or_age(runs_dir: Path, word: str, run_id: str) -> None:
    assert found(runs_dir, word) == run_id


def test_a_person_names_a_run_by_its_directory(
    runs_dir: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert found(elsewhere, str(runs_dir / "notes-1")) == "notes-1"
    assert found(elsewhere, f"{runs_dir}/notes-1/") == "notes-1"
    monkeypatch.chdir(runs_dir / "notes-2")
    assert found(elsewhere, ".") == "notes-2"
    assert found(elsewhere, "../notes-1") == "notes-1"
    monkeypatch.chdir(runs_dir)
    assert found(elsewhere, "triage-1") == "triage-1"


@pytest.mark.parametrize(
    ("word", "message", "fix"),
    [
        ("note", "is the beginning of 2 runs: notes-1, notes-2", "Type more"),
        ("notes-3", "There is no run 'notes-3'", "Did you mean notes-"),
        ("aa", "There is no run 'aa'", "at least 4 characters"),
        ("", "There is no run ''", "at least 4 characters"),
        ("zzzzzz", "There is no run 'zzzzzz'", "hooks ls"),
        ("last~4", "has 4 runs", "hooks ls"),
        ("last:other", "has 0 runs of workflow 'other'", "hooks ls"),
        ("./nowhere", "is not a run directory", "hooks ls"),
        ("stray", "There is no run 'stray'", "hooks ls"),
        (".new-123", "There is no run '.new-123'", "hooks ls"),
    ],
)
def test_a_name_that_is_no_run_is_answered_with_what_there_is(
    runs_dir: Path, word: str, message: str, fix: str
) -> None:
    with pytest.raises(NotFoundError) as caught:
        find_run(runs_dir, word)

    assert message in caught.value.message
    assert fix in (caught.value.fix or "")


def test_many_candidates_are_cut_short(tmp_path: Path) -> None:
    for number in range(13):
        (tmp_path / f"many-{number:02}").mkdir()
        (tmp_path / f"many-{number:02}" / "events.jsonl").touch()

    with pytest.raises(NotFoundError, match=r"13 runs: many-00, .*many-09 and 3 more"):
        find_run(tmp_path, "many")


def test_a_damaged_run_has_an_age_too(runs_dir: Path) -> None:
    """Its log tells nothing, so its directory does: it was changed last of all."""
    (runs_dir / "triage-1" / "events.jsonl").write_bytes(b"")

    assert found(runs_dir, "last") == "triage-1"
