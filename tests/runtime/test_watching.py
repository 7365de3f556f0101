"""Watching a run that is being written: everything is seen once, also what was taken back."""

from __future__ import annotations

from pathlib import Path

from hooks.runtime.watching import RunsWatch, RunWatch, watch_run
from hooks.storage.run_directory import RunDirectory

RECORDED = Path(__file__).parents[2] / "sample_runs/release_notes/recorded/release-notes-sample"


def a_run(runs_dir: Path, lines: int) -> tuple[RunDirectory, list[bytes]]:
    """A run of which only the first `lines` events are written, and the lines that are still to come."""
    directory = RunDirectory(runs_dir / RECORDED.name)
    directory.path.mkdir(parents=True)
    directory.workflow.write_bytes((RECORDED / "workflow.json").read_bytes())
    whole = (RECORDED / "events.jsonl").read_bytes().splitlines(keepends=True)
    directory.log.write_bytes(b"".join(whole[:lines]))
    return directory, whole[lines:]


def append(directory: RunDirectory, data: bytes) -> None:
    with directory.log.open("ab") as log:
        log.write(data)


def test_each_reading_gives_what_came_since_the_last(tmp_path: Path) -> None:
    directory, coming = a_run(tmp_path, 3)
    watch = RunWatch(directory)

    assert [event.seq for event in watch.read_new()] == [1, 2, 3]
    assert list(watch.read_new()) == []
    append(directory, coming[0] + coming[1][:20])
    assert [event.seq for event in watch.read_new()] == [4]
    append(directory, coming[1][20:])
    assert [event.seq for event in watch.read_new()] == [5]
    append(directory, b"".join(coming[2:]))
    assert len(list(watch.read_new())) == len(coming) - 2
    assert watch.status().status == "succeeded"


def test_what_the_writer_took_back_is_forgotten(tmp_path: Path) -> None:
    """A full disk: the last write is cut off again, and another takes its place."""
    directory, coming = a_run(tmp_path, 4)
    watch = RunWatch(directory)
    before = directory.log.read_bytes()
    last_group = before.splitlines(keepends=True)[-1]
    list(watch.read_new())

    directory.log.write_bytes(before[: -len(last_group)])
    list(watch.read_new())
    append(directory, last_group + b"".join(coming))
    list(watch.read_new())

    assert watch.status().status == "succeeded"


def test_a_run_that_nobody_moves_is_watched_to_where_it_stands(tmp_path: Path) -> None:
    directory, _ = a_run(tmp_path, 7)

    assert [event.seq for event in watch_run(directory)] == [1, 2, 3, 4, 5, 6, 7]


def test_of_a_directory_of_runs_only_what_is_new_is_seen(tmp_path: Path) -> None:
    old, coming = a_run(tmp_path / "runs", 3)
    watch = RunsWatch(tmp_path / "runs")
    assert watch.grown() == []

    append(old, coming[0])
    (grown,) = watch.grown()

    assert [event.seq for event in watch.read_new(grown)] == [4]
    assert watch.grown() == []
