from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.storage.builders import NOW, RUN, add_group, events_of, make_run, output, succeeded

from hooks.errors import JsonBorderError, StorageError
from hooks.storage.event_log import EventLog


def test_events_of_one_flush_share_a_group(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    added = add_group(run.log, succeeded("a"), succeeded("b")) + add_group(run.log, succeeded("c"))

    assert [(event.seq, event.group) for event in run.events + added] == [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5)]


def test_nothing_is_written_before_the_flush(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    before = run.directory.log.read_bytes()
    run.log.add("scheduler", succeeded("a"), NOW)

    assert (run.log.pending, run.log.seq, run.directory.log.read_bytes()) == (1, 3, before)
    run.log.flush()
    assert (run.log.pending, run.log.position.seq) == (0, 3)
    assert run.log.position.hash == run.log.last_hash
    assert run.log.position.offset == run.directory.log.stat().st_size


def test_a_flush_of_nothing_writes_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    before = run.directory.log.stat()
    run.log.flush()

    assert run.directory.log.stat() == before


def test_time_does_not_run_backwards(tmp_path: Path) -> None:
    run = make_run(tmp_path, now_ms=NOW)

    [earlier] = add_group(run.log, succeeded("a"), now_ms=NOW - 500)
    [later] = add_group(run.log, succeeded("b"), now_ms=NOW + 500)

    assert (earlier.timestamp, later.timestamp) == (NOW, NOW + 500)


def test_an_event_is_returned_as_a_reader_will_see_it(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    added = add_group(run.log, output("x" * 100_000), output({"outputHash": "mine"}), output("small"))

    assert added == events_of(run.directory)[2:]
    large: Any = added[0].payload
    assert large.output["outputBytes"] == 100_000
    assert run.directory.log.stat().st_size < 10_000


@pytest.mark.parametrize("value", [2**70, "\ud800", object()])
def test_what_json_cannot_carry_is_refused_and_leaves_the_log_as_it_was(tmp_path: Path, value: object) -> None:
    run = make_run(tmp_path)

    with pytest.raises(JsonBorderError):
        run.log.add("scheduler", output(value), NOW)

    assert [event.seq for event in add_group(run.log, succeeded("a"))] == [3]


def test_a_log_whose_blob_could_not_be_kept_takes_nothing_more(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.directory.blobs.rmdir()

    with pytest.raises(StorageError, match="blobs"):
        run.log.add("scheduler", output("x" * 9000), NOW)
    with pytest.raises(StorageError, match="takes nothing more"):
        run.log.add("scheduler", succeeded("a"), NOW)


def test_a_closed_log_takes_nothing_and_drops_what_was_pending(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.log.add("scheduler", succeeded("a"), NOW)
    run.log.close()
    run.log.close()

    with pytest.raises(StorageError):
        run.log.flush()
    assert len(events_of(run.directory)) == 2


def test_a_log_that_grew_since_it_was_read_is_not_written_to(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    position = run.log.position
    add_group(run.log, succeeded("a"))

    with pytest.raises(StorageError, match="something else is writing"):
        EventLog(
            run.directory.log,
            run_id=RUN,
            blobs=run.directory.blob_store(),
            durability="strict",
            position=position,
        )


def test_a_new_log_is_never_made_over_an_old_one(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    with pytest.raises(StorageError, match="exists"):
        EventLog(run.directory.log, run_id=RUN, blobs=run.directory.blob_store(), durability="strict")


def test_a_line_longer_than_a_reader_takes_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    with pytest.raises(JsonBorderError, match="more than a line"):
        run.log.add("scheduler", succeeded("n" * 33 * 1024 * 1024), NOW)
