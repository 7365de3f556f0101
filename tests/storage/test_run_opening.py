from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.storage.builders import (
    NOW,
    WORKFLOW_JSON,
    add_group,
    events_of,
    finished_run,
    make_run,
    output,
    resume_started,
    succeeded,
    types_of,
)

from hooks.errors import CorruptRunError, NotFoundError, RunCopiedError, RunLockedError
from hooks.events.envelope import Event
from hooks.events.payloads import LogRepaired
from hooks.storage.log_reader import LogReader
from hooks.storage.run_directory import RunDirectory
from hooks.storage.run_opening import OpenedRun, open_run
from hooks.storage.verify import verify_run


def reopen(directory: RunDirectory, *, take_over: bool = False) -> OpenedRun:
    return open_run(directory, role="driver", now_ms=NOW, take_over=take_over)


def close(run: OpenedRun) -> None:
    run.log.close()
    run.lock.release()


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_an_opened_run_goes_on_where_its_log_ends(tmp_path: Path) -> None:
    directory = finished_run(tmp_path, [succeeded("a")])
    run = reopen(directory)

    added = add_group(run.log, succeeded("b"))

    assert [event.seq for event in run.events + added] == [1, 2, 3, 4]
    assert (run.created, run.workflow_json) == (run.events[0].payload, WORKFLOW_JSON)
    assert (run.taken_over, run.repaired) == (False, None)
    assert events_of(directory) == run.events + added


def test_opening_a_sound_run_writes_nothing(tmp_path: Path) -> None:
    directory = finished_run(tmp_path, [succeeded("a")])
    before = contents(directory.path)
    run = open_run(directory, role="driver", now_ms=NOW, durability="strict")
    close(run)

    assert contents(directory.path) == before


def test_events_may_be_received_one_by_one(tmp_path: Path) -> None:
    directory = finished_run(tmp_path, [succeeded("a")])
    received: list[Event] = []
    run = open_run(directory, role="driver", now_ms=NOW, receive=received.append)

    assert ([event.seq for event in received], run.events) == ([1, 2, 3], [])


def test_a_run_cut_at_any_byte_opens_and_goes_on_or_is_refused_untouched(tmp_path: Path) -> None:
    """B32: whatever a torn write leaves, nothing committed is lost and the log is whole again."""
    directory = finished_run(tmp_path, [succeeded("a"), output("b")], [succeeded("c")])
    whole = directory.log.read_bytes()
    for size in range(len(whole)):
        directory.log.write_bytes(whole[:size])
        committed = whole[:size].count(b"\n")
        end = whole[:size].rfind(b"\n") + 1
        if committed == 0:
            with pytest.raises(CorruptRunError):
                reopen(directory)
            assert directory.log.read_bytes() == whole[:size]
            continue

        run = reopen(directory)
        add_group(run.log, succeeded("d"))
        close(run)

        events = events_of(directory)
        if size == end:
            assert run.repaired is None
            assert [event.seq for event in events] == list(range(1, committed + 2))
        else:
            kept = directory.path / "events.cut-1"
            assert run.repaired == LogRepaired(cut_at=end, cut_bytes=size - end, kept_in=kept.name)
            assert events[-2].payload == run.repaired
            assert kept.read_bytes() == whole[end:size]
            kept.unlink()


def test_every_cut_tail_is_kept_under_a_name_of_its_own(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)
    for tail in (b"first", b"second"):
        directory.log.write_bytes(directory.log.read_bytes() + tail)
        close(reopen(directory))

    assert (directory.path / "events.cut-1").read_bytes() == b"first"
    assert (directory.path / "events.cut-2").read_bytes() == b"second"
    assert types_of(events_of(directory)) == ["runCreated", "runStarted", "logRepaired", "logRepaired"]


def test_a_torn_group_keeps_its_good_lines_and_the_next_driver_goes_on_behind_them(tmp_path: Path) -> None:
    directory = finished_run(tmp_path, [succeeded(name) for name in "abc"])
    lines = directory.log.read_bytes().splitlines(keepends=True)
    directory.log.write_bytes(b"".join(lines[:3]) + lines[3][:40] + b"\0" * 200 + lines[3][240:] + lines[4])

    run = reopen(directory)
    add_group(run.log, succeeded("z"))

    assert [(event.seq, event.group) for event in events_of(directory)] == [(1, 1), (2, 1), (3, 3), (4, 4), (5, 5)]


def test_damage_is_refused_nothing_is_changed_and_the_lock_is_free_again(tmp_path: Path) -> None:
    directory = finished_run(tmp_path, [succeeded("a")], [succeeded("b")])
    damaged = directory.log.read_bytes().replace(b'"nodeId":"a"', b'"nodeId":"x"')
    directory.log.write_bytes(damaged)
    before = contents(directory.path)

    with pytest.raises(CorruptRunError, match="line 3, byte"):
        reopen(directory)

    assert contents(directory.path) == before
    assert directory.driver() is None


@pytest.mark.parametrize("content", [None, b"{}"])
def test_a_run_whose_workflow_is_not_the_one_it_began_with_is_refused(tmp_path: Path, content: bytes | None) -> None:
    directory = finished_run(tmp_path)
    directory.workflow.unlink() if content is None else directory.workflow.write_bytes(content)

    with pytest.raises(CorruptRunError, match=r"workflow\.json"):
        reopen(directory)


def test_a_run_without_a_log_is_damaged_and_gets_no_lock_file(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)
    directory.log.unlink()
    directory.lock.unlink()

    with pytest.raises(CorruptRunError, match="the log is missing"):
        reopen(directory)
    assert not directory.lock.exists()
    with pytest.raises(NotFoundError):
        reopen(RunDirectory(tmp_path / "nowhere"))


def test_a_driven_run_is_refused(tmp_path: Path) -> None:
    """B09, B28"""
    run = make_run(tmp_path)

    with pytest.raises(RunLockedError):
        reopen(run.directory)


def test_a_copy_is_refused_untouched_until_it_is_taken_over(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)
    copy = RunDirectory(tmp_path / "copy")
    shutil.copytree(directory.path, copy.path)
    copy.log.write_bytes(copy.log.read_bytes() + b"torn")
    before = contents(copy.path)

    with pytest.raises(RunCopiedError):
        reopen(copy)
    assert contents(copy.path) == before

    run = reopen(copy, take_over=True)
    assert run.taken_over
    add_group(run.log, resume_started(copy.path.stat().st_ino))
    close(run)

    run = reopen(copy)
    assert not run.taken_over
    assert verify_run(copy) == []


def test_a_moved_run_is_still_itself(tmp_path: Path) -> None:
    directory = finished_run(tmp_path / "here", [output("x" * 9000)])
    moved = RunDirectory(tmp_path / "there")
    directory.path.rename(moved.path)

    run = reopen(moved)
    add_group(run.log, output("y" * 9000))

    assert not run.taken_over
    assert verify_run(moved) == []


def test_a_log_with_a_suspicion_on_it_is_written_anew_before_anyone_acts(tmp_path: Path) -> None:
    """A failed sync marks pages clean that may not be on disk; only a new file is sure to be written."""
    directory = finished_run(tmp_path, [succeeded("a")])
    before, inode = directory.log.read_bytes(), directory.log.stat().st_ino
    directory.suspect_marker.touch()
    (directory.path / "events.jsonl.new").write_text("left by a driver that died doing this")

    run = open_run(directory, role="driver", now_ms=NOW, durability="strict")

    assert directory.log.read_bytes() == before
    assert directory.log.stat().st_ino != inode
    assert not directory.suspect_marker.exists()
    add_group(run.log, succeeded("b"))
    assert len(LogReader(directory.log).read_new()) == 4


def test_directories_that_an_archive_dropped_are_made_again(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)
    for empty in (directory.blobs, directory.inbox, directory.attempts):
        empty.rmdir()

    run = reopen(directory)
    add_group(run.log, output("x" * 9000))

    assert verify_run(directory) == []
