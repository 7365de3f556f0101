"""A policy tested on history: payloads a second in one long run, and how long a thousand short runs take.

python bench/backtest.py [STEPS] [RUNS]
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from measuring import bench_directory, chain, print_table, start

from hooks.definition.hook_points import HookType
from hooks.definition.model import HookEntry
from hooks.events.payloads import HookSetMember
from hooks.pipeline.hook_set import resolve_hook_set
from hooks.runtime.driving import drive
from hooks.runtime.replaying import backtest_run, replay_run
from hooks.storage.run_directory import RunDirectory, list_runs

POINTS = [
    point.value
    for point in HookType
    if point.value.startswith(("component", "sampling", "generation", "validation", "effect_p", "run_started"))
]
POLICIES = {
    "async, looks at nothing": "async def policy(payload):\n    return None\n",
    "async, looks at the prompt": (
        "from hooks import block\n"
        "async def policy(payload):\n"
        "    if getattr(payload, 'prompt', '') == 'never':\n"
        "        return block('no')\n"
    ),
    "sync, looks at nothing": "def policy(payload):\n    return None\n",
}


def hooks_in(directory: Path, name: str, text: str) -> list[HookSetMember]:
    (directory / f"{name}.py").write_text(text)
    entry = HookEntry(name=name, on=POINTS, python=f"{name}.py:policy", declared_in=str(directory / "hooks.yaml"))
    return resolve_hook_set([entry])


def one_run(directory: Path, steps: int) -> RunDirectory:
    directory.mkdir()
    with start(chain(steps), directory, durability="relaxed") as run:
        drive(run)
        return run.directory


def best_of_three(run: RunDirectory, members: list[HookSetMember]) -> tuple[int, float]:
    """How many payloads were asked about, and the CPU seconds that took: what else the machine does only ever adds."""
    asked, best = 0, float("inf")
    for _ in range(3):
        begin = time.process_time()
        asked = asyncio.run(backtest_run(run, members)).totals.asked
        best = min(best, time.process_time() - begin)
    return asked, best


def main(steps: int, runs: int) -> None:
    with bench_directory() as directory:
        long = one_run(directory / "long", steps)
        begin = time.process_time()
        events = sum(1 for _ in replay_run(long))
        taken = time.process_time() - begin
        print(f"{events} events, decisions made again: {events / taken:,.0f} events/s\n")
        rows = []
        for number, (what, text) in enumerate(POLICIES.items()):
            members = hooks_in(directory, f"policy{number}", text)
            asked, taken = best_of_three(long, members)
            rows.append([what, f"{asked:,}", f"{asked / taken:,.0f}"])
        print_table(["policy", "payloads", "payloads a second of CPU"], *rows)
        (directory / "many").mkdir()
        for number in range(runs):
            with start(chain(3), directory / "many", durability="relaxed", run_id=f"run-{number:04}") as run:
                drive(run)
        members = hooks_in(directory, "one", POLICIES["async, looks at the prompt"])
        begin = time.perf_counter()
        done = [asyncio.run(backtest_run(run, members)) for run in list_runs(directory / "many" / "runs")]
        print(f"\n{len(done)} runs of three steps: {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main(*(int(word) for word in (*sys.argv[1:], *("5000", "1000")[len(sys.argv) - 1 :])))
