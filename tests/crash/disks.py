"""Small file systems for tests that need one to be full."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def disk_of_one_mebibyte(place: Path) -> Iterator[Path]:
    """A file system of 1 MiB at `place`; the test is skipped where none can be mounted."""
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@contextmanager
def fill(disk: Path) -> Iterator[None]:
    """The disk has no room left, down to the last byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 1):
            while _has_taken(file.write, b"\0" * size):
                pass
    try:
        yield
    finally:
        filler.unlink()


def _has_taken(write: object, data: bytes) -> bool:
    assert callable(write)
    try:
        return bool(write(data))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
