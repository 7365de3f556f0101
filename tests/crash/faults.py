"""Running a command with a fault at one of its changes to the disk, and listing those changes; see faulty.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.cli.command import CommandLine, Ended

FAULTY = Path(__file__).with_name("faulty.py")
KILLED = -9
MODES = ("kill", "torn", "EIO", "EIO+", "ENOSPC", "ENOSPC+")


class Point(NamedTuple):
    """The `number`-th change a command makes; `path` is relative to what can be struck."""

    number: int
    call: str
    path: str


class Fault(NamedTuple):
    """What is to happen, and at which point: a number, or PATH+N as faulty.py has it."""

    mode: str
    at: int | str


def run_faulty(cli: CommandLine, words: Sequence[str], fault: Fault, *, below: Path, listing: Path) -> Ended:
    """The command with a fault at a change of what is `below`; `listing` is left with the points it reached."""
    done = subprocess.run(
        [sys.executable, FAULTY, below, listing, fault.mode, str(fault.at), *words],
        cwd=cli.directory,
        env=cli.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def points_in(listing: Path) -> list[Point]:
    """The points the last faulty command reached."""
    lines = listing.read_text().splitlines()
    return [Point(int(number), call, path) for number, call, path in (line.split(" ", 2) for line in lines)]
