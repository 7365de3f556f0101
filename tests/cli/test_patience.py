"""wait, --timeout and --accept: how long a command stays, and which of the runs' codes it takes for success."""

from __future__ import annotations

import signal

from tests.cli.command import CommandLine
from tests.cli.workflows import ONE_GATE, TWO_GATES


def test_wait_returns_the_code_of_a_run_that_another_process_drives(cli: CommandLine) -> None:
    """B42"""
    with cli.under_way(cli.blocking()):
        waiting = cli.start("wait", "last", "--json")
    out, _ = waiting.communicate(timeout=60)

    assert waiting.returncode == 0
    assert b'"status":"succeeded"' in out


def test_wait_ends_when_nobody_moves_the_run(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml", "--run-id", "bad")
    cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "gated")

    assert cli.hooks("wait", "bad").code == 1
    assert cli.hooks("wait", "gated").code == 4
    assert cli.hooks("wait", "bad", "gated").code == 1


def test_a_wait_that_takes_too_long_exits_124_and_leaves_the_run_alone(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking()) as run:
        ended = cli.hooks("wait", "last", "--timeout", "50ms", "--json")

    assert (ended.code, ended.error["code"]) == (124, "TimedOut")
    assert run.driver.returncode == 0


def test_a_run_that_takes_too_long_is_stopped_and_can_be_recovered(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking(), "--timeout", "2s", "--grace", "1ms") as run:
        run.driver.wait(timeout=60)

    assert run.driver.returncode == 124
    recovery = cli.start("recover", "last", "-q")
    cli.wait_for_step()
    cli.let_go()
    recovery.communicate(timeout=60)
    assert recovery.returncode == 0


def test_a_timeout_that_does_not_come_changes_nothing(cli: CommandLine) -> None:
    assert cli.hooks("run", "greeting.yaml", "--timeout", "1h").document == {"loud": "HELLO WORLD"}


def test_a_signal_of_others_is_no_timeout(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking(), "--timeout", "1h", "--grace", "1ms") as run:
        run.driver.send_signal(signal.SIGTERM)
        run.driver.wait(timeout=60)

    assert run.driver.returncode == -signal.SIGTERM


def test_a_driver_that_stays_at_a_gate_gives_up_in_time(cli: CommandLine) -> None:
    ended = cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "r", "--wait", "--timeout", "1s")

    assert ended.code == 124
    assert cli.hooks("show", "r", "--field", "status").out == "waiting\n"


def test_codes_can_be_accepted(cli: CommandLine) -> None:
    cli.write("gated.yaml", ONE_GATE)

    assert cli.hooks("run", "gated.yaml", "--run-id", "r", "--accept", "waiting,in_doubt").code == 0
    assert cli.hooks("tick", "r", "--accept", "pending").code == 4
    assert cli.hooks("recover", "r", "--accept", "waiting").code == 0
    assert cli.hooks("wait", "r", "--accept", "waiting").code == 0
    with cli.under_way(cli.blocking(), "--run-id", "busy"):
        busy = cli.hooks("tick", "busy", "--accept", "busy", "--json")
    assert busy.code == 0
    assert [(row["status"], row["exit_code"]) for row in busy.document["runs"]] == [("running", 6)]


def test_what_is_accepted_does_not_hide_what_is_not(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("gated.yaml", TWO_GATES), "--run-id", "gated")
    cli.hooks("run", "failing.yaml", "--run-id", "bad")

    assert cli.hooks("wait", "gated", "bad", "--accept", "waiting").code == 1
