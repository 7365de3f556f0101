"""cancel: what it ends, what it waits for, and what it says."""

from __future__ import annotations

import os
import signal

from tests.cli.command import CommandLine
from tests.cli.workflows import REVIEW, TWO_GATES


def test_cancel_returns_when_the_run_is_over_and_the_waiting_run_exits_5(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking()) as run:
        cancelled = cli.hooks("cancel", "last", "--reason", "enough", "--json")
        run.driver.communicate(timeout=60)

    assert cancelled.code == 0
    (document,) = cancelled.document["runs"]
    assert (cancelled.document["exit_code"], document["status"], document["exit_code"]) == (0, "cancelled", 5)
    assert run.driver.returncode == 5
    events = cli.log_lines(cli.run_id())
    assert events[-1]["payload"] == {"reason": "enough"}
    assert "cancelDelivered" in [event["type"] for event in events]


def test_the_whole_tree_of_a_step_is_gone_when_cancel_returns(cli: CommandLine) -> None:
    """B18"""
    os.mkfifo(cli.directory / "started")
    cli.write(
        "tree.yaml",
        "workflow_id: tree\nversion: 1\nnodes:\n  s: {executor: shell, read_only: true, "
        "input: {script: 'sleep 9999 & echo $! > child; echo $$ > started; sleep 9999'}}\n",
    )
    with cli.start("run", "tree.yaml", "-q") as driver:
        shell = cli.wait_for_step()
        child = int((cli.directory / "child").read_text())
        assert cli.hooks("cancel", "last").code == 0
        driver.communicate(timeout=60)

    assert not any(os.path.exists(f"/proc/{pid}/cwd") for pid in (shell, child))
    assert driver.returncode == 5


def test_a_step_that_was_told_to_stop_is_cancelled_whatever_its_exit_code(cli: CommandLine) -> None:
    """B04, B20"""
    os.mkfifo(cli.directory / "started")
    cli.write(
        "deaf.yaml",
        "workflow_id: deaf\nversion: 1\nnodes:\n  s: {executor: shell, read_only: true, "
        "input: {script: \"trap 'echo half; rm temporary; exit 0' TERM; touch temporary; echo $$ > started; "
        'while :; do sleep 0.05 || :; done"}}\n',
    )
    with cli.start("run", "deaf.yaml", "-q") as driver:
        cli.wait_for_step()
        assert cli.hooks("cancel", "last").code == 0
        driver.communicate(timeout=60)

    assert cli.hooks("show", "last", "--field", "nodes.s.status").out == "cancelled\n"
    assert cli.hooks("show", "last", "--field", "nodes.s.output").out == "null\n"
    assert not (cli.directory / "temporary").exists()
    assert cli.hooks("recover", "last").code == 5


def test_a_run_without_a_driver_is_cancelled_as_well(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("gated.yaml", TWO_GATES), "--run-id", "gates", "-q")
    with cli.under_way(cli.blocking(), "--run-id", "killed") as run:
        run.kill_driver()
        ended = cli.hooks("cancel", "gates", "killed", "--grace", "1s")

    assert ended.code == 0
    assert [row["status"] for row in cli.hooks("ls", "--json").document["runs"]] == ["cancelled", "cancelled"]


def test_a_stopped_driver_is_woken(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking()) as run:
        run.driver.send_signal(signal.SIGSTOP)
        cancelled = cli.hooks("cancel", "last")
        run.driver.communicate(timeout=60)

    assert cancelled.code == 0
    assert cli.hooks("show", "last", "--field", "status").out == "cancelled\n"


def test_an_effect_nobody_knows_of_makes_it_exit_10(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking(read_only=False)) as run:
        run.kill_driver()
        run.kill_step()
        ended = cli.hooks("cancel", "last")

    assert ended.code == 10
    assert f"hooks resolve {cli.run_id()} step --done\n" in ended.err
    assert "cancelled, in doubt" in cli.hooks("ls", "--status", "in_doubt").out
    assert cli.hooks("cancel", "last").code == 10
    assert cli.hooks("recover", "last").code == 10


def test_a_late_cancel_is_a_note_and_no_event(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml", "--run-id", "bad")
    cli.hooks("run", "greeting.yaml", "--run-id", "good")
    events = [cli.log_lines("bad"), cli.log_lines("good")]

    ended = cli.hooks("cancel", "bad", "good")

    assert ended.code == 0
    assert "good has ended already" in ended.err
    assert [cli.log_lines("bad"), cli.log_lines("good")] == events


def test_one_node_is_cancelled_and_counts_as_failed_for_the_run(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("gated.yaml", TWO_GATES), "--run-id", "r", "-q")

    assert cli.hooks("cancel", "r", "--node", "lfet").code == 7
    assert cli.hooks("cancel", "r", "--node", "left").code == 0
    assert cli.hooks("recover", "r", "-q").code == 1
    assert cli.hooks("show", "r", "--field", "nodes.left.status").out == "cancelled\n"


def test_who_cancelled_and_why_is_shown_of_the_run_and_of_what_it_ended(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("gated.yaml", TWO_GATES), "--run-id", "r", "-q")
    cli.hooks("cancel", "r", "--node", "left", "--by", "ann", "--reason", "not this one")
    cli.hooks("cancel", "r", "--by", "dana", "--reason", "wrong team")

    run, page = cli.hooks("show", "r", "--json").document, cli.hooks("show", "r").out
    left, right = (cli.hooks("show", "r", "--node", node, "--json").document for node in ("left", "right"))

    of_run = {"node": None, "by": "dana", "reason": "wrong team"}
    of_left = {"node": "left", "by": "ann", "reason": "not this one"}
    assert run["cancels"] == [of_run, of_left]
    assert (left["cancelled_by"], right["cancelled_by"]) == (of_left, of_run)
    assert "Cancelled    by dana: wrong team\nCancelled    left by ann: not this one\n" in page
    assert "Cancelled    by dana: wrong team\n" in cli.hooks("show", "r", "--node", "right").out


def test_of_a_loop_the_node_of_the_round_under_way_is_meant(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("review.yaml", REVIEW), "--run-id", "r", "-q")
    cli.hooks("reject", "r")
    cli.hooks("recover", "r", "-q")

    assert cli.hooks("cancel", "r", "--node", "ok").code == 0
    requested = [line["payload"] for line in cli.log_lines("r") if line["type"] == "cancelRequested"]
    assert [payload["node"] for payload in requested] == [{"nodeId": "ok", "scope": "rounds.2"}]
