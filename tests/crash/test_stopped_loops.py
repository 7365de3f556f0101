"""A sampling loop that is cancelled, runs out of time, or whose driver is told to stop, wherever it stands.

On a cancel and a timeout the loop ends, and the hooks are told; a driver that stops leaves it to the next one. No
process is left in any case.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hooks import verify_run
from tests.cli.command import CommandLine
from tests.crash.held_loops import PATIENCE_S, PLACES, RESTING, RUN, WORKING, HeldLoop, held_loop


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def lasting() -> str:
    """A number of seconds that nobody else on this machine sleeps for."""
    return f"{random.randrange(10_000, 99_999)}.{os.getpid()}"


@pytest.mark.parametrize("place", PLACES)
def test_a_cancel_ends_the_loop_of_a_live_driver(cli: CommandLine, place: str, lasting: str) -> None:
    with held_loop(cli, place, "--grace", "1s", lasting=lasting) as loop:
        cancelled = cli.hooks("cancel", RUN)
        code = loop.wait()
        survivors = loop.survivors

    assert cancelled.code == 0, cancelled.err
    assert code == (4 if place == "gate" else 5)
    check_cancelled(loop, survivors)


@pytest.mark.parametrize("place", PLACES)
def test_a_cancel_ends_the_loop_of_a_dead_driver(cli: CommandLine, place: str, lasting: str) -> None:
    with held_loop(cli, place, "--grace", "1s", lasting=lasting) as loop:
        loop.kill_driver()
        cancelled = cli.hooks("cancel", RUN)
        survivors = loop.survivors

    assert cancelled.code == 0, cancelled.err
    check_cancelled(loop, survivors)


def check_cancelled(loop: HeldLoop, survivors: list[str]) -> None:
    assert survivors == []
    assert [(end.success, end.failure_reason) for end in loop.ends] == [(False, "cancelled")]
    assert loop.ends_told == ["cancelled"]
    assert loop.observed == {"activities_cancelled", "run_finished"}
    assert loop.view.status.status == "cancelled"
    assert verify_run(loop.run) == []
    assert loop.cli.hooks("recover", RUN).code == 5


@pytest.mark.parametrize("place", WORKING)
def test_a_timeout_ends_the_loop_with_its_error(cli: CommandLine, place: str, lasting: str) -> None:
    with held_loop(cli, place, "--grace", "1s", lasting=lasting, fields="timeout: 2s") as loop:
        code = loop.wait()
        survivors = loop.survivors

    assert code == 1
    assert survivors == []
    (end,) = loop.ends
    assert end.error is not None
    assert (end.success, end.error.error_code) == (False, "Timeout")
    assert loop.ends_told == [end.failure_reason]
    assert verify_run(loop.run) == []


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupted_driver_leaves_the_loop_to_the_next(cli: CommandLine, place: str, lasting: str) -> None:
    with held_loop(cli, place, "--grace", "1s", lasting=lasting) as loop:
        loop.driver.send_signal(signal.SIGTERM)
        code = loop.wait()
        survivors, ends, status = loop.survivors, loop.ends, loop.view.status.status
        loop.let_go()
        recovered = cli.hooks("approve", RUN) if place == "gate" else None
        recovered = cli.hooks("recover", RUN) if place != "backoff" else recovered

    assert code == (4 if place == "gate" else -signal.SIGTERM)
    assert survivors == []
    assert ends == []
    assert status == {"gate": "waiting", "backoff": "pending"}.get(place, "interrupted")
    if recovered is not None:
        assert recovered.code == 0, recovered.err
        assert loop.ends_told == ["None"]
        assert len(loop.ends) == 1
        assert (cli.directory / "paid").read_text() == "x\n" * 2
    assert verify_run(loop.run) == []


@pytest.mark.parametrize("place", WORKING)
def test_a_second_signal_kills_what_does_not_hear_the_first(cli: CommandLine, place: str, lasting: str) -> None:
    with held_loop(cli, place, "--grace", "1h", lasting=lasting, deaf=True) as loop:
        give_up_at = time.monotonic() + PATIENCE_S
        while loop.driver.poll() is None and time.monotonic() < give_up_at:
            loop.driver.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                loop.driver.wait(timeout=0.2)
        survivors = loop.survivors
        loop.let_go()
        recovered = cli.hooks("recover", RUN)

    assert loop.driver.returncode == -signal.SIGTERM
    assert survivors == []
    assert recovered.code == 0, recovered.err


@pytest.mark.parametrize("place", RESTING)
def test_nothing_runs_where_the_loop_rests(cli: CommandLine, place: str, lasting: str) -> None:
    with held_loop(cli, place, lasting=lasting) as loop:
        assert loop.survivors == []
