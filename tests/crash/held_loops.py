"""A sampling loop that a test holds: in a draw or in two at once, at a judge, a check, a backoff, or a gate."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hooks import RunDirectory, RunView, read_events, read_run
from hooks.events.payloads import SamplingLoopEnded
from tests.cli.command import CommandLine

RUN = "r"
PATIENCE_S = 60

WORKING = ("draw", "draws", "judge", "check")
"""Places where a process of the step is under way."""
RESTING = ("backoff", "gate")
"""Places where nothing is."""
PLACES = (*WORKING, *RESTING)

_WORK = """\
# ROLE: what this is. It holds where `held` has its role, until it is ended.
read -r first
{ while read -r _; do :; done; } 2>/dev/null
if [ "$(cat held)" = "$1" ]; then
    echo x >> started
    TRAPexec sleep LASTING
fi
case $1 in
writer) if [ "$(cat held)" = backoff ]; then echo busy >&2; exit 1; fi; echo x >> paid; echo good;;
critic) echo '{"passed": true, "score": 1, "reason": ""}';;
esac
"""
_HOOK = """\
from pathlib import Path
from hooks import ask

HERE = Path(__file__).parent

def note(payload):
    with (HERE / "ended").open("a") as file:
        file.write(f"{payload.failure_reason}\\n")

def observe(payload):
    with (HERE / "observed").open("a") as file:
        file.write(f"{payload.hook}\\n")

def doubt(payload):
    return ask("sure?") if (HERE / "held").read_text() == "gate" and payload.request_id.endswith("::2") else None
"""
_WORKFLOW = """\
workflow_id: held
version: 1
agents:
  writer: {kind: command, argv: [sh, work.sh, writer], error_classes: {retryable: [busy]}}
  critic: {kind: command, argv: [sh, work.sh, critic]}
hooks:
  - {name: note, on: sampling_loop_end, python: "note.py:note"}
  - {name: observe, on: [activities_cancelled, run_finished], python: "note.py:observe"}
  - {name: doubt, on: generation_pre_call, python: "note.py:doubt"}
nodes:
  told:
    agent: writer
    prompt: Tell.
    FIELDS
    retry: {max_attempts: 3, base: 1h, on: [retryable]}
    sampling: {strategy: best_of, loop_budget: 2, parallel: PARALLEL}
    requirements: [{name: short, command: [sh, work.sh, checker]}, {name: fine, judge: {agent: critic, prompt: Is it?}}]
"""
_ROLES = {"draw": "writer", "draws": "writer", "judge": "critic", "check": "checker"}


@dataclass(frozen=True)
class HeldLoop:
    """The run of one step that stands in its loop."""

    cli: CommandLine
    driver: subprocess.Popen[bytes]
    lasting: str

    @property
    def run(self) -> RunDirectory:
        return RunDirectory(self.cli.runs / RUN)

    @property
    def view(self) -> RunView:
        return read_run(self.run)

    @property
    def ends(self) -> list[SamplingLoopEnded]:
        return [event.payload for event in read_events(self.run) if isinstance(event.payload, SamplingLoopEnded)]

    @property
    def ends_told(self) -> list[str]:
        """What the hook of sampling_loop_end was told, each time it was asked."""
        noted = self.cli.directory / "ended"
        return noted.read_text().splitlines() if noted.exists() else []

    @property
    def observed(self) -> set[str]:
        """The points at which those who observe the run were told."""
        noted = self.cli.directory / "observed"
        return set(noted.read_text().splitlines()) if noted.exists() else set()

    @property
    def survivors(self) -> list[str]:
        """Processes of the step that still run."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if self.lasting.encode() in path.read_bytes():
                    found.append(path.parent.name)
        return found

    def kill_driver(self) -> None:
        self.driver.kill()
        self.driver.communicate(timeout=PATIENCE_S)

    def wait(self) -> int:
        self.driver.communicate(timeout=PATIENCE_S)
        return self.driver.returncode

    def let_go(self) -> None:
        """Whatever begins from now on holds no more."""
        (self.cli.directory / "held").write_text("")


@contextmanager
def held_loop(
    cli: CommandLine, place: str, *words: str, lasting: str, fields: str = "", deaf: bool = False
) -> Iterator[HeldLoop]:
    """`hooks run` until the loop stands in `place`; `deaf`: what holds does not hear TERM."""
    work = _WORK.replace("LASTING", lasting).replace("TRAP", "trap '' TERM; " if deaf else "")
    parallel = "2" if place == "draws" else "1"
    cli.write("work.sh", work)
    cli.write("note.py", _HOOK)
    cli.write("held", _ROLES.get(place, place))
    cli.write("held.yaml", _WORKFLOW.replace("FIELDS", fields).replace("PARALLEL", parallel))
    loop = HeldLoop(cli, cli.start("run", "held.yaml", "--run-id", RUN, "-q", *words), lasting)
    try:
        _wait_until_it_stands(loop, place)
        yield loop
    finally:
        loop.kill_driver()
        for pid in loop.survivors:
            subprocess.run(["kill", "-9", pid], check=False)


def _wait_until_it_stands(loop: HeldLoop, place: str) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not _stands(loop, place):
        assert time.monotonic() < give_up_at, f"the loop does not come to its {place}"
        assert place == "gate" or loop.driver.poll() is None, loop.driver.communicate()
        time.sleep(0.01)


def _stands(loop: HeldLoop, place: str) -> bool:
    if place == "gate":
        return loop.driver.poll() is not None
    if place == "backoff":
        return loop.run.log.exists() and b'"generationRetryScheduled"' in loop.run.log.read_bytes()
    started = loop.cli.directory / "started"
    return started.exists() and len(started.read_text().splitlines()) == (2 if place == "draws" else 1)
