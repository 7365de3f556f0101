"""A log of 100,000 events: what reading, folding and deciding cost beside orjson.loads on the same lines.

python bench/fold.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
from measuring import bench_directory, chain, print_table, start

from hooks.definition.graph import build_graph
from hooks.definition.model import Workflow
from hooks.events.envelope import Event
from hooks.ids import RunId
from hooks.kernel.apply import apply
from hooks.kernel.decide import decide
from hooks.kernel.state import RunState
from hooks.kernel.walk import initial_state
from hooks.runtime.driving import drive
from hooks.storage.log_reader import read_log

EVENTS_A_STEP = 11
STEPS = 100_000 // EVENTS_A_STEP + 1


def recorded(directory: Path) -> tuple[Workflow, Path]:
    with start(chain(STEPS), directory, durability="relaxed") as run:
        drive(run)
        return run.definition, run.directory.log


def least(work: Callable[[], object], times: int = 5) -> float:
    """The least CPU seconds of several times."""
    taken = []
    for _ in range(times):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return min(taken)


def fresh_state(definition: Workflow) -> RunState:
    return initial_state(RunId("run"), build_graph(definition.nodes))


def apply_all(state: RunState, events: Sequence[Event]) -> None:
    for event in events:
        apply(state, event)


def slices(definition: Workflow, events: Sequence[Event]) -> list[list[str]]:
    """Microseconds for an event, and for a pass of decide after it, at several lengths of the log."""
    state, done, rows = fresh_state(definition), 0, []
    for length in (100, 1_000, 10_000, 100_000):
        span = events[done : min(length, len(events))]
        begin = time.process_time()
        apply_all(state, span)
        applied = time.process_time() - begin
        done += len(span)
        begin = time.process_time()
        for _ in range(1_000):
            decide(state, definition, state.timestamp)
        decided = time.process_time() - begin
        rows.append([f"{length:,}", f"{applied / len(span) * 1e6:.2f}", f"{decided / 1_000 * 1e6:.2f}"])
    return rows


def main() -> None:
    with bench_directory() as directory:
        definition, log = recorded(directory)
        lines = log.read_bytes().splitlines()
        events = list(read_log(log))
        loads = least(lambda: [orjson.loads(line) for line in lines])
        reads = least(lambda: sum(1 for _ in read_log(log)))
        states = [fresh_state(definition) for _ in range(5)]
        folds = least(lambda: apply_all(states.pop(), events))
    print_table(
        [f"{len(lines):,} events", "CPU, s", "µs an event", "times orjson.loads"],
        ["orjson.loads of each line", f"{loads:.3f}", f"{loads / len(lines) * 1e6:.2f}", "1.0"],
        *(
            [name, f"{taken:.3f}", f"{taken / len(lines) * 1e6:.2f}", f"{taken / loads:.1f}"]
            for name, taken in (
                ("fold: apply to the state", folds),
                ("read: decode, types, hashes, chain", reads),
                ("both, as `recover` and `show` do", reads + folds),
            )
        ),
    )
    print()
    print_table(["events before", "apply, µs an event", "decide, µs a pass"], *slices(definition, events))


if __name__ == "__main__":
    main()
