"""A story is a row of commands that moves a run of every kind of effect; one of them is struck, and the run goes on.

It is told undisturbed once, to list the points of each command (see faulty.py). A trial is then: a fresh directory, the
commands before, the struck one, perhaps a recovery that is killed as well, and whatever a person would do to bring the
run to an end. What must hold is checked after the struck command and at the end.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hooks import verify_run
from hooks.ids import NodeId
from tests.cli.command import Ended
from tests.crash.every_kind import RUN, EveryKind, World
from tests.crash.faults import KILLED, MODES, Fault, Point, points_in, run_faulty
from tests.executors.http_server import LocalServer


class Command(NamedTuple):
    """One command of a story; `code` is what it ends with, `leads_to` what the run does if that was acknowledged."""

    words: tuple[str, ...]
    code: int
    leads_to: int = 0


@dataclass(frozen=True)
class Story:
    """`dies`: see EveryKind.write_files."""

    name: str
    commands: tuple[Command, ...]
    dies: bool = False


class Strike(NamedTuple):
    """Which command of a story is struck, where and how; `again`: the recovery is killed at that point."""

    command: int
    point: Point
    mode: str
    again: int = 0


@dataclass(frozen=True)
class Telling:
    """A story, told in a directory of its own."""

    story: Story
    directory: Path
    server: LocalServer

    @property
    def subject(self) -> EveryKind:
        return EveryKind(self.directory / "root", self.server)

    def tell_to(self, command: int) -> None:
        """Do all that comes before that command."""
        self.subject.write_files(dies=self.story.dies)
        for told in self.story.commands[:command]:
            ended = self.subject.cli.hooks(*self.words(told))
            assert ended.code == told.code, f"{told.words}: exit code {ended.code}: {ended.err}"

    def struck(self, command: int, fault: Fault) -> Ended:
        return self.faulty(self.words(self.story.commands[command]), fault)

    def faulty(self, words: Sequence[str], fault: Fault) -> Ended:
        subject = self.subject
        return run_faulty(subject.cli, words, fault, below=subject.root, listing=self.directory / "points")

    def points(self) -> list[Point]:
        """The points the last faulty command reached."""
        return points_in(self.directory / "points")

    def words(self, command: Command) -> list[str]:
        return self.subject.start_words if command.words[0] == "run" else list(command.words)


def every_strike(story: Story, directory: Path, server: LocalServer) -> Iterator[Strike]:
    """Tell the story undisturbed; all the ways in which it can be disturbed."""
    telling = Telling(story, directory, server)
    telling.tell_to(0)
    seconds = random.Random(story.name)
    for number, command in enumerate(story.commands):
        ended = telling.struck(number, Fault("count", 0))
        assert ended.code == command.code, f"{command.words}: exit code {ended.code}: {ended.err}"
        for point in telling.points():
            for mode in MODES:
                if mode != "torn" or point.call in ("write", "pwrite"):
                    yield Strike(number, point, mode)
            yield Strike(number, point, "kill", again=seconds.randint(1, 40))


def tell_disturbed(story: Story, strikes: Sequence[Strike], directory: Path, server: LocalServer) -> list[str]:
    """What went wrong, a line each."""
    with ThreadPoolExecutor(2) as pool:
        telling = [Telling(story, directory / str(number), server) for number in range(len(strikes))]
        problems = pool.map(_problem, telling, strikes)
        return [f"{strike}: {problem}" for strike, problem in zip(strikes, problems, strict=True) if problem]


def _problem(telling: Telling, strike: Strike) -> str:
    """What went wrong with one trial; empty if nothing did."""
    command = telling.story.commands[strike.command]
    try:
        telling.tell_to(strike.command)
        struck = telling.struck(strike.command, Fault(strike.mode, strike.point.number))
        _check_code(struck, command, strike)
        log = _log(telling)
        if strike.again and telling.subject.run.path.exists():
            telling.faulty(["recover", RUN], Fault("kill", strike.again))
        codes = telling.subject.move_to_an_end()
        assert verify_run(telling.subject.run) == []
        assert _log(telling).startswith(log[: log.rfind(b"\n") + 1]), "what was in the log is there no more"
        check_end(telling, codes[-1])
        # An effect that says itself that it failed may stand beside what the command's code speaks of.
        if struck.code == command.code and strike.point.path.startswith("/runs"):
            assert codes[-1] == command.leads_to, f"acknowledged, but the run ended with {codes}"
    except AssertionError as problem:
        return str(problem) or "failed"
    except subprocess.TimeoutExpired as hanging:
        return str(hanging)
    return ""


def _log(telling: Telling) -> bytes:
    log = telling.subject.run.log
    return log.read_bytes() if log.exists() else b""


def _check_code(struck: Ended, command: Command, strike: Strike) -> None:
    path, call = strike.point.path, strike.point.call
    if strike.mode in ("kill", "torn"):
        expected = {KILLED}
    elif call == "ftruncate" and path.endswith("driver.lock"):
        expected = {74, command.code}  # what the lock's file says is only for messages
    elif call == "mkdir" and not strike.mode.endswith("+"):
        expected = {74, command.code}  # the directory may be there already
    elif path.startswith("/runs"):
        expected = {74}
    else:
        expected = {
            74,
            1,
            10,
            command.code,
        }  # an effect of the driver's own: it failed, nobody knows, or a look finds it
    assert struck.code in expected, f"exit code {struck.code} instead of one of {expected}: {struck.err[-500:]}"
    assert "Traceback" not in struck.err, struck.err


def check_end(telling: Telling, code: int) -> None:
    """The run has ended with `code` for good, and the world has seen each effect once, or never if it failed."""
    subject = telling.subject
    log, view = _log(telling), subject.view
    assert subject.go_on().code == code, "a second recover ends otherwise"
    assert _log(telling) == log, "a second recover wrote"
    loop = view.state.root.nodes.get(NodeId("rounds"))
    whole = World.with_rounds(loop.rounds if loop else 0)
    world = subject.world()
    assert world.exceeds(whole) == {}, "done too often"
    if code == 0:
        assert world == whole, "not all that should have been done"
