from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.storage.builders import NOW, RUN, add_group, events_of, finished_run, make_run, output, succeeded

from hooks.errors import CorruptRunError
from hooks.events.envelope import encode
from hooks.events.payloads import RunStarted
from hooks.storage.log_reader import LogReader, Position, TornTail, position_holds, read_log
from hooks.storage.run_opening import open_run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two groups behind the first: one of three events, one of one."""
    run = finished_run(tmp_path, [succeeded("a"), output({"n": 1}), succeeded("b")], [succeeded("c")])
    return run.log


def lines(log: Path) -> list[bytes]:
    return log.read_bytes().splitlines(keepends=True)


def read(log: Path) -> tuple[int, TornTail | None]:
    """How many events are committed, and what is behind them."""
    reader = LogReader(log)
    return len(reader.read_new()), reader.torn_tail


def test_every_event_comes_back_as_it_was_added(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    added = run.events + add_group(run.log, succeeded("a"), output({"n": [1, None, "ä"]}))

    assert list(read_log(run.directory.log)) == added


@pytest.mark.parametrize(
    "text", ["a\nb", "a\u2028b\u2029c", "nul \0 byte", "lone \r return", "tab\tand \x1b[31m", '"}\n{"']
)
def test_what_breaks_lines_elsewhere_stays_inside_a_value(tmp_path: Path, text: str) -> None:
    """B31"""
    run = finished_run(tmp_path, [output(text), succeeded("a")])

    assert len(run.log.read_bytes().split(b"\n")) == 5
    assert events_of(run)[2].payload == output(text)


def test_a_log_cut_anywhere_has_the_whole_lines_before_the_cut(log: Path) -> None:
    """B32: each prefix, byte by byte."""
    whole = log.read_bytes()
    for size in range(len(whole)):
        log.write_bytes(whole[:size])
        committed = whole[:size].count(b"\n")
        end = whole[:size].rfind(b"\n") + 1

        assert read(log) == (committed, TornTail(end, size - end) if size > end else None)


def test_a_flipped_bit_anywhere_is_damage(log: Path) -> None:
    """B32"""
    whole = log.read_bytes()
    for index in range(len(whole)):
        for bit in (0x01, 0x80):
            damaged = bytearray(whole)
            damaged[index] ^= bit
            log.write_bytes(damaged)
            with pytest.raises(CorruptRunError):
                read(log)
            assert log.read_bytes() == damaged


@pytest.mark.parametrize("keep", [0, 1, 100, 300])
def test_a_group_whose_end_is_zero_bytes_is_a_torn_write(log: Path, keep: int) -> None:
    whole = log.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    log.write_bytes(whole[: start + keep] + b"\0" * (len(whole) - start - keep))

    assert read(log) == (5, TornTail(start, len(whole) - start))


def test_a_group_with_zero_bytes_in_its_middle_keeps_its_good_first_lines(tmp_path: Path) -> None:
    run = finished_run(tmp_path, [succeeded(name) for name in "abcdef"])
    good = lines(run.log)
    torn = good[4][:50] + b"\0" * 60 + good[4][110:]
    run.log.write_bytes(b"".join(good[:4]) + torn + b"".join(good[5:]))

    committed, tail = read(run.log)

    assert (committed, tail and tail.offset) == (4, len(b"".join(good[:4])))


def test_a_group_whose_first_sector_is_zero_bytes_is_a_torn_write(tmp_path: Path) -> None:
    run = finished_run(tmp_path, [succeeded("a")], [succeeded(name) for name in "bcdef"])
    good = lines(run.log)
    group = b"".join(good[3:])
    run.log.write_bytes(b"".join(good[:3]) + b"\0" * 512 + group[512:])

    assert read(run.log) == (3, TornTail(len(b"".join(good[:3])), len(group)))


def test_zero_bytes_before_a_later_group_are_damage(log: Path) -> None:
    good = lines(log)
    good[3] = good[3][:50] + b"\0" * 60 + good[3][110:]
    log.write_bytes(b"".join(good))

    with pytest.raises(CorruptRunError, match="line 6 belongs to a later write") as caught:
        read(log)

    assert (caught.value.file, caught.value.line, caught.value.byte) == (str(log), 4, len(b"".join(good[:3])))


def test_a_line_feed_lost_between_two_groups_is_damage(log: Path) -> None:
    good = lines(log)
    log.write_bytes(b"".join(good[:4]) + good[4][:-1] + b"\0" + good[5])

    with pytest.raises(CorruptRunError):
        read(log)


def remove(good: list[bytes]) -> None:
    del good[1]


def swap(good: list[bytes]) -> None:
    good[2], good[3] = good[3], good[2]


def repeat(good: list[bytes]) -> None:
    good.insert(2, good[1])


def array(good: list[bytes]) -> None:
    good[2] = b'["no", "event"]\n'


def empty(good: list[bytes]) -> None:
    good[2] = b"\n"


def last_is_no_event(good: list[bytes]) -> None:
    good.append(b"[1]\n")


@pytest.mark.parametrize("change", [remove, swap, repeat, array, empty, last_is_no_event])
def test_lines_that_do_not_follow_each_other_are_damage(log: Path, change: Callable[[list[bytes]], None]) -> None:
    """B32"""
    good = lines(log)
    change(good)
    log.write_bytes(b"".join(good))

    with pytest.raises(CorruptRunError):
        read(log)


def test_a_line_of_another_run_is_damage(log: Path) -> None:
    reader = LogReader(log)
    last = reader.read_new()[-1]
    line, _ = encode(
        type(last)(last.seq + 1, NOW, "scheduler", RunStarted(), last.seq + 1), "other", reader.position.hash, {}
    )
    log.write_bytes(log.read_bytes() + line)

    with pytest.raises(CorruptRunError, match="an event of run other stands in the log of run demo-run"):
        read(log)


def test_a_line_that_claims_a_group_that_cannot_be_is_damage(log: Path) -> None:
    reader = LogReader(log)
    last = reader.read_new()[-1]
    line, _ = encode(type(last)(last.seq + 1, NOW, "scheduler", RunStarted(), 2), RUN, reader.position.hash, {})
    log.write_bytes(log.read_bytes() + line)

    with pytest.raises(CorruptRunError, match="group 2"):
        read(log)


def test_a_missing_log_is_damage(tmp_path: Path) -> None:
    with pytest.raises(CorruptRunError, match="missing"):
        read(tmp_path / "events.jsonl")


def test_reading_goes_on_where_it_ended(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    reader = LogReader(run.directory.log)
    assert reader.read_new() == run.events
    assert reader.read_new() == []

    added = add_group(run.log, succeeded("a"))

    assert reader.read_new() == added


def test_half_a_line_is_waited_for(log: Path) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole[:-10])
    reader = LogReader(log)
    assert [event.seq for event in reader.read_new()] == [1, 2, 3, 4, 5]

    log.write_bytes(whole)

    assert [event.seq for event in reader.read_new()] == [6]
    assert reader.torn_tail is None


@pytest.mark.parametrize("size", [1, 300])
def test_a_group_that_the_writer_took_back_is_replaced_by_what_follows(tmp_path: Path, size: int) -> None:
    """The disk was full; what the next driver writes is shorter or longer than what was seen before."""
    run = make_run(tmp_path)
    kept = run.directory.log.read_bytes()
    add_group(run.log, succeeded("a"), succeeded("b"))
    run.log.close()
    run.lock.release()
    reader = LogReader(run.directory.log)
    assert [event.seq for event in reader.read_new()] == [1, 2, 3, 4]

    run.directory.log.write_bytes(kept)
    next_run = open_run(run.directory, role="driver", now_ms=NOW)
    added = add_group(next_run.log, succeeded("c" * size))

    assert reader.read_new() == added
    assert reader.read_new() == []


def test_a_log_that_was_replaced_by_another_is_refused(tmp_path: Path) -> None:
    run, other = finished_run(tmp_path), finished_run(tmp_path, [succeeded("a")], run_id="other")
    reader = LogReader(run.log)
    reader.read_new()
    reader = LogReader(run.log, position=reader.position)
    run.log.write_bytes(other.log.read_bytes())

    with pytest.raises(CorruptRunError, match="no longer the one"):
        reader.read_new()


def test_a_position_holds_only_in_the_log_it_was_taken_from(tmp_path: Path) -> None:
    run, other = finished_run(tmp_path), finished_run(tmp_path, run_id="other")
    reader = LogReader(run.log)
    reader.read_new()

    assert position_holds(run.log, reader.position)
    assert not position_holds(other.log, reader.position)
    assert not position_holds(run.log, reader.position._replace(offset=10))


def test_reading_from_a_position_yields_what_follows(log: Path) -> None:
    reader = LogReader(log)
    stream = reader.stream()
    first = [next(stream) for _ in range(3)]
    position: Position = reader.position

    assert [event.seq for event in first] == [1, 2, 3]
    assert [event.seq for event in LogReader(log, position=position).read_new()] == [4, 5, 6]


def test_a_line_of_50_mb_is_read_in_linear_time(tmp_path: Path) -> None:
    """B36: a text that has no place in a blob may be long; this one stands in its line twice."""
    run = finished_run(tmp_path, [succeeded("n" * 25_000_000)], [succeeded("b")])

    assert [event.seq for event in events_of(run)] == [1, 2, 3, 4]


WRITER = """
import sys
from pathlib import Path
from tests.storage.builders import *
run = make_run(Path(sys.argv[1]))
for size in [1, 7, 2, 40, 3] * 60:
    add_group(run.log, *[output("x" * 300 * size, f"n{i}") for i in range(size)])
"""


def test_a_reader_sees_every_event_once_and_in_order_while_a_driver_writes(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "first")
    path = tmp_path / RUN / run.log.name
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT)
    while not path.exists():
        assert writer.poll() is None
    reader = LogReader(path)
    seqs: list[int] = []
    while writer.poll() is None:
        seqs += [event.seq for event in reader.stream()]
    seqs += [event.seq for event in reader.stream()]

    assert writer.returncode == 0
    assert seqs == list(range(1, 2 + 53 * 60 + 1))
