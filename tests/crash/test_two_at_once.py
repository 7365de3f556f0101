"""Commands that meet on one runs directory or on one run. B09, B26, B28"""

from __future__ import annotations

import json
import os
import select
import subprocess
from pathlib import Path

import pytest

from hooks import RunDirectory, read_run, verify_run
from hooks.ids import NodeId
from tests.cli.command import CommandLine
from tests.crash.steps import PATIENCE_S, held_step

APPENDING = """\
workflow_id: appending
version: 1
nodes:
  line: {executor: shell, input: {script: "echo x >> calls; echo done"}}
"""


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def test_runs_started_in_one_instant_are_whole_and_apart(cli: CommandLine) -> None:
    cli.write("appending.yaml", APPENDING)
    for _ in range(20):
        pair = [cli.start("run", "appending.yaml", "-q") for _ in range(2)]
        said = [command.communicate(timeout=PATIENCE_S) for command in pair]
        assert [command.returncode for command in pair] == [0, 0], said

    names = [path.name for path in cli.runs.iterdir()]
    runs = [RunDirectory(cli.runs / name) for name in names]
    assert len(runs) == 40
    assert not any(name.startswith(".") for name in names)
    assert [verify_run(run) for run in runs] == [[]] * 40
    assert {read_run(run).state.root.nodes[NodeId("line")].status for run in runs} == {"succeeded"}
    assert (cli.directory / "calls").read_text() == "x\n" * 40


def test_one_run_id_taken_by_two_in_one_instant_is_one_run(cli: CommandLine) -> None:
    """One makes the run; the other goes on with it, or finds it busy."""
    cli.write("appending.yaml", APPENDING)
    for number in range(5):
        pair = [cli.start("run", "appending.yaml", "-q", "--run-id", f"r{number}") for _ in range(2)]
        said = [command.communicate(timeout=PATIENCE_S) for command in pair]
        assert sorted(command.returncode for command in pair) in ([0, 0], [0, 6]), said
        assert verify_run(RunDirectory(cli.runs / f"r{number}")) == []

    assert (cli.directory / "calls").read_text() == "x\n" * 5


def test_of_two_recoveries_of_a_run_the_second_changes_nothing(cli: CommandLine) -> None:
    with held_step(cli) as step:
        step.kill_driver()
        both = [step.start_recover() for _ in range(2)]
        refused = _first_to_end(both)
        log, lock = step.log, step.run.lock.read_bytes()
        again = step.recover()
        untouched = (step.log, step.run.lock.read_bytes()) == (log, lock)
        step.let_go()
        said = [recovery.communicate(timeout=PATIENCE_S) for recovery in both]

    assert (refused.returncode, again.code) == (6, 6), said
    assert sorted(recovery.returncode for recovery in both) == [0, 6]
    assert untouched
    assert step.calls == 1
    assert verify_run(step.run) == []


def test_of_twenty_recoveries_in_one_instant_one_works(cli: CommandLine) -> None:
    """The effect is done once, and the numbers of the log have no gap and no repeat."""
    with held_step(cli) as step:
        step.kill_driver()
        recoveries = [step.start_recover() for _ in range(20)]
        for _ in range(19):
            assert _first_to_end(recoveries).returncode == 6
        step.let_go()
        for recovery in recoveries:
            recovery.communicate(timeout=PATIENCE_S)

    assert sorted(recovery.returncode for recovery in recoveries) == [0, *[6] * 19]
    assert step.calls == 1
    seqs = [json.loads(line)["seq"] for line in step.log.splitlines()]
    assert seqs == list(range(1, len(seqs) + 1))


def _first_to_end(commands: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """The first of `commands` to end that had not been seen to; it counts as seen then."""
    running = {os.pidfd_open(command.pid): command for command in commands if command.returncode is None}
    ended, _, _ = select.select(running, [], [], PATIENCE_S)
    for descriptor in running:
        os.close(descriptor)
    first = running[ended[0]]
    first.wait()
    return first
