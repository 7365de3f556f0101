"""Commands that meet on one run: one wins, everyone is told the truth, and nothing is lost or done twice. B09, B12"""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks import RunDirectory, list_runs, read_events, read_run, verify_run
from hooks.definition.model import Gate
from hooks.events.payloads import CancelRequested, WaitCreated, WaitResolved
from hooks.runtime.driving import in_own_loop
from hooks.runtime.requests import answer_gate
from tests.cli.command import CommandLine, Ended
from tests.crash.racing import race
from tests.crash.steps import PATIENCE_S, RUN, held_step
from tests.runtime.runs import Runs, sh

ANSWERS = [["approve"], ["reject"], ["cancel"]]


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.mark.parametrize("rounds", [pytest.param(200, marks=pytest.mark.sweep), 20])
def test_of_approve_reject_and_cancel_each_is_told_what_became_of_it(cli: CommandLine, runs: Runs, rounds: int) -> None:
    for number in range(rounds):
        runs.run(sh("a", f"echo x >> done-{number}", human_gate=Gate()), run_id=f"r{number}")
    told = race(cli, *([[*words, f"r{number}"] for words in ANSWERS] for number in range(rounds)))

    for number, (approve, reject, cancel) in enumerate(told):
        _check_told(RunDirectory(cli.runs / f"r{number}"), approve, reject, cancel)
    recovered = cli.hooks("recover", "--all", "-q")
    assert recovered.code in (0, 3, 5), recovered.err
    assert not list(cli.directory.glob("done-*"))


def _check_told(run: RunDirectory, approve: Ended, reject: Ended, cancel: Ended) -> None:
    """The codes say what the log says: at most one answer, the first, and a cancel of what was not over."""
    payloads = [event.payload for event in read_events(run)]
    answers = [payload.approved for payload in payloads if isinstance(payload, WaitResolved)]
    said = (approve.code, reject.code, cancel.code, approve.err, reject.err, cancel.err)
    assert len(answers) <= 1
    assert approve.code == (0 if answers == [True] else 7), said
    assert reject.code == (0 if answers == [False] else 7), said
    assert cancel.code == 0, said
    is_cancelled = any(isinstance(payload, CancelRequested) for payload in payloads)
    assert read_run(run).status.status == ("cancelled" if is_cancelled else "blocked"), said
    assert ("nothing to cancel" in cancel.err) == (not is_cancelled), said
    assert verify_run(run) == []


@pytest.mark.parametrize("rounds", [pytest.param(100, marks=pytest.mark.sweep), 10])
def test_an_approval_given_while_the_driver_leaves_is_never_lost(cli: CommandLine, rounds: int) -> None:
    """The gate has just opened, and its driver, which does not wait for answers, is on its way out."""
    cli.write(
        "gated.yaml",
        "workflow_id: gated\nversion: 1\nnodes:\n"
        '  a: {executor: shell, human_gate: {prompt: "?"}, input: {script: "echo x >> done-$RUN"}, '
        "env: {RUN: '${run.id}'}}\n",
    )
    for number in range(rounds):
        run_id = f"r{number}"
        run = RunDirectory(cli.runs / run_id)
        driver = cli.start("run", "gated.yaml", "--run-id", run_id, "-q")
        _wait_for_gate(run)
        answer = in_own_loop(
            answer_gate(run, wait_id=_gate_of(run), approved=True, by="ann", timeout_ms=PATIENCE_S * 1000)
        )
        driver.communicate(timeout=PATIENCE_S)
        recovered = cli.hooks("recover", run_id, "-q")

        assert answer.accepted
        assert driver.returncode in (0, 4, 8)
        assert recovered.code == 0, recovered.err
        assert (cli.directory / f"done-{run_id}").read_text() == "x\n"
        assert verify_run(run) == []


def _wait_for_gate(run: RunDirectory) -> None:
    while not run.log.exists() or b'"waitCreated"' not in run.log.read_bytes():
        pass


def _gate_of(run: RunDirectory) -> str:
    (created,) = [event.payload for event in read_events(run) if isinstance(event.payload, WaitCreated)]
    return created.wait_id


@pytest.mark.parametrize("read_only", [True, False], ids=["read-only", "effect"])
def test_a_cancel_ends_a_run_that_is_being_recovered(cli: CommandLine, read_only: bool) -> None:
    """What the cancelled step did is in doubt where nobody can tell; the driver that recovers and the cancel agree."""
    with held_step(cli, read_only=read_only) as step:
        step.kill_driver()
        recovery = step.start_recover()
        step.wait_for_driver(recovery)
        cancel = cli.hooks("cancel", RUN, "--grace", "100ms")
        recovery.communicate(timeout=PATIENCE_S)
        calls = step.calls

    assert (cancel.code, recovery.returncode) == ((0, 5) if read_only else (10, 10)), cancel.err
    assert step.view.status.status == "cancelled"
    assert calls == 1
    assert verify_run(step.run) == []


def test_two_passes_over_all_runs_at_once_do_nothing_twice(cli: CommandLine, runs: Runs) -> None:
    for number in range(5):
        runs.start(sh("a", f"echo x >> done-{number}"), run_id=f"r{number}").close()
    ((first, second),) = race(cli, [["tick", "--all", "-q"], ["tick", "--all", "-q"]])
    recovered = cli.hooks("recover", "--all", "-q")

    assert {first.code, second.code} <= {0, 6}, (first, second)
    assert recovered.code == 0, recovered.err
    assert [path.read_text() for path in cli.directory.glob("done-*")] == ["x\n"] * 5
    assert [verify_run(run) for run in list_runs(cli.runs)] == [[]] * 5


def test_gc_takes_no_run_that_is_not_over(cli: CommandLine, runs: Runs) -> None:
    """A run may be over by the time gc looks at it: then it is gone, and its effect is done all the same."""
    for number in range(5):
        runs.start(sh("a", f"echo x >> done-{number}"), run_id=f"r{number}").close()
        runs.run(sh("a", "true"), run_id=f"over{number}")
    ((gc, recover),) = race(cli, [["gc", "--yes"], ["recover", "--all", "-q"]])
    left = list_runs(cli.runs)

    assert gc.code == 0, gc.err
    assert recover.code == 0, recover.err
    assert sorted(path.read_text() for path in cli.directory.glob("done-*")) == ["x\n"] * 5
    assert not [run for run in left if run.run_id.startswith("over")]
    assert {read_run(run).status.status for run in left} <= {"succeeded"}
