"""A command is struck at each of its changes to the disk, the run is recovered, and what must hold is checked.

A scenario is undisturbed once, to list its points (see faulty.py) and to know what it comes to. A trial is then: a
fresh directory, the command with one fault, `hooks recover` until nothing changes any more, and the checks. All of it
is done by real processes; only the looking afterwards is done here, through the library.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks import RunDirectory, read_run, verify_run
from hooks.ids import NodeId
from tests.cli.command import CommandLine, Ended
from tests.crash.faults import KILLED, Fault, Point, points_in, run_faulty

RUN = "r"


@dataclass(frozen=True)
class Scenario:
    """A workflow of one effect that makes `effect` out of the file `kept.txt`, and the command that is to be struck.

    Its steps append a line to ../calls/NODE each time they are called. `prepared_by` is what has happened before to the
    log of a run of the workflow that the command, `recover`, goes on with.
    """

    name: str
    files: dict[str, str]
    effect: bytes
    prepared_by: Fault | None = None

    @property
    def words(self) -> list[str]:
        return ["recover", RUN] if self.prepared_by else ["run", "workflow.yaml", "--run-id", RUN]


@dataclass(frozen=True)
class Trial:
    """One directory in which a scenario is played."""

    scenario: Scenario
    directory: Path

    @property
    def root(self) -> Path:
        return self.directory / "root"

    @property
    def run(self) -> RunDirectory:
        return RunDirectory(self.root / "runs" / RUN)

    @property
    def log(self) -> bytes:
        return self.run.log.read_bytes()

    def set_up(self) -> None:
        self.root.mkdir(parents=True)
        (self.directory / "calls").mkdir()
        for name, text in self.scenario.files.items():
            (self.root / name).write_text(text)
        if self.scenario.prepared_by:
            self.faulty(["run", "workflow.yaml", "--run-id", RUN], self.scenario.prepared_by, below=self.run.log)

    def faulty(self, words: Sequence[str], fault: Fault, *, below: Path | None = None) -> Ended:
        """The command with a fault at a change of the root, or of what is below another path."""
        listing = self.directory / "points"
        return run_faulty(CommandLine(self.root), words, fault, below=below or self.root, listing=listing)

    def points(self) -> list[Point]:
        """The points the last faulty command reached."""
        return points_in(self.directory / "points")

    def recover(self) -> Ended:
        """Go on as a person would: with the run, or, if it never came to be, with the same command again."""
        return CommandLine(self.root).hooks(
            *(["recover", RUN] if self.run.path.exists() else ["run", "workflow.yaml", "--run-id", RUN])
        )

    def calls(self) -> dict[str, int]:
        return {path.name: len(path.read_bytes().splitlines()) for path in (self.directory / "calls").iterdir()}

    def finished_calls(self) -> dict[str, int]:
        """How often the nodes were called that have succeeded by now."""
        if not self.run.path.exists():
            return {}
        nodes = read_run(self.run).state.root.nodes
        succeeded = {node_id for node_id, node in nodes.items() if node.status == "succeeded"}
        return {node: count for node, count in self.calls().items() if NodeId(node) in succeeded}

    def kept(self) -> bytes:
        path = self.root / "kept.txt"
        return path.read_bytes() if path.exists() else b""


@dataclass(frozen=True)
class Undisturbed:
    """What a scenario comes to, and where it can be struck."""

    points: list[Point]
    output: Any


def undisturbed(scenario: Scenario, directory: Path) -> Undisturbed:
    trial = Trial(scenario, directory)
    trial.set_up()
    ended = trial.faulty(scenario.words, Fault("count", 0))
    assert ended.code == 0, ended.err
    assert trial.kept() == scenario.effect
    points = trial.points()
    if scenario.prepared_by:
        assert any(point.path.endswith("events.cut-1") for point in points), "no torn log was prepared"
    return Undisturbed(points, _output(trial))


def sweep(scenario: Scenario, mode: str, directory: Path, *, every: int) -> list[str]:
    """Strike the scenario at every `every`-th point; what went wrong, a line each.

    Where the sample begins differs from mode to mode, so that together they see more points than one of them.
    """
    expected = undisturbed(scenario, directory / "undisturbed")
    points = [point for point in expected.points if mode != "torn" or point.call in ("write", "pwrite")]
    first = zlib.crc32(f"{scenario.name} {mode}".encode()) % every
    with ThreadPoolExecutor(2) as pool:
        trials = pool.map(
            lambda point: strike(Trial(scenario, directory / str(point.number)), point, mode, expected),
            points[first::every],
        )
        return [f"{mode} at {point}: {problem}" for point, problem in trials if problem]


def strike(trial: Trial, point: Point, mode: str, expected: Undisturbed) -> tuple[Point, str]:
    """One trial; the point and what went wrong, empty if nothing did."""
    try:
        trial.set_up()
        struck = trial.faulty(trial.scenario.words, Fault(mode, point.number))
        _check_code(struck, point, mode)
        finished = trial.finished_calls()
        recovered = trial.recover()
        _check_recovered(trial, struck, recovered)
        _check_effect(trial, recovered)
        if recovered.code == 0:
            assert _output(trial) == expected.output
        assert {**trial.calls(), **finished} == trial.calls(), "a finished node was called again"
    except AssertionError as problem:
        return point, str(problem) or "failed"
    return point, ""


def _check_code(struck: Ended, point: Point, mode: str) -> None:
    if mode in ("kill", "torn"):
        expected = {KILLED}
    elif point.call == "ftruncate" and point.path.endswith("driver.lock"):
        expected = {74, 0}  # what the lock's file says is only for messages; at the end it does not matter
    elif point.call == "mkdir" and not mode.endswith("+"):
        expected = {74, 0}  # in a run that is gone on with, the directory may be there already
    elif point.path.startswith("/runs/"):
        expected = {74}
    else:
        expected = {74, 1, 10, 0}  # the effect itself: nothing happened, nobody can know, or a look finds it done
    assert struck.code in expected, f"exit code {struck.code} instead of one of {expected}: {struck.err[-500:]}"
    assert "Traceback" not in struck.err, struck.err


def _check_recovered(trial: Trial, struck: Ended, recovered: Ended) -> None:
    expected = {1} if struck.code == 1 else {0, 10}
    assert recovered.code in expected, f"recover: exit code {recovered.code}: {recovered.err[-500:]}"
    assert verify_run(trial.run) == []
    log = trial.log
    seqs = [json.loads(line)["seq"] for line in log.splitlines()]
    assert seqs == list(range(1, len(seqs) + 1))
    is_in_doubt = bool(read_run(trial.run).state.in_doubt)
    assert is_in_doubt == (recovered.code == 10), f"in doubt: {is_in_doubt}, exit code {recovered.code}"
    if recovered.code != 0:
        assert trial.recover().code == recovered.code, "a second recover ends otherwise"
        assert trial.log == log, "a second recover wrote"


def _check_effect(trial: Trial, recovered: Ended) -> None:
    effect, kept = trial.scenario.effect, trial.kept()
    match recovered.code:
        case 0:
            assert kept == effect, f"the effect was to leave {effect[:50]!r}, there is {kept[:50]!r}"
        case 1:
            assert kept == b"", "an effect that says it did nothing left something"
        case _:
            assert effect.startswith(kept), f"more than one effect: {kept[:50]!r}"


def _output(trial: Trial) -> Any:
    """The run's output, wherever its directory is."""
    return json.loads(json.dumps(read_run(trial.run).output()).replace(str(trial.root), "/root"))
