"""A workflow with an effect of every kind, a gate, a fan-out and a decision loop, and what it leaves in the world.

Whatever happens once adds a line to a file of its own below `world`, apart from the request, which a real server on the
loopback counts. That the file effects are made by the driver itself is why `world` lies below what can be struck.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hooks import RunDirectory, read_run
from hooks.kernel.state import AttemptState
from hooks.runtime.reading import RunView
from tests.cli.command import CommandLine, Ended
from tests.executors.http_server import LocalServer

RUN = "r"
_MOST_COMMANDS = 20

_WORKFLOW = """\
workflow_id: every-kind
version: 1
params:
  items: {type: array, default: [a, b]}
defaults: {max_concurrency: 1}
agents:
  acting: {kind: command, argv: [sh, -c, "cat; echo x >> world/acted"], repeatable: false}
nodes:
  looked: {executor: shell, input: {argv: [sh, -c, "echo x >> world/looked"], lookup: [test, -s, world/looked]}}
  plain: {executor: shell, input: {script: "echo x >> world/plain; test ! -e dies || kill -9 $$"}}
  appended: {executor: file, input: {path: world/appended, mode: append, content: "x\\n"}}
  written: {executor: file, input: {path: world/written, content: "x\\n"}}
  called: {executor: python, input: {callable: "effects.py:call"}}
  acted: {agent: acting, prompt: act}
  each: {executor: shell, for_each: "${params.items}", input: {argv: [sh, -c, 'echo x >> "world/each-$0"', "${item}"]}}
  posted:
    executor: http
    human_gate: {prompt: "Post it?"}
    input: {url: "@URL@", json: {}, settle: 1ms, lookup: {url: "@KNOWN@{key}"}}
  rounds: {body: [kept, ok], max_iterations: 3, terminate: {node: ok, via: human_gate}}
  kept: {executor: file, input: {path: world/kept, mode: append, content: "x\\n"}}
  ok: {type: decision, depends: [kept], human_gate: {prompt: "Enough?"}}
"""
_CALLED = """\
def call():
    with open("world/called", "a") as file:
        file.write("x\\n")
"""


@dataclass(frozen=True)
class World:
    """How often each effect was done, in whole or in part."""

    times: dict[str, int]

    @classmethod
    def with_rounds(cls, rounds: int) -> World:
        """The world of a run that succeeded after so many rounds."""
        once = ("looked", "plain", "appended", "written", "called", "acted", "each-a", "each-b", "posted")
        return cls({**dict.fromkeys(once, 1), "kept": rounds})

    def exceeds(self, limit: World) -> dict[str, int]:
        """What was done more often than `limit` has it."""
        return {effect: count for effect, count in self.times.items() if count > limit.times.get(effect, 0)}


@dataclass(frozen=True)
class EveryKind:
    """One run of the workflow in a directory of its own, moved by real processes."""

    root: Path
    server: LocalServer

    @property
    def cli(self) -> CommandLine:
        return CommandLine(self.root)

    @property
    def run(self) -> RunDirectory:
        return RunDirectory(self.root / "runs" / RUN)

    @property
    def view(self) -> RunView:
        return read_run(self.run)

    @property
    def start_words(self) -> list[str]:
        return ["run", "workflow.yaml", "--run-id", RUN, "-q"]

    @property
    def _path(self) -> str:
        return f"/json{self.root}"

    def write_files(self, *, dies: bool = False) -> None:
        """`dies`: the script of `plain` kills itself when its work is done, so that the effect is in doubt."""
        (self.root / "world").mkdir(parents=True)
        text = _WORKFLOW.replace("@URL@", self.server.url(self._path)).replace("@KNOWN@", self.server.url("/known/"))
        (self.root / "workflow.yaml").write_text(text)
        (self.root / "effects.py").write_text(_CALLED)
        if dies:
            (self.root / "dies").touch()

    def world(self) -> World:
        files = {path.name: path.read_text().count("x") for path in (self.root / "world").iterdir()}
        posted = sum(asked.method == "POST" and asked.path == self._path for asked in self.server.asked)
        return World({**files, "posted": posted} if posted else files)

    def go_on(self) -> Ended:
        """Go on as a person would: with the run, or, if it never came to be, with the same command again."""
        return self.cli.hooks(*(["recover", RUN, "-q"] if self.run.path.exists() else self.start_words))

    def move_to_an_end(self) -> list[int]:
        """Approve what waits, tell the truth about what is in doubt, and recover, until nothing of it helps any more.

        The codes of all `recover`s. Raises AssertionError if a run can be moved by none of these.
        """
        codes: list[int] = []
        for _ in range(_MOST_COMMANDS):
            codes.append(self.go_on().code)
            match codes[-1]:
                case 4:
                    for gate in self.open_gates():
                        self._say("approve", RUN, gate)
                case 10:
                    for attempt in list(self.view.state.in_doubt.values()):
                        self._say("resolve", RUN, attempt.activity_id, self._truth(attempt))
                case 0 | 1 | 3 | 5:
                    return codes
        raise AssertionError(f"the run comes to no end: {codes}")

    def open_gates(self) -> list[str]:
        return [wait.created.wait_id for wait in self.view.state.waits.values()]

    def _say(self, *words: str) -> None:
        said = self.cli.hooks(*words)
        assert said.code == 0, f"{words[0]}: exit code {said.code}: {said.err}"

    def _truth(self, attempt: AttemptState) -> str:
        """What somebody who has looked at the world says of the effect."""
        name = attempt.node_id if attempt.item is None else f"{attempt.node_id}-{'ab'[attempt.item]}"
        before = int(attempt.scope.rpartition(".")[2]) - 1 if attempt.scope else 0
        return "--done" if self.world().times.get(name, 0) > before else "--retry"
