"""What a command reports as not done is not done later either: its request is not left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.command import CommandLine
from tests.cli.test_reading_runs import damage_middle
from tests.cli.workflows import ONE_GATE

# A gate that stands open while another step runs; `out.txt` is what an approval leads to.
GATE_BESIDE = """
  write: {executor: file, human_gate: {prompt: "Write it?"}, input: {path: out.txt, content: x}}
"""


def requests_of(cli: CommandLine, run_id: str) -> list[str]:
    return sorted(path.name for path in (cli.runs / run_id / "inbox").iterdir())


def copied(cli: CommandLine, run_id: str) -> Path:
    """A copy of the run, the original gone."""
    shutil.copytree(cli.runs / run_id, cli.runs / "copy")
    shutil.rmtree(cli.runs / run_id)
    return cli.runs / "copy"


@pytest.mark.parametrize("words", [["approve", "copy"], ["reject", "copy"], ["cancel", "copy"]], ids="-".join)
def test_what_is_refused_of_a_copy_does_not_count_when_the_copy_is_taken_over(
    cli: CommandLine, words: list[str]
) -> None:
    cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "r", "-q")
    log = (copied(cli, "r") / "events.jsonl").read_bytes()

    refused = cli.hooks(*words, "--by", "mallory")

    assert refused.code == 6
    assert "--take-over" in refused.err
    assert requests_of(cli, "copy") == []
    assert (cli.runs / "copy" / "events.jsonl").read_bytes() == log
    assert cli.hooks("recover", "copy", "--take-over", "-q").code == 4
    assert "mallory" not in (cli.runs / "copy" / "events.jsonl").read_text()


def test_a_resolution_that_is_refused_of_a_copy_is_not_left_behind(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking(read_only=False), "--run-id", "r") as run:
        run.kill_driver()
        run.kill_step()
    cli.hooks("recover", "r", "-q")
    copied(cli, "r")

    assert cli.hooks("resolve", "copy", "step", "--done").code == 6

    assert requests_of(cli, "copy") == []
    assert cli.hooks("recover", "copy", "--take-over", "-q").code == 10


def test_an_approval_whose_driver_dies_and_leaves_damage_is_taken_back(cli: CommandLine) -> None:
    file = cli.blocking()
    (cli.directory / file).write_text((cli.directory / file).read_text() + GATE_BESIDE.lstrip("\n"))
    with cli.under_way(file, "--run-id", "r") as run:
        intact = wait_for_gate(cli)
        os.kill(run.driver.pid, signal.SIGSTOP)  # it answers nobody
        approving = cli.start("approve", "r", "write")
        wait_for_request(cli, approving)
        damage_middle(cli, "r")
        run.kill_driver()
        _, err = approving.communicate(timeout=60)
        run.kill_step()

    assert approving.returncode == 9, err
    assert requests_of(cli, "r") == []
    (cli.runs / "r" / "events.jsonl").write_bytes(intact)
    assert cli.hooks("show", "r", "--field", "nodes.write.status").out == "waiting\n"


def wait_for_gate(cli: CommandLine) -> bytes:
    log = cli.runs / "r" / "events.jsonl"
    while b'"waitCreated"' not in (data := log.read_bytes()) or not data.endswith(b"\n"):
        time.sleep(0.01)
    return data


def wait_for_request(cli: CommandLine, asking: subprocess.Popen[bytes]) -> None:
    while not any(name.endswith(".json") and name[0] != "." for name in requests_of(cli, "r")):
        assert asking.poll() is None
        time.sleep(0.01)
