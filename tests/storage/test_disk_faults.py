"""What the log does when the disk fails: real full disks, and real system calls that fail under strace."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.builders import NOW, RUN, add_group, events_of, finished_run, make_run, output, succeeded

from hooks.errors import StorageError
from hooks.storage.event_log import EventLog
from hooks.storage.run_directory import RunDirectory
from hooks.storage.run_opening import open_run
from hooks.storage.verify import verify_run

ROOT = Path(__file__).parents[2]
HAS_STRACE = shutil.which("strace") is not None
needs_strace = pytest.mark.skipif(not HAS_STRACE, reason="strace is not installed: system calls cannot be made to fail")

# Opens a run, adds groups of one large event and one small one until that fails, and once more. Prints each failure,
# then how many groups were durable.
DRIVE = """
import resource, sys
from pathlib import Path
from hooks.errors import HooksError
from hooks.storage.run_directory import RunDirectory
from hooks.storage.run_opening import open_run
from tests.storage.builders import NOW, add_group, output, succeeded

directory, value_bytes, file_limit = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
durable = 0

def drive():
    global durable
    try:
        while durable < 1000:
            add_group(run.log, output("x" * value_bytes), succeeded(f"n{durable}"))
            durable += 1
    except HooksError as error:
        report(error)

def report(error):
    print(type(error).__name__, error.exit_code, error.message, sep="|")

try:
    run = open_run(RunDirectory(directory), role="driver", now_ms=NOW, durability="strict")
except HooksError as error:
    report(error)
    sys.exit()
resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
drive()
drive()
print(durable)
"""


def drive(
    directory: RunDirectory,
    value_bytes: int,
    *,
    file_limit: int = 10**9,
    fault: str | None = None,
    path: Path | None = None,
) -> list[str]:
    """What DRIVE prints, with `fault` (as strace names it) injected, into calls on `path` only if one is given."""
    command = [sys.executable, "-c", DRIVE, str(directory.path), str(value_bytes), str(file_limit)]
    if fault:
        only = ["-P", str(path)] if path else []
        strace = ["strace", "-qq", "-o", "/dev/null", *only, "-e", f"trace={fault.split(':')[0]}"]
        command = [*strace, "-e", f"inject={fault}", *command]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def recover(directory: RunDirectory) -> None:
    """The disk is well again: a next driver goes on, and the run is whole."""
    run = open_run(directory, role="driver", now_ms=NOW)
    add_group(run.log, succeeded("recovered"))
    run.log.close()
    run.lock.release()
    assert verify_run(directory) == []


def fill(log: EventLog, value_bytes: int) -> None:
    """Add groups, each with another value, until that fails."""
    for number in range(1000):
        add_group(log, output(f"{number:04}" + "x" * value_bytes))


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(tmp_path)], capture_output=True, text=True
    )
    if mount.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mount.stderr.strip()}")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.mark.parametrize("value_bytes", [1000, 9000])
def test_a_full_disk_takes_back_the_group_and_loses_nothing(full_disk: Path, value_bytes: int) -> None:
    """B30: the log (1000) or a blob (9000, a different one each time) meets the end of the disk."""
    run = make_run(full_disk)
    ballast = full_disk / "ballast"
    ballast.write_bytes(b"x" * 60_000)
    with pytest.raises(StorageError, match="No space left on device") as caught:
        fill(run.log, value_bytes)
    assert caught.value.exit_code == 74
    assert "Free space" in (caught.value.fix or "")
    durable = events_of(run.directory)
    assert [event.seq for event in durable] == list(range(1, run.log.position.seq + 1))
    run.log.close()
    run.lock.release()

    ballast.unlink()
    recover(run.directory)
    assert events_of(run.directory)[:-1] == durable


def test_a_run_that_does_not_fit_on_the_disk_is_not_there(full_disk: Path) -> None:
    (full_disk / "ballast").write_bytes(b"x" * (128 * 1024 - 8 * 1024))

    with pytest.raises(StorageError, match="No space left on device"):
        make_run(full_disk, groups=[[output("x" * 9000)]])

    assert {entry.name for entry in full_disk.iterdir()} <= {"ballast", RUN}
    if (full_disk / RUN).exists():
        assert verify_run(RunDirectory(full_disk / RUN)) == []


def test_a_write_that_is_cut_short_is_taken_back(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)

    first, second, durable = drive(directory, 1000, file_limit=20_000)

    assert first.startswith("StorageError|74|Cannot append to ")
    assert "File too large" in first
    assert second.startswith("StorageError|74|")
    assert "takes nothing more" in second
    assert len(events_of(directory)) == 2 + 2 * int(durable)
    assert directory.log.read_bytes().endswith(b"\n")
    assert not directory.suspect_marker.exists()
    recover(directory)


@needs_strace
def test_a_failed_sync_poisons_the_log_and_the_next_driver_writes_it_anew(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)
    inode = directory.log.stat().st_ino

    first, second, durable = drive(directory, 10, fault="fdatasync:error=EIO:when=3")

    assert first.startswith("LogPoisonedError|74|Cannot sync ")
    assert "Input/output error" in first
    assert second.startswith("LogPoisonedError|74|")
    assert durable == "2"
    assert directory.suspect_marker.exists()
    recover(directory)
    assert directory.log.stat().st_ino != inode
    assert not directory.suspect_marker.exists()


@needs_strace
def test_a_failed_sync_of_a_blob_leaves_no_blob_that_later_passes_for_durable(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)

    first, second, durable = drive(directory, 9000, fault="fdatasync:error=EIO:when=1")

    assert first.startswith("StorageError|74|Cannot write ")
    assert "takes nothing more" in second
    assert durable == "0"
    assert list(directory.blobs.iterdir()) == []
    recover(directory)


@needs_strace
def test_a_failed_sync_of_the_names_of_blobs_poisons_the_log_before_a_line_names_them(tmp_path: Path) -> None:
    """The blobs directory is synced a first time when the run is opened."""
    directory = finished_run(tmp_path)

    first, second, durable = drive(directory, 9000, fault="fsync:error=EIO:when=2", path=directory.blobs)

    assert first.startswith("LogPoisonedError|74|Cannot sync ")
    assert second.startswith("LogPoisonedError|74|")
    assert durable == "0"
    assert len(events_of(directory)) == 2
    recover(directory)


@needs_strace
def test_a_group_that_can_neither_be_written_nor_taken_back_poisons_the_log(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)

    first, second, _ = drive(directory, 1000, file_limit=20_000, fault="ftruncate:error=EIO:when=1", path=directory.log)

    assert first.startswith("LogPoisonedError|74|Cannot cut ")
    assert second.startswith("LogPoisonedError|74|")
    recover(directory)


@needs_strace
@pytest.mark.parametrize(
    ("call", "name"),
    [("fsync", "events.jsonl"), ("fsync", ""), ("openat", "events.jsonl"), ("rename", "events.jsonl.new")],
)
def test_a_run_that_cannot_be_made_durable_is_not_opened(tmp_path: Path, call: str, name: str) -> None:
    directory = finished_run(tmp_path)
    directory.suspect_marker.touch()
    before = directory.log.read_bytes()

    [failure] = drive(directory, 10, fault=f"{call}:error=EIO:when=1+", path=directory.path / name)

    assert failure.startswith("StorageError|74|Cannot ")
    assert directory.log.read_bytes() == before
    recover(directory)


SYNCS = """
import os, sys
from pathlib import Path
from tests.storage.builders import add_group, make_run, output, succeeded

def say(text):
    os.write(1, text)

run = make_run(Path(sys.argv[1]), durability="strict")
say(b"created")
for number in range(10):
    add_group(run.log, *[succeeded(f"n{number}-{i}") for i in range(5)])
say(b"grouped")
add_group(run.log, output("x" * 9000), output("y" * 9000), output("x" * 9000))
say(b"spilled")
"""


@needs_strace
def test_a_group_costs_one_write_and_one_sync_and_each_blob_one_more_and_their_names_one(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    strace = ["strace", "-qq", "-o", str(trace), "-e", "trace=write,fsync,fdatasync"]
    command = [*strace, sys.executable, "-c", SYNCS, str(tmp_path / "runs")]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)

    lines = trace.read_text().splitlines()
    calls = [line.split("(")[0] for line in lines]
    created, grouped, spilled = (index for index, line in enumerate(lines) if line.startswith("write(1,"))

    assert calls[created + 1 : grouped] == ["write", "fdatasync"] * 10
    assert calls[grouped + 1 : spilled] == ["write", "fdatasync"] * 2 + ["fsync"] + ["write", "fdatasync"]
