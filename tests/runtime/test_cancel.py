"""Cancelling runs and nodes: with and without a driver, at gates, in backoff, with effects in flight."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hooks.definition.model import Gate, Retry
from hooks.events.payloads import ActivityCancelled, CancelDelivered, NodeReference
from hooks.runtime.driving import in_own_loop
from hooks.runtime.reading import read_run
from hooks.runtime.requests import Answer, request_cancel
from hooks.storage.verify import verify_run
from tests.runtime.runs import Runs, agent_step, sh, statuses

TIMEOUT_MS = 30_000
PATIENCE_S = 30


def cancel(runs: Runs, **fields: Any) -> Answer:
    return in_own_loop(request_cancel(runs.directory, **{"by": "ann", "timeout_ms": TIMEOUT_MS, **fields}))


@contextmanager
def driven_elsewhere(runs: Runs, tmp_path: Path, *nodes: Any, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The run, driven by another process until it stands somewhere in its first step."""
    with runs.start(*nodes, **options):
        pass
    driver = runs.drive_elsewhere()
    try:
        _wait_for(tmp_path / "started")
        yield driver
    finally:
        driver.kill()
        driver.wait()


def _wait_for(path: Path) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < give_up_at, f"{path} does not come"
        time.sleep(0.01)


def is_running(command: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if command == path.read_bytes().replace(b"\0", b" ").decode().strip():
                return True
        except OSError:
            continue
    return False


def test_a_cancel_ends_the_whole_tree_of_a_live_driver(runs: Runs, tmp_path: Path, lasting: str) -> None:
    """B18"""
    step = sh("a", f"touch {tmp_path}/started; sleep {lasting} & sleep {lasting}", read_only=True)
    with driven_elsewhere(runs, tmp_path, step, agent_step("b", depends=["a"]), grace_ms=300) as driver:
        given = cancel(runs, reason="enough")
        driver.wait(PATIENCE_S)

    assert driver.returncode == 5
    assert given.accepted
    assert not is_running(f"sleep {lasting}")
    assert runs.types[-3:] == ["nodeCancelled", "nodeCancelled", "runCancelled"]
    assert verify_run(runs.directory) == []


def test_a_step_gets_time_to_clean_up_and_both_signals_are_logged(runs: Runs, tmp_path: Path, lasting: str) -> None:
    """B20, B04"""
    cleans = f"trap 'rm {tmp_path}/temp; echo half; exit 0' TERM; touch {tmp_path}/temp"
    polite = sh("polite", f"{cleans} {tmp_path}/started; while :; do sleep 0.05; done", read_only=True)
    deaf = sh("deaf", f"trap '' TERM; sleep {lasting}", read_only=True)
    with driven_elsewhere(runs, tmp_path, deaf, polite, grace_ms=1_500):
        cancel(runs)

    signals = [
        (event.payload.node_id, event.payload.signal)
        for event in runs.events
        if isinstance(event.payload, CancelDelivered)
    ]
    assert not (tmp_path / "temp").exists()
    assert ("deaf", "SIGKILL") in signals
    assert ("polite", "SIGKILL") not in signals
    assert {node.status for node in read_run(runs.directory).state.root.nodes.values()} == {"cancelled"}
    assert not is_running(f"sleep {lasting}")


def test_a_cancel_works_with_a_dead_driver_whose_step_lives(runs: Runs, tmp_path: Path, lasting: str) -> None:
    step = sh("a", f"touch {tmp_path}/started; sleep {lasting}", read_only=True)
    with driven_elsewhere(runs, tmp_path, step, grace_ms=300) as driver:
        driver.kill()
        driver.wait()
        given = cancel(runs)

    assert given.view.status.exit_code == 5
    assert not is_running(f"sleep {lasting}")


def test_a_cancel_wakes_a_stopped_driver(runs: Runs, tmp_path: Path, lasting: str) -> None:
    step = sh("a", f"touch {tmp_path}/started; sleep {lasting}", read_only=True)
    with driven_elsewhere(runs, tmp_path, step, grace_ms=300) as driver:
        os.kill(driver.pid, signal.SIGSTOP)
        given = cancel(runs, grace_ms=2_000)
        driver.wait(PATIENCE_S)

    assert given.view.status.status == "cancelled"


def test_a_cancel_beats_a_backoff(runs: Runs, tmp_path: Path) -> None:
    step = sh("a", f"touch {tmp_path}/started; exit 1", read_only=True, retry=Retry(max_attempts=3, base_ms=600_000))
    with driven_elsewhere(runs, tmp_path, step) as driver:
        cancel(runs)
        driver.wait(PATIENCE_S)

    assert driver.returncode == 5


def test_a_cancel_closes_gates(runs: Runs) -> None:
    runs.run(agent_step("a", human_gate=Gate()), agent_step("b", depends=["a"]))
    given = cancel(runs)

    assert given.view.status.exit_code == 5
    assert "waitClosed" in runs.types
    assert runs.recover().status.exit_code == 5


@pytest.mark.parametrize(
    ("lookup", "outcome", "code"),
    [
        (["true"], "done", 5),
        (["false"], "not_done", 5),
        (["sh", "-c", "exit 75"], "in_doubt", 10),
        (None, "in_doubt", 10),
    ],
)
def test_an_effect_in_flight_is_looked_up_once(
    runs: Runs, tmp_path: Path, lasting: str, lookup: list[str] | None, outcome: str, code: int
) -> None:
    step = sh("a", f"touch {tmp_path}/started; sleep {lasting}")
    if lookup is not None:
        step.input["lookup"] = lookup
    with driven_elsewhere(runs, tmp_path, step, grace_ms=300) as driver:
        given = cancel(runs)
        driver.wait(PATIENCE_S)

    assert runs.only(ActivityCancelled).outcome == outcome
    assert given.view.status.status == "cancelled"
    assert driver.returncode == code
    assert runs.recover().status.exit_code == code


def test_a_cancelled_node_lets_the_others_go_on(runs: Runs, tmp_path: Path, lasting: str) -> None:
    step = sh("a", f"touch {tmp_path}/started; sleep {lasting}", read_only=True, allow_failure=True)
    with driven_elsewhere(runs, tmp_path, step, agent_step("b", depends=["a"]), grace_ms=300) as driver:
        given = cancel(runs, node=NodeReference(node_id="a"))
        driver.wait(PATIENCE_S)

    assert given.accepted
    assert driver.returncode == 0
    nodes = read_run(runs.directory).state.root.nodes
    assert {node_id: node.status for node_id, node in nodes.items()} == {"a": "cancelled", "b": "succeeded"}


def test_a_late_cancel_changes_nothing(runs: Runs) -> None:
    runs.run(agent_step("a"))
    given = cancel(runs)

    assert given.refusal is not None
    assert given.refusal.code == "Over"
    assert runs.recover().status.exit_code == 0


def test_a_cancelled_run_can_be_tried_again(runs: Runs) -> None:
    runs.run(agent_step("a", human_gate=Gate()), agent_step("b"))
    cancel(runs)
    report = runs.retry()

    assert report.status.exit_code == 4
    assert statuses(report)["b"] == "succeeded"
    assert runs.types.count("generationStarted") == 1
