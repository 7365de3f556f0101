"""exit.json is believed only when it is one whole object of the launcher's form."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hooks.processes.exits import Exit, exit_of, read_exit


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"exitCode":',
        b'{"exitCode":0',
        b"\0" * 14,
        b"0",
        b"[]",
        b"{}",
        b"null",
        b'{"exitCode":true}',
        b'{"exitCode":"0"}',
        b'{"exitCode":0.0}',
        b'{"exitCode":256}',
        b'{"exitCode":-1}',
        b'{"signal":0}',
        b'{"signal":65}',
        b'{"exitCode":0,"signal":9}',
        b'{"exitCode":0}{"exitCode":0}',
        b"\xff\xfe",
    ],
)
def test_anything_else_reads_as_absent(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "exit.json").write_bytes(content)

    assert read_exit(tmp_path) is None


def test_an_absent_or_unreadable_file_reads_as_absent(tmp_path: Path) -> None:
    assert read_exit(tmp_path) is None
    (tmp_path / "exit.json").mkdir()
    assert read_exit(tmp_path) is None


def test_a_fifo_in_its_place_reads_as_absent(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "exit.json")

    assert read_exit(tmp_path) is None


@pytest.mark.parametrize("whole", [b'{"exitCode":12}\n', b'{"signal":12}\n'])
def test_no_proper_prefix_of_an_exit_is_another_exit(tmp_path: Path, whole: bytes) -> None:
    for length in range(len(whole) + 1):
        (tmp_path / "exit.json").write_bytes(whole[:length])
        expected = (Exit(code=12) if b"exitCode" in whole else Exit(signal=12)) if length >= len(whole) - 1 else None
        assert read_exit(tmp_path) == expected


@pytest.mark.parametrize(
    ("status", "noted", "expected"),
    [
        (0, None, Exit(code=0)),
        (128, None, Exit(code=128)),
        (193, None, Exit(code=193)),
        (-9, None, Exit(signal=9)),
        (143, Exit(code=143), Exit(code=143)),
        (143, Exit(signal=15), Exit(signal=15)),
        (143, None, Exit(signal=15)),
        (143, Exit(code=0), Exit(signal=15)),
    ],
)
def test_an_ambiguous_status_is_a_death_unless_the_launcher_noted_otherwise(
    status: int, noted: Exit | None, expected: Exit
) -> None:
    assert exit_of(status, noted) == expected
