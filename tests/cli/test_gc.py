"""gc: only what nobody needs to move any more is thrown away."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cli.command import HOOKS, CommandLine
from tests.cli.test_reading_runs import damage_middle
from tests.cli.workflows import ONE_GATE


def runs(cli: CommandLine) -> list[str]:
    return sorted(path.name for path in cli.runs.iterdir())


def test_unfinished_doubtful_live_and_damaged_runs_stay(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml", "--run-id", "failed")
    cli.hooks("run", "greeting.yaml", "--run-id", "succeeded")
    cli.hooks("run", "greeting.yaml", "--run-id", "damaged")
    cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "waiting")
    damage_middle(cli, "damaged")
    with cli.under_way(cli.blocking(read_only=False), "--run-id", "in-doubt") as run:
        run.kill_driver()
        run.kill_step()
    cli.hooks("cancel", "in-doubt")
    with cli.under_way(cli.blocking(), "--run-id", "live"):
        ended = cli.hooks("gc", "--yes", "--json")

    assert ended.code == 0
    assert {(run["run_id"], run["status"]) for run in ended.document["removed"]} == {
        ("failed", "failed"),
        ("succeeded", "succeeded"),
    }
    assert runs(cli) == ["damaged", "in-doubt", "live", "waiting"]


def test_the_newest_can_be_kept_and_the_young(cli: CommandLine) -> None:
    for run_id in ("a", "b", "c"):
        cli.hooks("run", "greeting.yaml", "--run-id", run_id)

    assert cli.hooks("gc", "--yes", "--older-than", "1h").err == "0 runs removed.\n"
    assert cli.hooks("gc", "--yes", "--keep", "2").err == "1 run removed.\n"
    assert runs(cli) == ["b", "c"]


def test_a_dry_run_lists_and_changes_nothing(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "a")

    ended = cli.hooks("gc", "--dry-run")

    assert ended.code == 0
    assert ended.out.splitlines()[1].split()[:2] == ["a", "succeeded"]
    assert cli.hooks("gc", "--dry-run", "--json").document["dry_run"] is True
    assert runs(cli) == ["a"]


def test_without_a_terminal_it_needs_to_be_told_yes(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "a")

    ended = cli.hooks("gc")

    assert ended.code == 2
    assert "--yes" in ended.err
    assert runs(cli) == ["a"]


@pytest.mark.parametrize(("answer", "left"), [(b"y\n", []), (b"n\n", ["a"]), (b"\n", ["a"])])
def test_at_a_terminal_it_asks(cli: CommandLine, answer: bytes, left: list[str]) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "a")
    controller, terminal = os.openpty()

    with subprocess.Popen(
        [*HOOKS, "gc"], cwd=cli.directory, env=cli.environment, stdin=terminal, stderr=terminal, stdout=terminal
    ) as process:
        os.write(controller, answer)
        process.wait(timeout=60)
    asked = os.read(controller, 10_000)
    os.close(controller)
    os.close(terminal)

    assert b"Remove 1 finished run for good? [y/N]" in asked
    assert runs(cli) == left


def test_leftovers_of_one_that_died_are_removed(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "a")
    for leftover in (".trash-1", ".new-1"):
        (cli.runs / leftover / "blobs").mkdir(parents=True)
        (cli.runs / leftover / "driver.lock").write_text("")

    assert cli.hooks("gc", "--keep", "1").code == 0
    assert runs(cli) == ["a"]


def test_no_runs_dir_is_nothing_to_do(cli: CommandLine) -> None:
    assert cli.hooks("gc").code == 0
