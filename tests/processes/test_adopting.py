"""A child outlives its driver, and the next driver waits for it and learns how it ended."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes.builders import alive, make_child, shell, until

from hooks.processes.ending import kill_marked
from hooks.processes.exits import Exit
from hooks.processes.launch import Child, launch
from hooks.processes.process_table import find_marked
from hooks.processes.running import adopt_child, mask_captured
from hooks.secrets import Masker

_DRIVER = """
import asyncio, os, sys
from pathlib import Path
from hooks.processes.launch import Child
from hooks.processes.running import run_child

marker, directory, script = sys.argv[1:]
child = Child(["bash", "-c", script], Path.cwd(), dict(os.environ), Path(directory), marker)
asyncio.run(run_child(child, grace_ms=1000))
"""


def orphan(child: Child, ready: Path) -> None:
    """Start the child under a driver of its own and kill that driver with -9 once the child is at work."""
    driver = subprocess.Popen(
        [sys.executable, "-c", _DRIVER, child.marker, str(child.directory), child.argv[2]], cwd=child.working_directory
    )
    asyncio.run(until(ready.exists))
    driver.kill()
    driver.wait()


def adopt(child: Child) -> Exit | None:
    async def bounded() -> Exit | None:
        async with asyncio.timeout(20):
            return await adopt_child(child.directory, child.marker, grace_ms=1_000)

    return asyncio.run(bounded())


def test_a_child_of_a_killed_driver_is_waited_for_and_its_outcome_learned(tmp_path: Path) -> None:
    """B07"""
    os.mkfifo(tmp_path / "gate")
    child = shell(tmp_path, "touch ready; read line <gate; echo $line; exit 5")
    orphan(child, tmp_path / "ready")

    async def scenario() -> Exit | None:
        adopting = asyncio.create_task(adopt_child(child.directory, child.marker, grace_ms=1_000))
        await asyncio.sleep(0.02)
        assert not adopting.done()
        (tmp_path / "gate").write_text("go on\n")
        async with asyncio.timeout(20):
            return await adopting

    assert asyncio.run(scenario()) == Exit(code=5)
    assert (child.directory / "stdout").read_text() == "go on\n"


def test_a_child_that_ended_before_anyone_came_has_left_its_outcome(tmp_path: Path) -> None:
    child = shell(tmp_path, "touch ready; sleep 0.1; exit 5")
    orphan(child, tmp_path / "ready")
    asyncio.run(until(lambda: not alive(child.marker)))

    assert adopt(child) == Exit(code=5)


def test_what_the_child_left_in_the_background_is_ended(tmp_path: Path) -> None:
    child = shell(tmp_path, "sleep 9999 & touch ready; sleep 0.1")
    orphan(child, tmp_path / "ready")

    adopted = adopt(child)
    assert adopted is not None
    assert adopted.code == 0
    assert len(adopted.leaked) == 1
    assert alive(child.marker) == []


def test_a_child_whose_launcher_was_killed_too_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    child = shell(tmp_path, "touch ready; kill -9 $PPID; sleep 0.1")
    orphan(child, tmp_path / "ready")

    assert adopt(child) is None
    assert alive(child.marker) == []


def test_adoption_of_what_never_ran_starts_nothing(tmp_path: Path) -> None:
    child = shell(tmp_path, "touch ran")

    assert adopt(child) is None
    assert list(child.directory.iterdir()) == []
    assert not (tmp_path / "ran").exists()


def test_a_cancelled_adoption_ends_the_tree(tmp_path: Path) -> None:
    child = shell(tmp_path, "trap 'touch cleaned; exit' TERM; touch ready; while :; do sleep 0.01; done")
    orphan(child, tmp_path / "ready")

    async def scenario() -> None:
        async with asyncio.timeout(0.05):
            await adopt_child(child.directory, child.marker, grace_ms=10_000)

    with pytest.raises(TimeoutError):
        asyncio.run(scenario())
    assert alive(child.marker) == []
    assert (tmp_path / "cleaned").exists()


def test_marked_processes_are_found_and_killed_and_no_others(tmp_path: Path) -> None:
    marked, other = make_child(tmp_path, "sleep", "9999"), make_child(tmp_path, "sleep", "9999")
    launchers = [launch(marked), launch(other)]

    async def scenario() -> None:
        await until(lambda: len(find_marked(marked.marker)) == 2)
        await until(lambda: len(find_marked(other.marker)) == 2)
        assert await kill_marked(marked.marker, 1_000) == ()
        assert alive(marked.marker) == []
        assert len(alive(other.marker)) == 2

        await kill_marked(other.marker, 0)

    asyncio.run(scenario())
    ended, killed = (launcher.wait() for launcher in launchers)
    assert ended == 128 + signal.SIGTERM
    # Killed itself, or just quick enough to report what became of its command.
    assert killed in (-signal.SIGKILL, 128 + signal.SIGKILL)


def test_a_command_that_kills_its_own_tree_survives_to_say_so() -> None:
    script = (
        "import asyncio; from hooks.processes.ending import kill_marked; asyncio.run(kill_marked('me', 0)); print(1)"
    )
    marked = {**os.environ, "HOOKS_MARKER": "me"}

    assert subprocess.run([sys.executable, "-c", script], env=marked, capture_output=True, check=True).stdout == b"1\n"


@pytest.mark.parametrize("torn", [b"", b'{"exitCode":', b"\0\0\0\0", b"not json"])
def test_a_torn_exit_leaves_the_outcome_unknown(tmp_path: Path, torn: bytes) -> None:
    child = shell(tmp_path, "true")
    (child.directory / "exit.json").write_bytes(torn)

    assert adopt(child) is None


def test_secrets_are_masked_in_what_a_child_of_a_killed_driver_has_printed(tmp_path: Path) -> None:
    child = shell(tmp_path, "echo s3cret-value; touch ready; sleep 0.1")
    orphan(child, tmp_path / "ready")

    async def scenario() -> Exit | None:
        async with asyncio.timeout(20):
            masker = Masker({"TOKEN": "s3cret-value"})
            return await adopt_child(child.directory, child.marker, grace_ms=1_000, masker=masker)

    assert asyncio.run(scenario()) == Exit(code=0)
    assert (child.directory / "stdout").read_text() == "[secret TOKEN]\n"


@pytest.mark.parametrize("escape", ["kill -STOP $$; sleep 9999", "setsid -f sleep 9999; sleep 9999"])
def test_stopped_and_escaped_processes_of_a_killed_driver_are_ended(tmp_path: Path, escape: str) -> None:
    child = shell(tmp_path, f"touch ready; {escape}")
    orphan(child, tmp_path / "ready")

    assert asyncio.run(kill_marked(child.marker, 1_000)) == ()
    assert alive(child.marker) == []


def test_what_a_command_that_was_killed_has_printed_can_be_masked(tmp_path: Path) -> None:
    child = shell(tmp_path, "echo s3cret-value; touch ready; sleep 9999")
    orphan(child, tmp_path / "ready")

    async def scenario() -> None:
        await kill_marked(child.marker, 0)
        await mask_captured(child.directory, Masker({"TOKEN": "s3cret-value"}))

    asyncio.run(scenario())
    assert (child.directory / "stdout").read_text() == "[secret TOKEN]\n"
