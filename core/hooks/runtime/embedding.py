"""Runs driven by a program of one's own, in its own loop: signals stay the program's.

with start_run(workflow, {}, runs_dir=…, …) as run:
    report = await run_loop(run, implementation=MyHooks())
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hooks.clock import Clock
from hooks.definition.model import HookEntry
from hooks.events.envelope import Event
from hooks.pipeline.plugins import Registered
from hooks.runtime.driving import RunReport, drive_async
from hooks.runtime.execution_hooks import WorkflowExecutionHooks
from hooks.runtime.meant import meant_to_retry
from hooks.runtime.performers import require_performers
from hooks.runtime.reading import read_run
from hooks.runtime.runs import OpenRun, open_existing, reopen_run
from hooks.runtime.user import user_name
from hooks.storage.run_directory import RunDirectory


async def run_loop(
    run: OpenRun,
    *,
    implementation: WorkflowExecutionHooks | None = None,
    stays_at_gates: bool = False,
    plugins: Sequence[Registered] = (),
    on_event: Callable[[Event], None] | None = None,
) -> RunReport:
    """Drive a run until it ends, waits for a person, or is in doubt.

    `implementation` performs its work instead of the workflow's own agents and executors; `plugins` are hooks of this
    program (functions, Plugin classes), asked after those of the run; `on_event` is told of each event once it is
    durable. Cancelled, it lets go as if the process had been killed: the run can be recovered. Raises
    StorageError when the log cannot be written; without `implementation` MissingPerformerError, before anything is
    done, where a step names an agent or executor that nobody performs here.
    """
    return await drive_async(
        run,
        implementation=implementation,
        stays_at_gates=stays_at_gates,
        plugins=plugins,
        on_event=on_event,
        handle_signals=False,
    )


async def run_tick(
    run: OpenRun,
    *,
    implementation: WorkflowExecutionHooks | None = None,
    plugins: Sequence[Registered] = (),
    on_event: Callable[[Event], None] | None = None,
) -> RunReport:
    """One pass: what can start is started and awaited, and nothing is slept for. Raises as `run_loop` does."""
    return await drive_async(
        run, one_pass=True, implementation=implementation, plugins=plugins, on_event=on_event, handle_signals=False
    )


async def retry(
    directory: RunDirectory,
    node: str | None = None,
    *,
    by: str | None = None,
    hook_entries: Sequence[HookEntry] = (),
    implementation: WorkflowExecutionHooks | None = None,
    stays_at_gates: bool = False,
    max_concurrency: int | None = None,
    plugins: Sequence[Registered] = (),
    on_event: Callable[[Event], None] | None = None,
) -> RunReport:
    """Try again what failed, was blocked or was cancelled in a finished run, or only `node`, and what comes after it.

    What succeeded stays, and no effect that was done is done again. `by` is who asks for it, by default the user of the
    system; `hook_entries` as of `open_existing`. Raises InDoubtError while an effect is in doubt, UsageError for a run
    with nothing to try again, NotFoundError for such a node, DefinitionError for hooks that cannot be used.
    """
    nodes = [] if node is None else [meant_to_retry(read_run(directory), node)]
    with reopen_run(
        directory,
        by=by or user_name(),
        nodes=nodes,
        max_concurrency=max_concurrency,
        hook_entries=hook_entries,
        admit=require_performers if implementation is None else None,
    ) as run:
        return await run_loop(
            run, implementation=implementation, stays_at_gates=stays_at_gates, plugins=plugins, on_event=on_event
        )


async def recover(
    directory: RunDirectory,
    *,
    implementation: WorkflowExecutionHooks | None = None,
    take_over: bool = False,
    hook_entries: Sequence[HookEntry] = (),
    stays_at_gates: bool = False,
    clock: Clock | None = None,
    plugins: Sequence[Registered] = (),
    on_event: Callable[[Event], None] | None = None,
) -> RunReport:
    """Go on with a run whose driver is gone, to the same end. `take_over` and `hook_entries` as of `open_existing`,
    which says what this raises where the run is another's, copied or damaged. Without `implementation`, raises
    MissingPerformerError, the run unchanged, where its own agents and executors are not all known here."""
    admit = require_performers if implementation is None else None
    with open_existing(directory, take_over=take_over, hook_entries=hook_entries, clock=clock, admit=admit) as run:
        return await run_loop(
            run, implementation=implementation, stays_at_gates=stays_at_gates, plugins=plugins, on_event=on_event
        )
