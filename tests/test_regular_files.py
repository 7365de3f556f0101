"""What is no file is refused at once, and named."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from hooks.regular_files import NotARegularFileError, open_regular, read_regular


def make_socket(path: Path) -> None:
    # By its short name: the path of a socket has little room.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


KINDS: list[tuple[Callable[[Path], object], str]] = [
    (os.mkfifo, "a FIFO"),
    (Path.mkdir, "a directory"),
    (make_socket, "a socket"),
    (lambda path: path.symlink_to("/etc/hostname"), "a symbolic link"),
    (lambda path: path.symlink_to("/no/such/file"), "a symbolic link"),
]


@pytest.mark.parametrize(("make", "kind"), KINDS)
def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path, make: Callable[[Path], object], kind: str) -> None:
    make(tmp_path / "thing")
    before = os.listdir("/proc/self/fd")

    with pytest.raises(NotARegularFileError, match=f"it is {kind}, not a file"):
        open_regular(tmp_path / "thing")
    assert os.listdir("/proc/self/fd") == before


def test_a_device_is_refused() -> None:
    with pytest.raises(NotARegularFileError, match="a device"):
        open_regular(Path("/dev/zero"))


def test_a_file_is_read_and_a_missing_one_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")

    assert read_regular(tmp_path / "file") == b"content"
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "missing")


def test_a_link_of_the_users_may_be_followed_to_a_file_and_to_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "other").symlink_to("fifo")

    assert read_regular(tmp_path / "link", follow_links=True) == b"content"
    with pytest.raises(NotARegularFileError, match="a FIFO"):
        read_regular(tmp_path / "other", follow_links=True)
