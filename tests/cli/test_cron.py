"""tick --all and recover --all, as cron runs them."""

from __future__ import annotations

import shutil

from tests.cli.command import CommandLine
from tests.cli.test_reading_runs import damage_middle
from tests.cli.workflows import ONE_GATE


def test_nothing_is_printed_when_nothing_happens(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml")
    cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "gated")
    events = cli.log_lines("gated")

    for verb in ("tick", "recover"):
        ended = cli.hooks(verb, "--all", "-q", "--accept", "waiting")
        assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert cli.log_lines("gated") == events


def test_what_has_become_due_is_moved_and_told(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "gated", "-q")
    cli.hooks("approve", "gated")

    ended = cli.hooks("tick", "--all", "-q")

    assert ended.code == 0
    assert "gated succeeded" in ended.err
    assert (cli.directory / "out.txt").read_text() == "x\n"


def test_one_run_that_cannot_be_moved_does_not_keep_the_others(cli: CommandLine) -> None:
    cli.write("gated.yaml", ONE_GATE)
    for run_id in ("a-damaged", "b-copied", "c-good"):
        cli.hooks("run", "gated.yaml", "--run-id", run_id, "-q")
        cli.hooks("approve", run_id)
    damage_middle(cli, "a-damaged")
    shutil.copytree(cli.runs / "b-copied", cli.runs / "copy")
    shutil.rmtree(cli.runs / "b-copied")

    ended = cli.hooks("recover", "--all", "-q", "--json")

    assert ended.code == 9
    codes = {row["run_id"]: row["exit_code"] for row in ended.document["runs"]}
    assert codes == {"a-damaged": 9, "c-good": 0, "copy": 6}


def test_a_busy_run_is_no_news(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking()):
        ended = cli.hooks("tick", "--all", "-q", "--accept", "busy")

    assert (ended.code, ended.err) == (0, "")


def test_an_interrupted_run_is_gone_on_with(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking(), "--run-id", "r") as run:
        run.kill_driver()
        run.kill_step()
        recovery = cli.start("recover", "--all", "-q")
        cli.wait_for_step()
    recovery.communicate(timeout=60)

    assert recovery.returncode == 0


def test_an_overdue_gate_is_applied(cli: CommandLine) -> None:
    gated = ONE_GATE.replace('prompt: "Write it?"', 'prompt: "Write it?", deadline: 1ms, on_timeout: success')
    cli.hooks("run", cli.write("gated.yaml", gated), "--run-id", "r", "-q")

    assert cli.hooks("tick", "--all", "-q").code == 0
    assert cli.hooks("show", "r", "--field", "status").out == "succeeded\n"
