"""What steps and drivers leave behind them: processes in the background, locks, readers that have gone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cli.command import CommandLine

LEAVING = """\
workflow_id: leaving
version: 1
agents: {w: {kind: command, argv: [sh, -c, "sleep 9999 & echo $! >> left; cat"]}}
nodes:
  reads: {executor: shell, read_only: true, input: {script: "sleep 9999 & echo $! >> left; echo {}"}}
  does: {executor: shell, depends: [reads], input: {script: "sleep 9999 & echo $! >> left; echo {}"}}
  says: {agent: w, depends: [does], prompt: "${does.output.stdout}"}
"""
LATE = """\
workflow_id: late
version: 1
nodes:
  s: {executor: shell, read_only: true, timeout: 500ms, input: {script: "sleep 9999 & echo $! $$ > left; sleep 9999"}}
"""


def left(cli: CommandLine) -> list[int]:
    """The processes a workflow has told of that are still there."""
    pids = map(int, (cli.directory / "left").read_text().split())
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}/cwd")]


def test_a_child_that_holds_stdout_open_holds_up_nothing_and_is_ended_and_told(cli: CommandLine) -> None:
    """B22"""
    ended = cli.hooks("run", cli.write("leaving.yaml", LEAVING), "--run-id", "r")

    assert (ended.code, ended.document) == (0, {"says": "{}"})
    assert left(cli) == []
    told = [line["payload"] for line in cli.log_lines("r") if line["type"] == "leftoversEnded"]
    assert [(payload["nodeId"], payload["processes"]) for payload in told] == [("reads", 1), ("does", 1), ("says", 1)]


def test_the_whole_tree_of_a_step_is_gone_after_its_timeout(cli: CommandLine) -> None:
    """B18"""
    ended = cli.hooks("run", cli.write("late.yaml", LATE), "--grace", "1s", "-q")

    assert ended.code == 1
    assert "Timeout" in ended.err
    assert left(cli) == []


@pytest.mark.parametrize("verb", ["tick", "recover"])
def test_the_lock_of_a_killed_driver_is_nobodys(cli: CommandLine, verb: str) -> None:
    """B26"""
    with cli.under_way(cli.blocking()) as run:
        run.kill_driver()
        cli.let_go()
        ended = cli.hooks(verb, "last")

    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    "command",
    ["tail r | head -n 1", "ls | true", "show r | true", "logs r a | head -c 1", "run failing.yaml | head -n 1"],
)
def test_a_reader_that_leaves_early_gets_no_traceback(cli: CommandLine, command: str) -> None:
    """B41: what only reads ends with 0, what moves a run with the run's own code."""
    cli.write(
        "failing.yaml",
        "workflow_id: failing\nversion: 1\nnodes:\n"
        "  a: {executor: shell, read_only: true, input: {script: 'seq 100000; exit 1'}}\n",
    )
    cli.hooks("run", "failing.yaml", "--run-id", "r")
    hooks = cli.write("hooks", f'#!/bin/sh\nexec "{sys.executable}" -m hooks_cli "$@"\n')
    (cli.directory / hooks).chmod(0o755)

    done = subprocess.run(
        ["bash", "-c", f"./hooks {command}; exit ${{PIPESTATUS[0]}}"],
        cwd=cli.directory,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == (1 if command.startswith("run") else 0), done.stderr
    assert "Traceback" not in done.stderr
    assert "Broken pipe" not in done.stderr
