"""A disk that fails while a step is running: the driver stops, the step does not, and nothing is lost. B30"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks import RunDirectory, read_run, verify_run
from tests.cli.command import CommandLine
from tests.crash.disks import disk_of_one_mebibyte
from tests.crash.faults import FAULTY

BESIDE = """\
workflow_id: beside
version: 1
nodes:
  slow: {executor: shell, read_only: true, input: {script: "echo x >> calls; echo $$ > started; read line < gate"}}
  quick: {executor: shell, read_only: true, input: {script: "read line < hold; echo quick"}}
  after: {executor: shell, read_only: true, depends: [quick], input: {argv: [echo, after]}}
"""

STEPS = 20
GROWING_AGENT = """\
def answer(prompt):
    with open("calls", "a") as file:
        file.write(f"{prompt}\\n")
    return prompt * 3_500
"""
GROWING = """\
workflow_id: growing
version: 1
agents:
  grow: {kind: python, callable: "agent.py:answer"}
nodes:
""" + "".join(
    f"  n{number}: {{agent: grow, depends: [{f'n{number - 1}' if number else ''}], prompt: n{number}}}\n"
    for number in range(STEPS)
)


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of_one_mebibyte(tmp_path / "disk") as disk:
        yield disk


def test_a_step_under_way_outlives_the_driver_whose_disk_failed(cli: CommandLine) -> None:
    """Nothing but the one error is said, and the next driver waits for the step instead of starting it again."""
    cli.write("beside.yaml", BESIDE)
    for fifo in ("started", "gate", "hold"):
        os.mkfifo(cli.directory / fifo)
    third_change_of_the_log = [str(cli.runs / "r" / "events.jsonl"), str(cli.directory / "points"), "ENOSPC", "3"]
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


def test_a_full_disk_stops_the_run_and_loses_nothing(small_disk: Path, cli: CommandLine) -> None:
    """B30"""
    cli.write("agent.py", GROWING_AGENT)
    cli.write("growing.yaml", GROWING)
    filler = small_disk / "filler"
    filler.write_bytes(b"\0" * (1024 - 160) * 1024)
    full = cli.hooks("run", "growing.yaml", "--runs-dir", str(small_disk), "--run-id", "r", "-q")
    run = RunDirectory(small_disk / "r")
    committed, calls = read_run(run).state.root, _calls(cli)
    still_full = cli.hooks("recover", str(run.path), "-q")
    filler.unlink()
    recovered = cli.hooks("recover", str(run.path), "-q")

    assert full.code == 74
    assert str(small_disk) in full.err
    assert "No space left on device" in full.err
    assert still_full.code == 74
    assert 0 < committed.finished < STEPS
    assert recovered.code == 0
    assert verify_run(run) == []
    finished = [node_id for node_id, node in committed.nodes.items() if node.status == "succeeded"]
    assert [_calls(cli).count(node) for node in finished] == [calls.count(node) for node in finished]
    assert set(_calls(cli)) == {f"n{number}" for number in range(STEPS)}


def _calls(cli: CommandLine) -> list[str]:
    return (cli.directory / "calls").read_text().splitlines()
