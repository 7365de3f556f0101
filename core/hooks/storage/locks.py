"""The lock that makes a process the only driver of a run.

An open-file-description lock (F_OFD_SETLK) on driver.lock: the kernel drops it when its holder dies, however it dies,
so that no lock is ever left behind. It belongs to the open file, not to the path, so it survives a rename of the run
directory; and no other close() in the process drops it, as it would a plain POSIX lock. The file is never unlinked:
two processes could then hold "the" lock on two files. It is close-on-exec: a child that outlives its driver does not
keep the run locked.

What the file says of its holder is for messages and for whoever wants to wake a stopped driver; the lock alone decides.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self, TypeAlias

import orjson

from hooks.errors import RunLockedError
from hooks.regular_files import NotARegularFileError, open_regular_descriptor
from hooks.storage.durable_files import not_our_file, storage_error, write_all

LockRole: TypeAlias = Literal["driver", "inbox"]
_FLOCK = "hhqqi0q"  # struct flock: l_type, l_whence, l_start, l_len, l_pid (0 for this kind of lock)


class ProcessIdentity(NamedTuple):
    """A process that no later one is mistaken for: pids are used again, start times within one boot are not."""

    pid: int
    start_time: int
    """In clock ticks since boot, as /proc has it."""
    boot_id: str
    host: str


@cache
def boot_id() -> str:
    """Differs after every boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def process_start_time(pid: int) -> int | None:
    """When process `pid` started, in clock ticks since boot; None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the command's name in parentheses and may hold anything; the start time is the 22nd.
    return int(stat[stat.rindex(b")") + 2 :].split()[19])


def this_process() -> ProcessIdentity:
    """Who we are."""
    pid = os.getpid()
    return ProcessIdentity(pid, process_start_time(pid) or 0, boot_id(), os.uname().nodename)


@dataclass(frozen=True, slots=True)
class LockHolder:
    """Who holds a lock. `process` is None in the moment between taking the lock and writing down who did."""

    role: LockRole
    process: ProcessIdentity | None
    since_ms: int

    def __str__(self) -> str:
        if self.process is None:
            return "a process that is just starting"
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        task = ", which is answering its inbox" if self.role == "inbox" else ""
        return f"process {self.process.pid} on {self.process.host} since {since}{task}"


class DriverLock:
    """A held lock. `acquire` takes it; it ends with `release`, or with the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, path: Path, *, role: LockRole, run_id: str) -> DriverLock:
        """Take the lock at `path` without waiting and say in the file who has it.

        Raises RunLockedError naming the holder. Raises StorageError if the file cannot be opened, or was removed
        while we took the lock; CorruptRunError if it is no file.
        """
        try:
            descriptor = open_regular_descriptor(path, os.O_RDWR | os.O_CREAT)
        except NotARegularFileError as error:
            raise not_our_file(path, error) from error
        except OSError as error:
            raise storage_error("open", path, error) from error
        try:
            _take(descriptor, path, run_id)
            _sign(descriptor, role)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                raise storage_error("lock", path, error) from error
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Let go of the lock; free if it is released already."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        # What it says of its holder is no longer true. The lock goes with the open file, even if this fails.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
        os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def probe(path: Path) -> LockHolder | None:
    """Who holds the lock at `path`, or None if nobody does. Takes nothing, and needs no right to write.

    Raises StorageError; CorruptRunError if it is no file.
    """
    try:
        descriptor = open_regular_descriptor(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except NotARegularFileError as error:
        raise not_our_file(path, error) from error
    except OSError as error:
        raise storage_error("read", path, error) from error
    try:
        question = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, question)
        if struct.unpack(_FLOCK, answer)[0] == fcntl.F_UNLCK:
            return None
        return _read_holder(descriptor)
    except OSError as error:
        raise storage_error("ask for the lock", path, error) from error
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path, run_id: str) -> None:
    request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        raise RunLockedError(run_id, str(_read_holder(descriptor))) from None
    # Whoever tidies up an abandoned directory takes its lock and then removes it. If that happened between our open and
    # our lock, we hold a lock on a file that no longer has a name. Raises FileNotFoundError then.
    if os.stat(path).st_ino != os.fstat(descriptor).st_ino:
        raise FileNotFoundError(errno.ENOENT, "the lock file was replaced", str(path))


def _sign(descriptor: int, role: LockRole) -> None:
    """Write down who holds the lock. Not synced: it means nothing once this process or this boot is over."""
    process = this_process()
    content = {
        "role": role,
        "pid": process.pid,
        "startTime": process.start_time,
        "bootId": process.boot_id,
        "host": process.host,
    }
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    write_all(descriptor, orjson.dumps(content))


def _read_holder(descriptor: int) -> LockHolder:
    since_ms = os.fstat(descriptor).st_mtime_ns // 1_000_000
    try:
        said = orjson.loads(os.pread(descriptor, 4096, 0))
        process = ProcessIdentity(said["pid"], said["startTime"], said["bootId"], said["host"])
        return LockHolder(said["role"], process, since_ms)
    except (ValueError, TypeError, KeyError):
        # The holder has the lock and has not yet written, or somebody else wrote into the file.
        return LockHolder("driver", None, since_ms)
