"""Runs driven by a program of one's own, in its own loop: signals stay the program's.

with start_run(workflow, {}, runs_dir=…, …) as run:
    report = await run_loop(run, implementation=MyHooks())
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hooks.definition.model import HookEntry
from hooks.events.envelope import Event
from hooks.runtime.driving import RunReport, drive_async
from hooks.runtime.execution_hooks import WorkflowExecutionHooks
from hooks.runtime.runs import OpenRun, open_existing
from hooks.storage.run_directory import RunDirectory


async def run_loop(
    run: OpenRun,
    *,
    implementation: WorkflowExecutionHooks | None = None,
    stays_at_gates: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> RunReport:
    """Drive a run until it ends, waits for a person, or is in doubt.

    `implementation` performs its work instead of the workflow's own agents and executors; `on_event` is told of each
    event once it is durable. Cancelled, it lets go as if the process had been killed: the run can be recovered. Raises
    StorageError when the log cannot be written.
    """
    return await drive_async(
        run, implementation=implementation, stays_at_gates=stays_at_gates, on_event=on_event, handle_signals=False
    )


async def run_tick(
    run: OpenRun,
    *,
    implementation: WorkflowExecutionHooks | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> RunReport:
    """One pass: what can start is started and awaited, and nothing is slept for. Raises as `run_loop` does."""
    return await drive_async(run, one_pass=True, implementation=implementation, on_event=on_event, handle_signals=False)


async def recover(
    directory: RunDirectory,
    *,
    implementation: WorkflowExecutionHooks | None = None,
    take_over: bool = False,
    hook_entries: Sequence[HookEntry] = (),
    on_event: Callable[[Event], None] | None = None,
) -> RunReport:
    """Go on with a run whose driver is gone, to the same end. `take_over` and `hook_entries` as of `open_existing`,
    which says what this raises where the run is another's, copied or damaged."""
    with open_existing(directory, take_over=take_over, hook_entries=hook_entries) as run:
        return await run_loop(run, implementation=implementation, on_event=on_event)
