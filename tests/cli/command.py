"""`hooks` as a person runs it: a real process in a directory of its own, and steps that say when they are under way."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOOKS = [sys.executable, "-m", "hooks_cli"]
_PATIENCE_S = 60


@dataclass(frozen=True)
class Ended:
    """What a command came to; `code` is negative for a signal, as subprocess has it."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """stdout, which is exactly one JSON document."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error object on stderr."""
        return json.loads(self.err.splitlines()[-1])["error"]

    @property
    def run_id(self) -> str:
        return self.err.splitlines()[0]


@dataclass(frozen=True)
class UnderWay:
    """A run going on: its driver, and the process of its step."""

    driver: subprocess.Popen[bytes]
    step: int

    def kill_driver(self) -> None:
        self.driver.kill()
        self.driver.wait()

    def kill_step(self) -> None:
        """Kill the step with its launcher, so that nobody has seen how it ended."""
        os.killpg(os.getpgid(self.step), signal.SIGKILL)


class CommandLine:
    """A directory with workflow files and runs, and the command in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.runs = directory / "runs"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "HOOKS_RUNS_DIR": str(self.runs),
            "LC_ALL": "C.UTF-8",
        }

    def write(self, name: str, text: str) -> str:
        (self.directory / name).write_text(text, encoding="utf-8")
        return name

    def hooks(self, *words: str, stdin: str = "", environment: Mapping[str, str] | None = None) -> Ended:
        done = subprocess.run(
            [*HOOKS, *words],
            cwd=self.directory,
            env={**self.environment, **(environment or {})},
            input=stdin.encode(),
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(
        self, *words: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*HOOKS, *words],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )

    def into_closed_pipe(self, *words: str) -> Ended:
        """The command with a stdout that nobody reads, as in `hooks … | true`."""
        reading, writing = os.pipe()
        os.close(reading)
        process = self.start(*words, stdout=writing)
        os.close(writing)
        _, err = process.communicate(timeout=_PATIENCE_S)
        return Ended(process.returncode, "", err.decode())

    def run_id(self) -> str:
        """The id of the only run."""
        (run,) = [path for path in self.runs.iterdir() if not path.name.startswith(".")]
        return run.name

    def log_lines(self, run_id: str) -> list[Any]:
        return [json.loads(line) for line in (self.runs / run_id / "events.jsonl").read_bytes().splitlines()]

    @contextmanager
    def under_way(self, file: str, *words: str) -> Iterator[UnderWay]:
        """`hooks run FILE` while its step (see `blocking`) waits for us; on leaving, the step is let go."""
        process = self.start("run", file, *words)
        step = self.wait_for_step()
        try:
            yield UnderWay(process, step)
        finally:
            self.let_go()
            process.communicate(timeout=_PATIENCE_S)

    def blocking(self, name: str = "blocking.yaml", *, read_only: bool = True) -> str:
        """A workflow of one step that says when it has started, waits to be let go, and prints `done`."""
        for fifo in ("started", "gate"):
            if not (self.directory / fifo).exists():
                os.mkfifo(self.directory / fifo)
        # The gate is open at its own end before the step says that it runs: whoever lets it go then is heard.
        script = "exec 3<> gate; echo $$ > started; read line <&3; echo done"
        return self.write(
            name,
            f"workflow_id: blocking\nversion: 1\nnodes:\n"
            f"  step: {{executor: shell, read_only: {str(read_only).lower()}, input: {{script: {script!r}}}}}\n",
        )

    def wait_for_step(self) -> int:
        """Return once the blocking step has started, with its process id."""
        reading = os.open(self.directory / "started", os.O_RDONLY | os.O_NONBLOCK)
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        assert poll.poll(_PATIENCE_S * 1000), "the step did not start"
        pid = int(os.read(reading, 100))
        os.close(reading)
        return pid

    def let_go(self) -> None:
        """Let the blocking step, if there is one, end."""
        try:
            writing = os.open(self.directory / "gate", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody waits at the gate
            return
        os.write(writing, b"go\n")
        os.close(writing)


TWO_STEPS = """\
workflow_id: greeting
version: 1
params:
  name: {type: string, default: world}
agents:
  shout: {kind: command, argv: [tr, a-z, A-Z]}
nodes:
  hello: {executor: shell, read_only: true, input: {argv: [echo, "hello ${params.name}"]}}
  loud: {agent: shout, depends: [hello], prompt: "${hello.output.stdout}"}
"""
FAILING = """\
workflow_id: failing
version: 1
nodes:
  good: {executor: shell, read_only: true, input: {argv: ["true"]}}
  bad: {executor: shell, read_only: true, depends: [good], input: {script: "echo went wrong >&2; exit 3"}}
"""
