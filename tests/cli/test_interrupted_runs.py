"""Runs whose driver is alive, dies, or is told to stop."""

from __future__ import annotations

import signal

from tests.cli.command import CommandLine


def test_while_a_driver_lives_the_run_is_running_and_nobody_else_may_move_it(cli: CommandLine) -> None:
    """B26"""
    with cli.under_way(cli.blocking()) as run:
        (row,) = cli.hooks("ls", "--json").document["runs"]
        tick, recover = cli.hooks("tick", "last"), cli.hooks("recover", "last", "--json")
        events = cli.log_lines(cli.run_id())

    assert row["status"] == "running"
    assert (tick.code, recover.code) == (6, 6)
    assert f"process {run.driver.pid} " in tick.err
    assert recover.error["code"] == "RunLocked"
    assert events == cli.log_lines(cli.run_id())[: len(events)]
    assert run.driver.returncode == 0


def test_a_killed_driver_leaves_an_interrupted_run_whose_time_stands_still(cli: CommandLine) -> None:
    """B01"""
    with cli.under_way(cli.blocking()) as run:
        run.kill_driver()
        first, second = (cli.hooks("ls", "--json").document["runs"][0] for _ in range(2))
        shown, tailed = cli.hooks("show", "last"), cli.hooks("tail", "last")
        assert cli.hooks("run", "greeting.yaml").code == 0

    assert (first["status"], first["exit_code"]) == ("interrupted", 8)
    assert first["elapsed_ms"] == second["elapsed_ms"]
    assert f"hooks recover {first['run_id']}" in shown.out
    assert tailed.code == 8


def test_recover_goes_on_where_a_killed_driver_was(cli: CommandLine) -> None:
    """B01: the step that still runs is waited for, not started beside itself."""
    with cli.under_way(cli.blocking()) as run:
        run.kill_driver()
        recovery = cli.start("recover", "last")
    recovery.communicate(timeout=60)

    assert recovery.returncode == 0
    assert [line["type"] for line in cli.log_lines(cli.run_id())].count("runSucceeded") == 1


def test_an_effect_nobody_saw_end_stops_the_run_in_doubt(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking(read_only=False)) as run:
        run.kill_driver()
        run.kill_step()
    recovered = cli.hooks("recover", "last")

    assert recovered.code == 10
    assert f"hooks resolve {cli.run_id()} step --done\n" in recovered.err
    assert cli.hooks("show", "last", "--field", "status").out == "in_doubt\n"
    assert cli.hooks("tail", "last").code == 10


def test_a_signal_ends_the_command_and_leaves_the_run_to_be_recovered(cli: CommandLine) -> None:
    file = cli.blocking()
    with cli.under_way(file, "--grace", "1ms") as run:
        run.driver.send_signal(signal.SIGTERM)
        run.driver.wait(timeout=60)

    assert run.driver.returncode == -signal.SIGTERM
    assert cli.hooks("show", "last", "--field", "status").out in ("interrupted\n", "pending\n")


def test_recover_of_a_finished_run_returns_its_code_and_changes_nothing(cli: CommandLine) -> None:
    """B42"""
    cli.hooks("run", "failing.yaml")
    events = cli.log_lines(cli.run_id())

    assert cli.hooks("recover", "last").code == 1
    assert cli.hooks("tail", "last").code == 1
    assert cli.log_lines(cli.run_id()) == events


def test_recover_and_tick_all_mean_the_unfinished_runs(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml")

    assert cli.hooks("recover", "--all", "--json").document == {"schema": "hooks.recover/1", "exit_code": 0, "runs": []}
    assert cli.hooks("tick", "--all").code == 0
    assert cli.hooks("tick").code == 2


def test_a_dry_recovery_shows_what_would_be_done(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking()) as run:
        run.kill_driver()
        events = cli.log_lines(cli.run_id())
        ended = cli.hooks("recover", "--all", "--dry-run")

    assert f"hooks recover {cli.run_id()}" in ended.out
    assert cli.log_lines(cli.run_id()) == events


def test_a_hook_that_says_no_blocks_the_run(cli: CommandLine) -> None:
    cli.write("no.py", "from hooks import block\n\n\ndef no(payload):\n    return block('not today')\n")
    cli.write("hooks.yaml", "hooks:\n  - {on: component_pre_execute, python: 'no.py:no', match: {node: [loud]}}\n")

    ended = cli.hooks("run", "greeting.yaml", "--hooks", "hooks.yaml")

    assert ended.code == 3
    assert "not today" in ended.err
    assert f"hooks show {cli.run_id()} --node loud" in ended.err
