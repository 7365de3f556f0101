"""Files that are still there after a power cut: written, synced and renamed in the order that makes them so.

A file is durable when its bytes are synced and the directory that names it is synced. Under `relaxed` durability the
same steps run without the syncs: that survives a killed process, not a power cut.

Every failure of the disk becomes a StorageError that names the path and what to do. A file whose sync failed is
removed: its pages count as clean from then on, so that a later reader would see bytes that may never reach the disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from hooks.errors import CorruptRunError, StorageError
from hooks.regular_files import NotARegularFileError, open_regular_descriptor, read_regular

Durability: TypeAlias = Literal["strict", "relaxed"]

GO_ON = ", then go on with `hooks recover`."
"""How a fix ends; who knows that no run was begun says something else (run_creation.py)."""

_FIXES = {
    errno.ENOSPC: f"Free space on that file system{GO_ON}",
    errno.EDQUOT: f"Free space within the quota{GO_ON}",
    errno.EFBIG: f"Raise the file size limit (`ulimit -f`){GO_ON}",
    errno.EEXIST: "Name a directory: use another `--runs-dir`.",
    errno.ENOTDIR: "Name a directory: use another `--runs-dir`.",
    errno.EROFS: "Mount the file system writable, or use another `--runs-dir`.",
    errno.EACCES: "Make it readable and writable for this user, or use another `--runs-dir`.",
    errno.EPERM: "Make it readable and writable for this user, or use another `--runs-dir`.",
    errno.EMFILE: f"Raise the limit of open files (`ulimit -n`){GO_ON}",
    errno.EIO: f"Check the disk (`dmesg`){GO_ON}",
}


def storage_error(action: str, path: Path, error: OSError) -> StorageError:
    """What to raise for `error`: "cannot <action> <path>", the system's reason, and a fix."""
    reason = error.strerror or str(error)
    fix = _FIXES.get(error.errno or 0, f"Remove the cause{GO_ON}")
    return StorageError(f"Cannot {action} {path}: {reason}.", fix=fix)


def not_our_file(path: Path, error: NotARegularFileError) -> CorruptRunError:
    """What to raise where something stands that we never made."""
    return CorruptRunError(error.strerror or "it is not a file", file=str(path))


def refuse_link(path: Path) -> None:
    """Raise CorruptRunError unless there is a directory of that name, and not a link to one; FileNotFoundError."""
    mode = os.lstat(path).st_mode
    if not stat.S_ISDIR(mode):
        raise not_our_file(path, NotARegularFileError(path, mode, wanted="a directory"))


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte. A short write is tried again, which makes the system name its reason as an OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_new_file(path: Path, data: bytes, durability: Durability) -> None:
    """Make the file `path`, its bytes synced. Its name is durable only once its directory is synced.

    Raises FileExistsError if there is one already, StorageError for everything else; nothing is left then.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise storage_error("create", path, error) from error
    _fill(descriptor, path, data, durability)


def replace_file(path: Path, data: bytes, durability: Durability) -> None:
    """Put `data` in place of `path` in one step, and make bytes and name durable. Readers see the old or the new."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise storage_error("create", temporary, error) from error
    _fill(descriptor, temporary, data, durability)
    rename(temporary, path, durability)


def _fill(descriptor: int, path: Path, data: bytes, durability: Durability) -> None:
    try:
        try:
            write_all(descriptor, data)
            if durability == "strict":
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            path.unlink()
        raise storage_error("write", path, error) from error


def rename(source: Path, target: Path, durability: Durability) -> None:
    """Rename within one directory, durably."""
    try:
        os.rename(source, target)
    except OSError as error:
        raise storage_error("rename", source, error) from error
    sync_directory(target.parent, durability)


def sync_directory(path: Path, durability: Durability) -> None:
    """Make the names in directory `path` durable."""
    if durability == "strict":
        _sync(path, _open_directory)


def _open_directory(path: Path, flags: int) -> int:
    return os.open(path, flags | os.O_DIRECTORY)


def sync_file(path: Path, durability: Durability) -> None:
    """Make the bytes durable that are in file `path` now, whoever wrote them."""
    if durability == "strict":
        _sync(path, open_regular_descriptor)


def _sync(path: Path, open_: Callable[[Path, int], int]) -> None:
    try:
        descriptor = open_(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except NotARegularFileError as error:
        raise not_our_file(path, error) from error
    except OSError as error:
        raise storage_error("sync", path, error) from error


def make_directories(path: Path, durability: Durability, *, mode: int = 0o700) -> None:
    """Make `path` and the parents it lacks, each durable in the one above. Existing ones are left alone."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = path.parent
    for directory in reversed(missing):
        try:
            directory.mkdir(mode=mode, exist_ok=True)
        except OSError as error:
            raise storage_error("make the directory", directory, error) from error
        sync_directory(directory.parent, durability)


def read_bytes(path: Path) -> bytes:
    """The whole file. A missing one stays a FileNotFoundError; every other failure of the disk is a StorageError.

    Raises CorruptRunError for what is no file: a FIFO, say, which nobody may wait for.
    """
    try:
        return read_regular(path)
    except FileNotFoundError:
        raise
    except NotARegularFileError as error:
        raise not_our_file(path, error) from error
    except OSError as error:
        raise storage_error("read", path, error) from error
