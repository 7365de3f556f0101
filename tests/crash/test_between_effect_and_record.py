"""`kill -9` when an effect has happened and the log does not say so yet: it is done once, or named as in doubt.

The driver is killed at its first writes to the log after the effect itself has said that it has happened, by a file it
makes. What a file executor or a Python function does is done by the driver itself, so that no process of it is left.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from hooks import RunDirectory, read_run, verify_run
from hooks.runtime.reading import RunView
from tests.cli.command import CommandLine
from tests.crash.faults import KILLED, Fault, run_faulty
from tests.executors.http_server import LocalServer, serving

RUN = "r"
MOMENTS = (("kill", 0), ("torn", 0), ("kill", 1))
"""Before the effect's record is written, when half of it is, and when it is written and not synced."""

_FUNCTIONS = """\
def call():
    with open("done", "a") as file:
        file.write("x\\n")


class Looked:
    def execute(self):
        call()

    def lookup(self, key):
        return open("done").read()
"""


@dataclass(frozen=True)
class Kind:
    """A way to have an effect. `is_known`: whether, its driver killed, one can find out that it happened."""

    name: str
    step: str
    is_known: bool


KINDS = [
    Kind("shell", '{executor: shell, input: {script: "echo x >> done"}}', is_known=True),
    Kind("shell and look-up", '{executor: shell, input: {script: "echo x >> done", lookup: [cat, done]}}', True),
    Kind("file append", '{executor: file, input: {path: done, mode: append, content: "x\\n"}}', is_known=True),
    Kind("file write", '{executor: file, input: {path: done, content: "x\\n"}}', is_known=True),
    Kind("python", '{executor: python, input: {callable: "functions.py:call"}}', is_known=False),
    Kind("python and look-up", '{executor: python, input: {callable: "functions.py:Looked"}}', is_known=True),
    Kind("python isolated", '{executor: python, input: {callable: "functions.py:call", isolate: true}}', is_known=True),
    Kind("http", '{executor: http, input: {url: "@TOUCHES@", json: {}}}', is_known=False),
    Kind("http and look-up", '{executor: http, input: {url: "@TOUCHES@", json: {}, lookup: {url: "@KNOWN@"}}}', True),
    Kind("agent", '{agent: acting, prompt: "act"}', is_known=True),
]


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with serving() as local:
        yield local


@dataclass(frozen=True)
class Killed:
    """A run of one effect in a directory of its own, whose driver is killed at one of the moments."""

    kind: Kind
    directory: Path
    server: LocalServer

    @property
    def cli(self) -> CommandLine:
        return CommandLine(self.directory)

    @property
    def view(self) -> RunView:
        return read_run(RunDirectory(self.cli.runs / RUN))

    @property
    def times(self) -> int:
        """How often the effect has happened."""
        path = f"/touches{self.directory}/done"
        if self.kind.name.startswith("http"):
            return sum(asked.method == "POST" and asked.path == path for asked in self.server.asked)
        return (self.directory / "done").read_text().count("x\n")

    def run(self, mode: str, number: int) -> None:
        self.directory.mkdir()
        step = self.kind.step.replace("@TOUCHES@", self.server.url(f"/touches{self.directory}/done"))
        step = step.replace("@KNOWN@", self.server.url("/known/{key}"))
        self.cli.write("functions.py", _FUNCTIONS)
        self.cli.write(
            "workflow.yaml",
            "workflow_id: one\nversion: 1\n"
            'agents: {acting: {kind: command, argv: [sh, -c, "cat; echo x >> done"], repeatable: false}}\n'
            f"nodes:\n  step: {step}\n",
        )
        ended = run_faulty(
            self.cli,
            ["run", "workflow.yaml", "--run-id", RUN, "-q"],
            Fault(mode, f"{self.directory / 'done'}+{number}"),
            below=self.cli.runs / RUN / "events.jsonl",
            listing=self.directory / "points",
        )
        assert ended.code == KILLED, f"not killed: {ended.code}: {ended.err}"

    def check(self) -> None:
        """Recover it, and by a person's word if need be: done once, and told so."""
        is_recorded = any(line["type"] == "effectSettled" for line in self._whole_lines())
        recovered = self.cli.hooks("recover", RUN, "-q")
        if self.kind.is_known or is_recorded:
            assert recovered.code == 0, recovered.err
        else:
            assert recovered.code == 10, recovered.err
            assert "resolve" in recovered.err
            assert [attempt.node_id for attempt in self.view.state.in_doubt.values()] == ["step"]
            assert self.cli.hooks("resolve", RUN, "step", "--done").code == 0
            assert self.cli.hooks("recover", RUN, "-q").code == 0
        assert self.times == 1
        assert verify_run(self.view.directory) == []

    def _whole_lines(self) -> list[dict[str, str]]:
        whole, _, _ = (self.cli.runs / RUN / "events.jsonl").read_bytes().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]


def kill_often(kind: Kind, times: int, directory: Path, server: LocalServer) -> list[str]:
    """What went wrong, a line each."""

    def problem(number: int) -> str:
        killed = Killed(kind, directory / str(number), server)
        try:
            killed.run(*MOMENTS[number % len(MOMENTS)])
            killed.check()
        except AssertionError as error:
            return f"{number}: {error}"
        return ""

    with ThreadPoolExecutor(2) as pool:
        return [said for said in pool.map(problem, range(times)) if said]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_effect_is_done_once_or_named_as_in_doubt(kind: Kind, server: LocalServer, tmp_path: Path) -> None:
    assert kill_often(kind, len(MOMENTS), tmp_path, server) == []


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_fifty_kills(kind: Kind, server: LocalServer, tmp_path: Path) -> None:
    assert kill_often(kind, 50, tmp_path, server) == []
