"""`hooks tail` beside a run: from an event being durable to its line being printed; and how fast it prints a long log.

python bench/tail.py
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from pathlib import Path

from measuring import HOOKS, bench_directory, chain, cost_of, print_table, start

from hooks.events.envelope import Event
from hooks.runtime.driving import drive

STEPS = 150
AGENT = """\
import asyncio

async def answer(prompt):
    await asyncio.sleep(0.02)
    return "done"
"""


def latencies_ms(directory: Path) -> list[float]:
    durable: dict[int, float] = {}
    printed: dict[int, float] = {}

    def note_durable(event: Event) -> None:
        durable[event.seq] = time.monotonic()

    with start(chain(STEPS), directory, agent_code=AGENT) as run:
        command = [*HOOKS, "tail", "run", "--jsonl", "--runs-dir", str(directory / "runs")]
        tail = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert tail.stdout is not None
        first = tail.stdout.readline()  # it follows from here on
        printed[json.loads(first)["seq"]] = time.monotonic()

        def note_printed() -> None:
            assert tail.stdout is not None
            for line in tail.stdout:
                now = time.monotonic()
                printed[json.loads(line)["seq"]] = now

        reading = threading.Thread(target=note_printed)
        reading.start()
        drive(run, on_event=note_durable)
    reading.join()
    tail.wait()
    return sorted((printed[seq] - at) * 1000 for seq, at in durable.items())


def lines_a_second(directory: Path) -> float:
    with start(chain(14_300), directory, durability="relaxed") as run:
        drive(run)
        events = run.state.seq
    words = ["tail", "run", "--no-follow", "--jsonl", "--runs-dir", str(directory / "runs")]
    begin = time.monotonic()
    cost_of([*HOOKS, *words], directory)
    return events / (time.monotonic() - begin)


def main() -> None:
    with bench_directory() as directory:
        latencies = latencies_ms(directory)
    with bench_directory() as directory:
        speed = lines_a_second(directory)
    rows = [["events", "p50, ms", "p99, ms", "most, ms", "lines a second of a long log"]]
    half, nearly_all = latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]
    rows.append([str(len(latencies)), f"{half:.1f}", f"{nearly_all:.1f}", f"{latencies[-1]:.1f}", f"{speed:,.0f}"])
    print_table(*rows)


if __name__ == "__main__":
    main()
