"""Opens for reading what is expected to be a plain file, and nothing else.

A step, or an accident, can leave something else under a name: opening a FIFO waits for a writer for ever, a device
never ends, a link leads to what somebody else wrote. Such a thing is refused at once, as an OSError that says what it
is; so who takes an unreadable file for an absent one need not tell them apart.
"""

from __future__ import annotations

import errno
import os
import stat
from io import DEFAULT_BUFFER_SIZE, BufferedReader, FileIO
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFDIR: "a directory",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


class NotARegularFileError(OSError):
    """There is something of that name, and it is not what is wanted; `strerror` says what it is."""

    def __init__(self, path: Path, mode: int, *, wanted: str = "a file") -> None:
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        super().__init__(errno.EINVAL, f"it is {kind}, not {wanted}", str(path))


def open_regular(path: Path, *, follow_links: bool = False, buffering: int = DEFAULT_BUFFER_SIZE) -> BufferedReader:
    """The file, open for reading; never waits. Raises NotARegularFileError, or the system's own OSError.

    `follow_links` is for files of the user's; of what we wrote ourselves nothing is a link.
    """
    descriptor = open_regular_descriptor(path, os.O_RDONLY, follow_links=follow_links)
    return BufferedReader(FileIO(descriptor), buffering)


def open_regular_descriptor(path: Path, flags: int, *, follow_links: bool = False) -> int:
    """As `open_regular`, for whoever wants more than to read. What it makes (O_CREAT) is for its owner alone."""
    # O_NONBLOCK: a FIFO is opened without waiting for its other end. It means nothing for a file.
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        # Some kinds are refused by the system, each with a riddle of its own: ENXIO, ELOOP, EISDIR.
        if (mode := _mode(path, follow_links=follow_links)) is not None and not stat.S_ISREG(mode):
            raise NotARegularFileError(path, mode) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise NotARegularFileError(path, mode)
    return descriptor


def read_regular(path: Path, *, follow_links: bool = False) -> bytes:
    """The whole file."""
    with open_regular(path, follow_links=follow_links) as file:
        return file.read()


def _mode(path: Path, *, follow_links: bool) -> int | None:
    try:
        return os.stat(path, follow_symlinks=follow_links).st_mode
    except OSError:
        return None
