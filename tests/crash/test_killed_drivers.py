"""Drivers that are killed or told to stop while their step is held: it is finished, and never started twice."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from hooks import RunDirectory, read_events, verify_run
from hooks.events.payloads import EffectSettled
from tests.cli.command import CommandLine
from tests.crash.steps import PATIENCE_S, HeldStep, held_step

DONE = {"step": {"stdout": "done\n", "exit_code": 0, "stdout_bytes": 5, "truncated": False}}


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.mark.parametrize("read_only", [True, False], ids=["read-only", "effect"])
def test_recover_waits_for_the_step_of_a_killed_driver_and_starts_no_second_copy(
    cli: CommandLine, read_only: bool
) -> None:
    """B07"""
    with held_step(cli, read_only=read_only) as step:
        step.kill_driver()
        recovery = step.start_recover()
        step.wait_for_driver(recovery)
        step.let_go()
        recovery.communicate(timeout=PATIENCE_S)

    assert recovery.returncode == 0
    assert step.view.output() == DONE
    assert step.calls == 1


def test_an_effect_that_ended_without_its_driver_is_settled_from_its_exit_file(cli: CommandLine) -> None:
    with held_step(cli) as step:
        step.kill_driver()
        step.let_go_to_its_end()
        recovered = step.recover()

    assert recovered.code == 0
    assert step.view.output() == DONE
    assert [settled.outcome for settled in _settlings(step)] == ["done"]
    assert step.calls == 1


def test_an_effect_whose_launcher_was_killed_too_is_in_doubt_and_never_done_again(cli: CommandLine) -> None:
    with held_step(cli) as step:
        step.kill_driver()
        step.kill_step_and_launcher()
        first = step.recover()
        log = step.log
        again = [step.recover().code for _ in range(2)]

    assert (first.code, again) == (10, [10, 10])
    assert step.log == log
    assert step.calls == 1
    assert verify_run(step.run) == []


def test_a_read_only_step_whose_launcher_was_killed_too_is_done_again(cli: CommandLine) -> None:
    with held_step(cli, read_only=True) as step:
        step.kill_driver()
        step.kill_step_and_launcher()
        recovery = step.start_recover()
        cli.wait_for_step()
        step.let_go()
        recovery.communicate(timeout=PATIENCE_S)

    assert recovery.returncode == 0
    assert step.view.output() == DONE
    assert step.calls == 2


def test_a_signal_lets_an_effect_finish_within_the_grace(cli: CommandLine) -> None:
    with held_step(cli, "--grace", "1h") as step:
        step.signal_driver()
        step.let_go()
        step.driver.communicate(timeout=PATIENCE_S)
        recovered = step.recover()

    assert step.driver.returncode == -signal.SIGTERM
    assert [settled.outcome for settled in _settlings(step)] == ["done"]
    assert recovered.code == 0
    assert step.calls == 1


@pytest.mark.parametrize("read_only", [True, False], ids=["read-only", "effect"])
@pytest.mark.parametrize("traps", ["", "trap '' TERM;"], ids=["obedient", "deaf to TERM"])
def test_a_second_signal_skips_the_grace(cli: CommandLine, traps: str, read_only: bool) -> None:
    with held_step(cli, "--grace", "1h", read_only=read_only, traps=traps) as step:
        step.signal_driver()
        step.signal_driver_until_it_ends()

    assert step.driver.returncode == -signal.SIGTERM
    assert verify_run(step.run) == []
    assert step.view.status.status == ("interrupted" if read_only else "in_doubt")


def test_a_step_that_was_told_to_stop_and_exits_0_is_not_done(cli: CommandLine) -> None:
    """B04"""
    traps = "trap 'echo half; exit 0' TERM;"
    with held_step(cli, read_only=True, traps=traps) as step:
        step.signal_driver()
        step.driver.communicate(timeout=PATIENCE_S)
        recovery = step.start_recover()
        cli.wait_for_step()
        step.let_go()
        recovery.communicate(timeout=PATIENCE_S)

    assert step.driver.returncode == -signal.SIGTERM
    assert recovery.returncode == 0
    assert step.view.output() == DONE
    assert step.calls == 2


def test_a_copy_of_a_run_is_taken_over_only_on_demand_and_its_exit_file_is_not_believed(cli: CommandLine) -> None:
    """The exit file was never synced: a copy or a backup may have it without what it speaks of."""
    with held_step(cli) as step:
        step.kill_driver()
        step.let_go_to_its_end()
    copy = RunDirectory(cli.runs / "copy")
    shutil.copytree(step.run.path, copy.path)
    refused = cli.hooks("recover", "copy")
    untouched = copy.log.read_bytes() == step.log
    taken_over = cli.hooks("recover", "copy", "--take-over")

    assert refused.code == 6
    assert "--take-over" in refused.err
    assert untouched
    assert taken_over.code == 10
    assert step.calls == 1


def _settlings(step: HeldStep) -> list[EffectSettled]:
    return [event.payload for event in read_events(step.run) if isinstance(event.payload, EffectSettled)]
