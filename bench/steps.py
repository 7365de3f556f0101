"""The cost of a step: CPU and wall beside a bare loop that does the same writes, flat over 10,000 steps, syncs.

python bench/steps.py [STEPS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measuring import bench_directory, chain, independent, print_table, start

from hooks.definition.model import HostExecutorNode, Node
from hooks.events.envelope import Event
from hooks.events.payloads import NodeSucceeded
from hooks.runtime.driving import drive
from hooks.storage.durable_files import Durability
from hooks.storage.log_reader import read_log


@dataclass
class Driven:
    """A run that was driven: its log, and when its steps ended."""

    log: Path
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def note(self, event: Event) -> None:
        if isinstance(event.payload, NodeSucceeded):
            self.cpu.append(time.process_time())
            self.wall.append(time.monotonic())

    def per_step(self, times: Sequence[float], first: int, last: int) -> float:
        """Milliseconds a step between two of them."""
        return (times[last] - times[first]) / (last - first) * 1000


def driven(nodes: Sequence[Node], directory: Path, run_id: str, durability: Durability, jobs: int = 4) -> Driven:
    with start(nodes, directory, run_id=run_id, durability=durability, max_concurrency=jobs) as run:
        driven = Driven(run.directory.log)
        report = drive(run, on_event=driven.note)
    assert report.status.status == "succeeded"
    return driven


def bare_loop(log: Path, durability: Durability) -> float:
    """Milliseconds for writing the same groups of lines again, with the same syncs."""
    lines = log.read_bytes().splitlines(keepends=True)
    groups: dict[int, list[bytes]] = {}
    for event, line in zip(read_log(log), lines, strict=True):
        groups.setdefault(event.group, []).append(line)
    copy = os.open(log.with_name("copy"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
    begin = time.monotonic()
    for group in groups.values():
        os.write(copy, b"".join(group))
        if durability == "strict":
            os.fdatasync(copy)
    os.close(copy)
    return (time.monotonic() - begin) * 1000


def sequential(directory: Path, steps: int) -> None:
    rows = [["sequential steps", "wall, ms a step", "bare loop", "CPU, ms a step", "first 10%", "middle", "last 10%"]]
    tenth = steps // 10
    for durability in ("strict", "relaxed"):
        run = driven(chain(steps), directory, f"chain-{durability}", durability)
        rows.append(
            [
                f"{steps:,} {durability}",
                f"{run.per_step(run.wall, 0, steps - 1):.3f}",
                f"{bare_loop(run.log, durability) / steps:.3f}",
                f"{run.per_step(run.cpu, 0, steps - 1):.3f}",
                f"{run.per_step(run.cpu, 0, tenth):.3f}",
                f"{run.per_step(run.cpu, steps // 2 - tenth // 2, steps // 2 + tenth // 2):.3f}",
                f"{run.per_step(run.cpu, steps - 1 - tenth, steps - 1):.3f}",
            ]
        )
    print_table(*rows)


def at_once(directory: Path) -> None:
    run = driven(independent(1_000), directory, "wide", "strict", jobs=64)
    sizes = Counter(event.group for event in read_log(run.log))
    events = sum(sizes.values())
    print_table(
        ["1,000 independent, 64 at once", "events", "syncs of the log", "events a sync", "CPU, ms a step"],
        [
            "strict",
            str(events),
            str(len(sizes)),
            f"{events / len(sizes):.1f}",
            f"{run.per_step(run.cpu, 0, 999):.3f}",
        ],
    )


def bare_commands(directory: Path, steps: int) -> float:
    """Milliseconds a step for the same system calls: a directory, two files, a shell that starts it, a synced line."""
    directory.mkdir()
    log = os.open(directory / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    begin = time.monotonic()
    for number in range(steps):
        place = directory / str(number)
        place.mkdir()
        with open(place / "stdout", "wb") as stdout, open(place / "stderr", "wb") as stderr:
            script = '(exec "$@"); echo $? >"$0/exit"'
            subprocess.run(["/bin/sh", "-c", script, place, "true"], stdout=stdout, stderr=stderr, check=True)
        os.write(log, b"x" * 3_000)
        os.fdatasync(log)
    os.close(log)
    return (time.monotonic() - begin) / steps * 1000


def commands(directory: Path, steps: int = 300) -> None:
    nodes = [
        HostExecutorNode(
            id=f"n{number}",
            executor="shell",
            input={"argv": ["true"]},
            read_only=True,
            depends=[f"n{number - 1}"] if number else [],
        )
        for number in range(steps)
    ]
    run = driven(nodes, directory, "commands", "strict")
    print_table(
        ["sequential commands (`true`)", "wall, ms a step", "bare loop", "CPU of the driver, ms a step"],
        [
            f"{steps} strict",
            f"{run.per_step(run.wall, 0, steps - 1):.2f}",
            f"{bare_commands(directory / 'bare', steps):.2f}",
            f"{run.per_step(run.cpu, 0, steps - 1):.2f}",
        ],
    )


if __name__ == "__main__":
    with bench_directory() as place:
        sequential(place, int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
        print()
        at_once(place)
        print()
        commands(place)
