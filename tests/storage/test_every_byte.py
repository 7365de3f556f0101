"""`verify` and a run of which one byte is another: whichever it is, it is found."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.runtime.runs import Runs, agent_step, append, sh

from hooks.definition.model import CommandAgent, HookEntry, Requirement, Sampling
from hooks.storage.run_directory import RunDirectory
from hooks.storage.verify import verify_run

SAMPLED = 150


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Two draws and a check by a command, an effect, a value in a blob, a hook that was given a file."""
    home = tmp_path_factory.mktemp("every-byte")
    counting = (
        "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; [ $n = 0 ] && echo bad || { echo good; echo warned >&2; }"
    )
    (home / "hook.sh").write_text("#!/bin/sh\ncat > /dev/null\n")
    (home / "hook.sh").chmod(0o755)
    runs = Runs(home)
    runs.run(
        agent_step(
            "a",
            agent="writer",
            requirements=[Requirement(name="good", command=["grep", "-q", "good"])],
            sampling=Sampling(loop_budget=2),
        ),
        sh("b", "head -c 9000 /dev/zero | tr '\\0' x", read_only=True),
        append("c", home / "out", "x" * 100, depends=["b"]),
        agent_step("d", "y" * 70_000, depends=["c"]),
        agents=[CommandAgent(name="writer", argv=["sh", "-c", counting]), CommandAgent(name="cat", argv=["cat"])],
        hook_entries=[
            HookEntry(name="h", on=["component_pre_execute"], argv=["./hook.sh"], declared_in=str(home / "w.yaml"))
        ],
    )
    assert verify_run(runs.directory) == []
    return runs.directory


def files_of(run: RunDirectory) -> Iterator[tuple[Path, int]]:
    for path in sorted(run.path.rglob("*")):
        if path.is_file() and path.name != "driver.lock":
            yield path, path.stat().st_size


def test_a_byte_that_is_another_is_found(run: RunDirectory) -> None:
    chosen = random.Random(1)
    for path, size in files_of(run):
        places = {0, size - 1, *(chosen.randrange(size) for _ in range(SAMPLED // 10))} if size else set()
        flip(run, path, sorted(places))


@pytest.mark.sweep
def test_whichever_byte_is_another_is_found(run: RunDirectory) -> None:
    for path, size in files_of(run):
        # Of a file of thousands of equal bytes, one in a hundred stands for the others.
        flip(run, path, range(0, size, 1 if size < 20_000 else 100))


def flip(run: RunDirectory, path: Path, places: Iterable[int]) -> None:
    whole = path.read_bytes()
    try:
        for place in places:
            changed = bytearray(whole)
            changed[place] ^= 1
            path.write_bytes(changed)
            assert verify_run(run), f"{path.name}: byte {place} of {len(whole)} is another, and nothing was found"
    finally:
        path.write_bytes(whole)


def test_what_a_power_cut_can_take_of_a_file_nobody_synced_is_told_and_is_no_damage(run: RunDirectory) -> None:
    (path,) = [path for path, _ in files_of(run) if path.name == "stdout" and path.read_bytes() == b"bad\n"]
    whole = path.read_bytes()
    try:
        for taken in (b"", b"ba", b"\0\0\0\0", None):
            path.unlink() if taken is None else path.write_bytes(taken)
            assert [finding.severity for finding in verify_run(run)] == ["notice"]
    finally:
        path.write_bytes(whole)
