"""A disk that fails while a step is running: the driver stops, the step does not, and nothing is lost. B30"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks import RunDirectory, verify_run
from tests.cli.command import CommandLine
from tests.crash.crash_matrix import FAULTY

BESIDE = """\
workflow_id: beside
version: 1
nodes:
  slow: {executor: shell, read_only: true, input: {script: "echo x >> calls; echo $$ > started; read line < gate"}}
  quick: {executor: shell, read_only: true, input: {script: "read line < hold; echo quick"}}
  after: {executor: shell, read_only: true, depends: [quick], input: {argv: [echo, after]}}
"""


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def test_a_step_under_way_outlives_the_driver_whose_disk_failed(cli: CommandLine) -> None:
    """Nothing but the one error is said, and the next driver waits for the step instead of starting it again."""
    cli.write("beside.yaml", BESIDE)
    for fifo in ("started", "gate", "hold"):
        os.mkfifo(cli.directory / fifo)
    third_change_of_the_log = [cli.runs / "r" / "events.jsonl", cli.directory / "points", "ENOSPC", "3"]
    driver = subprocess.Popen(
        [sys.executable, FAULTY, *third_change_of_the_log, "run", "beside.yaml", "--run-id", "r", "-q"],
        cwd=cli.directory,
        env=cli.environment,
        stderr=subprocess.PIPE,
    )
    cli.wait_for_step()
    (cli.directory / "hold").write_text("go\n")
    _, said = driver.communicate(timeout=60)
    recovery = cli.start("recover", "r")
    (cli.directory / "gate").write_text("go\n")
    recovery.communicate(timeout=60)

    assert driver.returncode == 74
    assert len(said.splitlines()) == 3, said.decode()
    assert recovery.returncode == 0
    assert (cli.directory / "calls").read_text() == "x\n"
