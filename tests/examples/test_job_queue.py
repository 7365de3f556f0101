"""The example of an implementation with its own dispatch, run as a user runs it: real drivers, a real worker, kill -9.

The worker is started only where a test wants work to be done, so that it is known where the driver stands: with a job
submitted and nobody to do it, a driver is between submit and record.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import hooks
from hooks.testing import Recorded, events

EXAMPLE = Path(__file__).parents[2] / "examples" / "job_queue"
PATIENCE_S = 60


@dataclass
class Place:
    """A directory with a queue in it, and what is started there."""

    home: Path

    def main(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(EXAMPLE / "main.py"), *words], cwd=self.home, stdout=subprocess.PIPE, text=True
        )

    def start(self) -> subprocess.Popen[str]:
        return self.main("start", "run1", "ann@example.org")

    @contextmanager
    def worker(self) -> Iterator[None]:
        command = [sys.executable, str(EXAMPLE / "worker.py"), "jobs.sqlite", "outbox.txt"]
        worker = subprocess.Popen(command, cwd=self.home)
        try:
            yield
        finally:
            worker.kill()
            worker.wait()

    def query(self, statement: str) -> list[Any]:
        with sqlite3.connect(self.home / "jobs.sqlite", timeout=PATIENCE_S) as database:
            try:
                return database.execute(statement).fetchall()
            except sqlite3.OperationalError:
                return []  # no table yet

    def states(self) -> dict[str, str]:
        """The state of each job, by its kind."""
        return dict(self.query("SELECT kind, state FROM jobs"))

    @property
    def recorded(self) -> Recorded:
        return Recorded(hooks.RunDirectory(self.home / "runs" / "run1"))

    def logged(self) -> list[str]:
        return self.recorded.types if self.recorded.directory.log.exists() else []

    @property
    def outbox(self) -> list[str]:
        file = self.home / "outbox.txt"
        return [line.partition(" ")[2] for line in file.read_text().splitlines()] if file.exists() else []

    def do_one_prompt(self) -> None:
        """Be the worker for the prompt alone."""
        with sqlite3.connect(self.home / "jobs.sqlite", timeout=PATIENCE_S) as database:
            database.execute("UPDATE jobs SET state = 'done', result = '\"HELLO\"' WHERE kind = 'prompt'")


def until(is_so: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < give_up_at, "that never came"
        time.sleep(0.01)


def ended(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any]]:
    out, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, json.loads(out)


def kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGSTOP)
    until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


SENT = {"status": "succeeded", "output": {"send": {"sent": "ann@example.org"}}}


def test_the_workers_of_the_queue_do_the_work(place: Place) -> None:
    with place.worker():
        assert ended(place.start()) == (0, SENT)

    assert place.outbox == ["ann@example.org: HELLO"]
    [attempted] = place.recorded.all(events.EffectAttempted)
    assert (attempted.provider, attempted.idempotency_ttl_ms) == ("job-queue", 7 * 24 * 3_600_000)


def _with_the_prompt_submitted(place: Place) -> subprocess.Popen[str]:
    driver = place.start()
    until(lambda: place.states() == {"prompt": "queued"})
    return driver


def _with_the_mail_submitted(place: Place) -> subprocess.Popen[str]:
    driver = _with_the_prompt_submitted(place)
    place.do_one_prompt()
    until(lambda: place.states() == {"prompt": "done", "mail": "queued"})
    return driver


def _permitted_and_not_submitted(place: Place) -> subprocess.Popen[str]:
    """The queue is locked against the driver from before its permit for the mail until it is dead."""
    driver = _with_the_prompt_submitted(place)
    lock = sqlite3.connect(place.home / "jobs.sqlite", timeout=PATIENCE_S, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    lock.execute("UPDATE jobs SET state = 'done', result = '\"HELLO\"'")
    stop(driver)  # what it will read before the lock is there again, and not after
    lock.execute("COMMIT")
    lock.execute("BEGIN IMMEDIATE")
    driver.send_signal(signal.SIGCONT)
    until(lambda: "effectAttempted" in place.logged())
    kill(driver)
    lock.execute("ROLLBACK")
    assert place.states() == {"prompt": "done"}
    return driver


def _with_the_mail_sent_and_not_recorded(place: Place) -> subprocess.Popen[str]:
    driver = _with_the_mail_submitted(place)
    stop(driver)
    with place.worker():
        until(lambda: place.states()["mail"] == "done")
    return driver


@pytest.mark.parametrize(
    "moment",
    [
        _with_the_prompt_submitted,
        _permitted_and_not_submitted,
        _with_the_mail_submitted,
        _with_the_mail_sent_and_not_recorded,
    ],
)
def test_a_killed_driver_is_recovered_with_each_job_done_once(
    place: Place, moment: Callable[[Place], subprocess.Popen[str]]
) -> None:
    kill(moment(place))

    with place.worker():
        assert ended(place.main("recover", "run1")) == (0, SENT)

    assert place.outbox == ["ann@example.org: HELLO"]
    assert place.states() == {"prompt": "done", "mail": "done"}


def test_what_the_queue_says_of_a_dangling_effect_stands_in_the_log(place: Place) -> None:
    kill(_with_the_mail_sent_and_not_recorded(place))
    assert ended(place.main("recover", "run1")) == (0, SENT)
    assert [found.outcome for found in place.recorded.all(events.ReconcileResult)] == ["done"]


def test_what_was_never_submitted_is_absent_and_sent_by_another_attempt(place: Place) -> None:
    kill(_permitted_and_not_submitted(place))
    with place.worker():
        assert ended(place.main("recover", "run1")) == (0, SENT)

    assert [found.outcome for found in place.recorded.all(events.ReconcileResult)] == ["not_done"]
    keys = [attempted.idempotency_key for attempted in place.recorded.all(events.EffectAttempted)]
    assert len(keys) == 2
    assert len(set(keys)) == 1


CANCELLED = {"status": "cancelled", "output": {}}


@pytest.mark.parametrize("driver_lives", [True, False])
@pytest.mark.parametrize(
    ("moment", "states"),
    [
        (_with_the_prompt_submitted, {"prompt": "revoked"}),
        (_with_the_mail_submitted, {"prompt": "done", "mail": "revoked"}),
    ],
)
def test_a_cancel_revokes_what_no_worker_has_begun(
    place: Place, moment: Callable[[Place], subprocess.Popen[str]], states: dict[str, str], driver_lives: bool
) -> None:
    driver = moment(place)
    if not driver_lives:
        kill(driver)

    assert ended(place.main("cancel", "run1")) == (5, CANCELLED)

    assert place.states() == states
    assert not driver_lives or ended(driver) == (5, CANCELLED)
    with place.worker():
        assert ended(place.main("recover", "run1")) == (5, CANCELLED)
    assert place.outbox == []


def test_a_cancel_waits_for_what_a_worker_has_begun_and_knows_that_it_was_done(place: Place) -> None:
    driver = _with_the_mail_submitted(place)
    place.query("UPDATE jobs SET state = 'taken' WHERE kind = 'mail'")
    cancelling = place.main("cancel", "run1")
    until(lambda: "cancelDelivered" in place.logged())
    place.query("UPDATE jobs SET state = 'done', result = '{}' WHERE kind = 'mail'")

    assert ended(cancelling) == (5, CANCELLED)
    assert ended(driver) == (5, CANCELLED)
    assert [cancelled.outcome for cancelled in place.recorded.all(events.ActivityCancelled)] == ["done"]


def test_it_uses_public_names_alone() -> None:
    lines = [line for file in EXAMPLE.glob("*.py") for line in file.read_text().splitlines()]
    imports = [line for line in lines if line.startswith(("from hooks", "import hooks"))]

    assert imports
    assert {line.partition(" import ")[0] for line in imports} == {"from hooks"}
