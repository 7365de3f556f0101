from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.errors import RunLockedError, StorageError
from hooks.storage.locks import DriverLock, LockHolder, probe, process_start_time, this_process

HOLD = """
import sys
from pathlib import Path
from hooks.storage.locks import DriverLock
lock = DriverLock.acquire(Path(sys.argv[1]), role=sys.argv[2], run_id="r")
print("held", flush=True)
sys.stdin.read()
"""


def hold(path: Path, role: str = "driver") -> subprocess.Popen[str]:
    """A process that has the lock until its stdin is closed."""
    command = [sys.executable, "-c", HOLD, str(path), role]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def acquire(path: Path) -> DriverLock:
    return DriverLock.acquire(path, role="driver", run_id="r")


def end(holder: subprocess.Popen[str]) -> None:
    holder.communicate()


def test_only_one_process_has_the_lock_and_the_other_is_told_who(tmp_path: Path) -> None:
    path = tmp_path / "driver.lock"
    holder = hold(path)
    try:
        with pytest.raises(RunLockedError) as caught:
            acquire(path)
        message = caught.value.message
        assert re.search(rf"process {holder.pid} on {re.escape(os.uname().nodename)} since \d{{4}}-", message)
    finally:
        end(holder)


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    """B26"""
    path = tmp_path / "driver.lock"
    holder = hold(path)
    holder.send_signal(signal.SIGKILL)
    end(holder)

    assert probe(path) is None
    acquire(path).release()


def test_a_child_of_the_driver_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "driver.lock"
    lock = acquire(path)
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    lock.release()
    try:
        acquire(path).release()
    finally:
        child.communicate()


def test_a_second_lock_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "driver.lock"
    with acquire(path), pytest.raises(RunLockedError):
        acquire(path)


def test_closing_the_file_elsewhere_in_the_process_does_not_drop_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "driver.lock"
    with acquire(path):
        path.read_bytes()
        assert probe(path) is not None


def test_the_lock_survives_a_rename_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    with acquire(tmp_path / "old" / "driver.lock"):
        (tmp_path / "old").rename(tmp_path / "new")

        assert probe(tmp_path / "new" / "driver.lock") is not None


def test_whoever_asks_learns_the_holder_and_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "driver.lock"
    holder = hold(path, "inbox")
    try:
        answer = probe(path)
        assert answer == LockHolder(
            "inbox",
            this_process()._replace(pid=holder.pid, start_time=process_start_time(holder.pid) or 0),
            answer.since_ms if answer else 0,
        )
        assert "answering its inbox" in str(answer)
    finally:
        end(holder)
    assert probe(path) is None


def test_asking_needs_no_right_to_write(tmp_path: Path) -> None:
    path = tmp_path / "driver.lock"
    with acquire(path):
        path.chmod(0o400)
        tmp_path.chmod(0o500)
        try:
            assert probe(path) is not None
        finally:
            tmp_path.chmod(0o700)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"[]", b'{"role":"driver"}', b'{"role":1,"pid":'])
def test_a_holder_that_has_not_said_who_it_is_is_a_holder_all_the_same(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "driver.lock"
    with acquire(path):
        path.write_bytes(content)

        holder = probe(path)

        assert holder is not None
        assert holder.process is None
        with pytest.raises(RunLockedError, match="just starting"):
            acquire(path)


def test_a_file_that_was_never_locked_has_no_holder(tmp_path: Path) -> None:
    assert probe(tmp_path / "driver.lock") is None


def test_a_released_lock_says_nothing_of_its_last_holder(tmp_path: Path) -> None:
    path = tmp_path / "driver.lock"
    lock = acquire(path)
    lock.release()
    lock.release()

    assert path.read_bytes() == b""


def test_a_lock_in_a_directory_that_is_gone_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        acquire(tmp_path / "gone" / "driver.lock")


def test_a_process_that_is_gone_has_no_start_time() -> None:
    child = subprocess.Popen(["true"])
    child.wait()

    assert process_start_time(child.pid) is None
    assert process_start_time(os.getpid()) == this_process().start_time
