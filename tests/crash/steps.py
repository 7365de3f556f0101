"""A workflow of one step that a test holds in its hand: it says that it runs, and waits to be let go."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hooks import RunDirectory, RunView, read_run
from tests.cli.command import CommandLine, Ended

RUN = "r"
PATIENCE_S = 60


@dataclass(frozen=True)
class HeldStep:
    """The run of one step. Every call of the step adds a line to `calls`, and lasts until `let_go`."""

    cli: CommandLine
    driver: subprocess.Popen[bytes]
    pid: int

    @property
    def run(self) -> RunDirectory:
        return RunDirectory(self.cli.runs / RUN)

    @property
    def view(self) -> RunView:
        return read_run(self.run)

    @property
    def log(self) -> bytes:
        return self.run.log.read_bytes()

    @property
    def calls(self) -> int:
        return len((self.cli.directory / "calls").read_text().splitlines())

    def kill_driver(self) -> None:
        self.driver.kill()
        self.driver.communicate(timeout=PATIENCE_S)

    def kill_step_and_launcher(self) -> None:
        """Nobody has seen then how the step ended."""
        os.killpg(os.getpgid(self.pid), signal.SIGKILL)

    def signal_driver(self) -> None:
        self.driver.send_signal(signal.SIGTERM)

    def signal_driver_until_it_ends(self) -> None:
        """Signals that come close together are one to their receiver: more are sent, until it has seen a second."""
        while self.driver.poll() is None:
            self.signal_driver()
            with suppress(subprocess.TimeoutExpired):
                self.driver.wait(timeout=0.2)

    def let_go(self) -> None:
        """Return once the step has taken the word to go on."""
        (self.cli.directory / "gate").write_text("go\n")

    def let_go_to_its_end(self) -> None:
        """Return once the launcher is gone: what there is to be known of the step is on disk then."""
        launcher = os.pidfd_open(os.getpgid(self.pid))
        self.let_go()
        # A pidfd can be read when its process has ended. The launcher of a dead driver is nobody's child to wait for.
        select.select([launcher], [], [], PATIENCE_S)
        os.close(launcher)

    def recover(self, *words: str) -> Ended:
        return self.cli.hooks("recover", RUN, "-q", *words)

    def start_recover(self) -> subprocess.Popen[bytes]:
        return self.cli.start("recover", RUN, "-q")

    def wait_for_driver(self, recovery: subprocess.Popen[bytes]) -> None:
        """Return once `recovery` has the run; it is at the step or on its way there then."""
        while self.run.driver() is None:
            assert recovery.poll() is None, recovery.communicate()
            with suppress(subprocess.TimeoutExpired):
                recovery.wait(timeout=0.01)


@contextmanager
def held_step(cli: CommandLine, *words: str, read_only: bool = False, traps: str = "") -> Iterator[HeldStep]:
    """`hooks run` under way, its step held; `words` are more of the command line, `traps` comes first in the script.

    On leaving, whatever still waits is ended, the driver too.
    """
    for fifo in ("started", "gate"):
        os.mkfifo(cli.directory / fifo)
    script = f"{traps} echo x >> calls; echo $$ > started; read line < gate; echo done"
    cli.write(
        "step.yaml",
        f"workflow_id: step\nversion: 1\nnodes:\n"
        f"  step: {{executor: shell, read_only: {str(read_only).lower()}, input: {{script: {script!r}}}}}\n",
    )
    driver = cli.start("run", "step.yaml", "--run-id", RUN, "-q", *words)
    step = HeldStep(cli, driver, cli.wait_for_step())
    try:
        yield step
    finally:
        step.driver.kill()
        step.driver.communicate(timeout=PATIENCE_S)
        with suppress(ProcessLookupError):
            step.kill_step_and_launcher()
