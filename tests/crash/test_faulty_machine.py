"""A machine that fails in other ways than by stopping: no room, no right to write, no descriptors, a clock that jumps.

Whatever it is, the code says so, nothing acknowledged is lost, and when the machine is well again `recover` goes on.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from hooks import RunDirectory, read_run, verify_run
from hooks.definition.model import Gate, Retry
from hooks.runtime.driving import drive
from hooks.runtime.runs import open_existing
from tests.cli.command import HOOKS, CommandLine, Ended
from tests.crash.disks import disk_of_one_mebibyte, fill
from tests.runtime.runs import Runs, sh

HOUR_MS = 3_600_000
GATED = """\
workflow_id: gated
version: 1
nodes:
  a: {executor: shell, human_gate: {prompt: "?"}, input: {script: "echo x >> calls"}}
"""


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.mark.parametrize(("verb", "end"), [("approve", 0), ("reject", 3), ("cancel", 5)])
def test_a_request_on_a_full_disk_is_refused_and_can_be_made_again(
    cli: CommandLine, tmp_path: Path, verb: str, end: int
) -> None:
    with disk_of_one_mebibyte(tmp_path / "disk") as disk:
        run = RunDirectory(disk / "r")
        cli.write("gated.yaml", GATED)
        begun = cli.hooks("run", "gated.yaml", "--runs-dir", str(disk), "--run-id", "r", "-q")
        with fill(disk):
            refused = cli.hooks(verb, str(run.path))
            shown = cli.hooks("show", str(run.path))
            left = list(run.inbox.iterdir())
        granted = cli.hooks(verb, str(run.path))
        recovered = cli.hooks("recover", str(run.path), "-q")
        found = verify_run(run)

    assert (begun.code, refused.code, shown.code) == (4, 74, 0), refused.err
    assert "No space left on device" in refused.err
    assert left == []
    assert granted.code == 0, granted.err
    assert recovered.code == end, recovered.err
    assert found == []


@contextmanager
def _without_the_right_to_write(directory: Path) -> Iterator[None]:
    """A read-only bind mount: permissions do not bind whoever runs the tests as root."""
    subprocess.run(["mount", "--bind", directory, directory], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", directory], check=True)
        yield
    finally:
        subprocess.run(["umount", directory], check=True)


def test_a_read_only_runs_directory_is_told_and_changes_nothing(cli: CommandLine) -> None:
    cli.write("gated.yaml", GATED)
    cli.hooks("run", "gated.yaml", "--run-id", "r", "-q")
    run = RunDirectory(cli.runs / "r")
    log = run.log.read_bytes()
    try:
        with _without_the_right_to_write(cli.runs):
            moving = [cli.hooks(*words) for words in (["approve", "r"], ["cancel", "r"], ["recover", "r"])]
            new = cli.hooks("run", "gated.yaml", "-q")
            looking = [cli.hooks(*words).code for words in (["ls"], ["show", "r"], ["verify", "r"])]
    except subprocess.CalledProcessError as error:
        pytest.skip(f"a file system cannot be mounted here: {error}")

    assert [ended.code for ended in [*moving, new]] == [74] * 4, moving
    assert all("Read-only file system" in ended.err for ended in [*moving, new])
    assert looking == [0, 0, 0]
    assert run.log.read_bytes() == log
    assert cli.hooks("approve", "r").code == 0
    assert cli.hooks("recover", "r", "-q").code == 0


@pytest.mark.parametrize("limit", range(6, 26, 3))
def test_a_command_without_descriptors_says_so_and_the_run_goes_on(cli: CommandLine, limit: int) -> None:
    """Whatever it is that finds none left: the interpreter, the log, a step."""
    cli.write(
        "a.yaml", 'workflow_id: a\nversion: 1\nnodes: {a: {executor: shell, input: {script: "echo x >> calls"}}}\n'
    )
    short = _limited(cli, limit, "run", "a.yaml", "--run-id", "r", "-q")
    recovered = cli.hooks("run", "a.yaml", "--run-id", "r", "-q")
    calls = cli.directory / "calls"

    assert short.code in (0, 74), short
    assert short.code == 0 or "too many open files" in short.err.lower()
    assert recovered.code == 0, (short, recovered.err)
    assert calls.read_text() == "x\n"
    assert verify_run(RunDirectory(cli.runs / "r")) == []


def _limited(cli: CommandLine, descriptors: int, *words: str) -> Ended:
    """The command with at most so many open files."""
    done = subprocess.run(
        [*HOOKS, *words],
        cwd=cli.directory,
        env=cli.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)),
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


@dataclass
class SteppingClock:
    """A clock that a test sets; it sleeps by going forward."""

    now: int

    def now_ms(self) -> int:
        return self.now

    async def sleep_ms(self, duration_ms: int) -> None:
        self.now += duration_ms


START_MS = 1_800_000_000_000


def test_a_clock_stepped_back_between_two_drivers_neither_loses_nor_repeats_anything(
    runs: Runs, tmp_path: Path
) -> None:
    fails_once = f"echo x >> {tmp_path}/calls; test $(wc -l < {tmp_path}/calls) -gt 1"
    retry = Retry(max_attempts=2, backoff="fixed", base_ms=60_000, jitter=0)
    clock = SteppingClock(START_MS)
    with runs.start(sh("a", fails_once, retry=retry, read_only=True), clock=clock) as run:
        assert drive(run, one_pass=True).status.exit_code == 8
    report = runs.recover(clock=SteppingClock(START_MS - 2 * HOUR_MS))

    timestamps = [event.timestamp for event in runs.events]
    assert report.status.exit_code == 0
    assert (tmp_path / "calls").read_text() == "x\nx\n"
    assert timestamps == sorted(timestamps)
    assert verify_run(runs.directory) == []


class SteppingBack(SteppingClock):
    """Steps back two hours in the middle of the first sleep."""

    stepped = False

    async def sleep_ms(self, duration_ms: int) -> None:
        self.slept += duration_ms
        self.now += duration_ms
        if not self.stepped:
            self.stepped = True
            self.now -= 2 * HOUR_MS

    slept = 0


def test_a_clock_stepped_back_during_a_backoff_does_not_make_it_longer(runs: Runs, tmp_path: Path) -> None:
    fails_twice = f"echo x >> {tmp_path}/calls; test $(wc -l < {tmp_path}/calls) -gt 2"
    retry = Retry(max_attempts=3, backoff="fixed", base_ms=60_000, jitter=0)
    clock = SteppingBack(START_MS)
    report = runs.run(sh("a", fails_twice, retry=retry, read_only=True), clock=clock)

    assert report.status.exit_code == 0
    assert clock.slept < 10 * 60_000


def test_a_clock_stepped_back_while_a_gate_is_open_leaves_its_deadline(runs: Runs, tmp_path: Path) -> None:
    clock = SteppingClock(START_MS)
    gate = Gate(prompt="?", deadline_ms=HOUR_MS, on_timeout="fail")
    with runs.start(sh("a", f"echo x >> {tmp_path}/calls", human_gate=gate), clock=clock) as run:
        assert drive(run).status.exit_code == 4
        clock.now -= 2 * HOUR_MS
        assert drive(run).status.exit_code == 4
    early = runs.recover(clock=clock)
    late = runs.recover(clock=SteppingClock(START_MS + 2 * HOUR_MS))

    assert early.status.exit_code == 4
    assert late.status.exit_code in (1, 3)
    assert not (tmp_path / "calls").exists()
    assert verify_run(runs.directory) == []


def test_an_idempotent_effect_is_not_sent_again_by_a_clock_stepped_back(runs: Runs, tmp_path: Path) -> None:
    """A key's age that is negative says nothing; it counts as run out."""
    node = sh("a", f"echo x >> {tmp_path}/calls; kill -9 $$")
    node.input.update(idempotent=True)
    with runs.start(node, clock=SteppingClock(START_MS)) as run:
        assert drive(run, one_pass=True).status.exit_code == 8
    report = runs.recover(clock=SteppingClock(START_MS - 2 * HOUR_MS))

    assert report.status.exit_code == 10
    assert "x" in (tmp_path / "calls").read_text()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns"])
def test_a_run_goes_on_in_another_time_zone(cli: CommandLine, zone: str) -> None:
    cli.write("gated.yaml", GATED)
    begun = cli.hooks("run", "gated.yaml", "--run-id", "r", "-q", environment={"TZ": "America/New_York"})
    elsewhere = {"TZ": zone}
    approved = cli.hooks("approve", "r", environment=elsewhere)
    recovered = cli.hooks("recover", "r", "-q", environment=elsewhere)
    times = [line["timestamp"] for line in cli.log_lines("r")]

    assert (begun.code, approved.code, recovered.code) == (4, 0, 0)
    assert times == sorted(times)
    assert times[-1] - times[0] < HOUR_MS
    assert (cli.directory / "calls").read_text() == "x\n"


def test_the_run_of_a_driver_that_died_before_the_clock_was_set_is_opened(runs: Runs) -> None:
    clock = SteppingClock(START_MS)
    runs.start(sh("a", "true"), clock=clock).close()
    with open_existing(runs.directory, clock=SteppingClock(START_MS - 2 * HOUR_MS)) as run:
        assert drive(run).status.exit_code == 0

    assert read_run(runs.directory).status.status == "succeeded"
    assert runs.events[-1].timestamp >= START_MS
