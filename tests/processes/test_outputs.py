"""Outputs are read as text, within bounds, and say what was lost on the way."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.processes.builders import make_child

from hooks.processes.outputs import CapturedText, CaptureLostError, read_tail, read_text
from hooks.processes.running import run_child
from hooks.secrets import Masker


@pytest.mark.parametrize(
    ("data", "limit", "expected"),
    [
        (b"", 10, CapturedText("", 0, False, False)),
        (b"a\r\nb\r", 10, CapturedText("a\r\nb\r", 5, False, False)),
        (b"0123456789", 4, CapturedText("0123", 10, True, False)),
        (b"0123", 4, CapturedText("0123", 4, False, False)),
        (b"x", 0, CapturedText("", 1, True, False)),
        (b"a\xb2\x1b[31mb\r\n", 20, CapturedText("a�\x1b[31mb\r\n", 10, False, True)),
        (b"\xed\xa0\x80", 10, CapturedText("���", 3, False, True)),
        ("aé".encode(), 2, CapturedText("a", 3, True, False)),
        ("é".encode()[:1], 10, CapturedText("�", 1, False, True)),
    ],
)
def test_bytes_become_text(tmp_path: Path, data: bytes, limit: int, expected: CapturedText) -> None:
    """B39"""
    path = tmp_path / "stdout"
    path.write_bytes(data)

    assert read_text(path, limit) == expected


def test_a_huge_line_is_captured_whole_in_bounded_memory(tmp_path: Path) -> None:
    """B36"""
    child = make_child(tmp_path, "sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo second")

    child = replace(child, masker=Masker({"TOKEN": "s3cret-value"}))

    tracemalloc.start()
    try:
        asyncio.run(run_child(child, grace_ms=1_000))
        captured = read_text(child.directory / "stdout", 1 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert captured == CapturedText("x" * (1 << 20), 50_000_008, truncated=True, replaced=False)
    assert read_tail(child.directory / "stdout", 20) == "second\n"
    assert peak < 10_000_000


def test_a_huge_text_is_in_memory_once(tmp_path: Path) -> None:
    """B36"""
    path = tmp_path / "stdout"
    path.write_bytes(b"x" * 50_000_000)

    tracemalloc.start()
    try:
        captured = read_text(path, 64 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(captured.text) == 50_000_000
    assert peak < 60_000_000


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "it is a FIFO, not a file"),
        (Path.mkdir, "it is a directory, not a file"),
        (lambda path: path.symlink_to("/etc/hostname"), "it is a symbolic link, not a file"),
        (lambda path: None, "it is gone"),
    ],
)
@pytest.mark.parametrize("read", [read_text, read_tail])
def test_what_is_no_longer_the_file_is_lost(
    tmp_path: Path, make: Callable[[Path], object], why: str, read: Callable[[Path, int], object]
) -> None:
    make(tmp_path / "stdout")

    with pytest.raises(CaptureLostError, match=f"What it printed on stdout is lost .*{why}"):
        read(tmp_path / "stdout", 10)


def test_what_cannot_be_masked_does_not_stay(tmp_path: Path) -> None:
    child = make_child(tmp_path, "sh", "-c", "echo s3cret-value; mkdir $HOOKS_MARKER/.stdout.masked")
    child = replace(child, masker=Masker({"TOKEN": "s3cret-value"}))

    asyncio.run(run_child(child, grace_ms=1_000))
    assert not (child.directory / "stdout").exists()


def test_a_tail_starts_at_a_line_where_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "stderr"
    path.write_bytes(b"first line\nsecond\nthird\n")

    assert read_tail(path, 100) == "first line\nsecond\nthird\n"
    assert read_tail(path, 15) == "second\nthird\n"
    assert read_tail(path, 3) == "rd\n"
