"""Driving a run: the loop, the signals, and everything a driver needs, put together."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hooks.agents.base import Agent
from hooks.errors import LoopEndedError
from hooks.events.envelope import Event
from hooks.events.payloads import HookSetMember, Session
from hooks.ids import RunId
from hooks.kernel.state import RunEnding, RunState
from hooks.kernel.status import RunStatus
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.plugins import Registered
from hooks.runtime.context import RunContext
from hooks.runtime.driver import Dispatching, Driver
from hooks.runtime.execution_hooks import WorkflowExecutionHooks
from hooks.runtime.hook_asker import HookAsker, tell_on_stderr
from hooks.runtime.hook_points import HookPoints
from hooks.runtime.local import LocalExecutionHooks
from hooks.runtime.masking import masker_of, secret_names_of
from hooks.runtime.performers import require_performers
from hooks.runtime.prepared_call import PreparedCall
from hooks.runtime.reading import RunView
from hooks.runtime.recorder import Recorder
from hooks.runtime.runs import OpenRun, recorder_of
from hooks.runtime.step import MOMENT_MS
from hooks.runtime.supervision import Interruption
from hooks.runtime.work_engine import LocalWorkEngine
from hooks.secrets import Masker
from hooks.storage.inbox import has_requests
from hooks.storage.locks import boot_id

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunReport:
    """What moving a run has come to, as it stands then; `view` has all of it.

    `signal`: the one that stopped the driver, which should now die by it.
    """

    view: RunView
    signal: int | None = None

    @property
    def state(self) -> RunState:
        return self.view.state

    @property
    def status(self) -> RunStatus:
        """What the run is called now, why, and the exit code of that: succeeded, failed, waiting, in_doubt, …"""
        return self.view.status

    @property
    def run_id(self) -> RunId:
        return self.view.run_id

    def output(self) -> dict[str, Any]:
        """The output of each node that nobody depends on; empty unless the run succeeded."""
        return self.view.output()


def drive(
    run: OpenRun,
    *,
    one_pass: bool = False,
    stays_at_gates: bool = False,
    dispatching: Dispatching = "work",
    on_event: Callable[[Event], None] | None = None,
    on_signal: Callable[[int], None] | None = None,
) -> RunReport:
    """Move `run` until it ends or cannot go on without a person (`one_pass`: start things only once).

    `stays_at_gates`: wait while gates are open. `dispatching` "nothing": only answer requests, cancel and apply timers.
    SIGINT and SIGTERM stop it: `signal` of the report says so, and `on_signal` is told of the first one at once, since
    what runs may take its time to end. Raises StorageError when the log cannot be written; what was running then is
    left to be found by the next driver, as if this process had been killed.
    """
    return in_own_loop(
        drive_async(
            run,
            one_pass=one_pass,
            stays_at_gates=stays_at_gates,
            dispatching=dispatching,
            on_event=on_event,
            on_signal=on_signal,
        )
    )


def in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end in a loop made for it. What still waits after a fault is let go of, not ended.

    Raises LoopEndedError where something in the loop has cancelled it.
    """
    loop = asyncio.new_event_loop()
    try:
        return run_to_end(loop.run_until_complete, loop.create_task(work))
    finally:
        _let_go_of_tasks(loop)
        loop.close()


def run_to_end(run: Callable[[Coroutine[Any, Any, T]], T], task: asyncio.Task[T]) -> T:
    """What `task` comes to, in its loop that `run` runs, also where Python of others in there stops the loop.

    Raises LoopEndedError where that has cancelled it.
    """
    while True:
        try:
            return run(_ended(task))
        except asyncio.CancelledError as error:
            raise LoopEndedError from error
        except RuntimeError as error:
            is_of_the_work = task.done() and not task.cancelled() and task.exception() is error
            if is_of_the_work or _STOPPED not in str(error):
                raise


_STOPPED = "Event loop stopped before Future completed"
"""What asyncio says of a loop that was stopped; it has no class of its own for that."""


async def _ended(task: asyncio.Task[T]) -> T:
    return await task


async def drive_async(
    run: OpenRun,
    *,
    one_pass: bool = False,
    stays_at_gates: bool = False,
    dispatching: Dispatching = "work",
    on_event: Callable[[Event], None] | None = None,
    on_signal: Callable[[int], None] | None = None,
    implementation: WorkflowExecutionHooks | None = None,
    agent_for: Callable[[str], Agent | None] = lambda name: None,
    plugins: Sequence[Registered] = (),
    handle_signals: bool = True,
) -> RunReport:
    """`drive` within the caller's loop; `implementation` replaces the workflow's own agents and executors.

    Without one `agent_for` may give other agents than those declared. `plugins` are hooks of this program, asked after
    those of the run. Raises UsageError where one is none, MissingPerformerError as `require_performers` does.
    """
    if run.state.ended is not None and not has_requests(run.directory.inbox):
        return RunReport(run.view())
    if implementation is None and dispatching == "work":
        require_performers(run.definition, run.state, agent_for=agent_for)
    interruption = Interruption()
    hooks, recorder = recorder_of(run)
    secret_names = secret_names_of(run.definition)
    masker = masker_of(run.definition)
    here = _workflow_directory(run)
    if implementation is None:
        engine = LocalWorkEngine(run.definition, here, agent_for)
        performer: WorkflowExecutionHooks = LocalExecutionHooks(engine, workflow_directory=here)
    else:
        engine, performer = LocalWorkEngine(run.definition, here, implementation.agent_for), implementation
    hook_points = _hook_points(run, hooks.members, recorder, masker, performer, plugins)
    recorder.on_event = _telling(hook_points, on_event, dispatching, hooks.notes)
    context = _context(
        run,
        recorder,
        hook_points,
        interruption,
        engine,
        performer,
        secret_names=secret_names,
        masker=masker,
        one_pass=one_pass,
    )
    handled = _handle_signals(interruption, run.grace_ms, on_signal) if handle_signals else ()
    try:
        if dispatching == "work":
            await hook_points.open()
            hook_points.observers.catch_up()
        await Driver(context, run.directory, dispatching=dispatching).drive(stays_at_gates=stays_at_gates)
        await hook_points.observers.finish()
    finally:
        await hook_points.close()
        for number in handled:
            asyncio.get_running_loop().remove_signal_handler(number)
    return RunReport(run.view(), interruption.signal)


def _telling(
    hook_points: HookPoints,
    on_event: Callable[[Event], None] | None,
    dispatching: Dispatching,
    notes: Sequence[str],
) -> Callable[[Event], None]:
    """Tell both the caller and the hooks that observe of what has become durable; and with the first of it a person
    what there is to know of the hooks, so that a driver that has nothing to do says nothing.

    Where no work is dispatched hooks hear of the end alone: the driver that goes on tells them of what was answered.
    """
    untold = list(notes) if dispatching == "work" else []

    def tell(event: Event) -> None:
        while untold:
            tell_on_stderr(f"warning: {untold.pop(0)}")
        if on_event is not None:
            on_event(event)
        if dispatching == "work" or isinstance(event.payload, RunEnding):
            hook_points.observers.observe(event)

    return tell


def _hook_points(
    run: OpenRun,
    members: Sequence[HookSetMember],
    recorder: Recorder,
    masker: Masker | None,
    performer: WorkflowExecutionHooks,
    plugins: Sequence[Registered],
) -> HookPoints:
    created = run.state.created
    assert created is not None
    pipeline = Pipeline(
        members,
        run_id=run.run_id,
        workflow_id=run.definition.workflow_id,
        run_directory=run.directory.path,
        working_directory=Path(created.working_directory),
        transcript=run.directory.log,
        record_hooks=created.record_hooks,
        resolve=recorder.resolve,
        states=run.state.plugin_states,
        plugins=plugins,
    )

    def prepare(executor: str, value: Any, cwd: str | None) -> PreparedCall:
        directory = _working_directory(run)
        return performer.prepare_in(directory if cwd is None else directory / cwd, executor, value)

    return HookPoints(
        HookAsker(pipeline, recorder, run.definition, masker),
        now=lambda: run.state.now(run.clock.now_ms()),
        prepare=prepare,
    )


def _context(
    run: OpenRun,
    recorder: Recorder,
    hook_points: HookPoints,
    interruption: Interruption,
    engine: LocalWorkEngine,
    performer: WorkflowExecutionHooks,
    *,
    secret_names: frozenset[str],
    masker: Masker | None,
    one_pass: bool,
) -> RunContext:
    async def tell_cancelled(activity_ids: Sequence[str], node_ids: Sequence[str]) -> None:
        try:
            async with asyncio.timeout(max(run.grace_ms, MOMENT_MS) / 1000):
                await performer.on_activities_cancelled(activity_ids, node_ids, run.run_id)
        except Exception as error:  # noqa: BLE001 - told at least once; what it makes of it cannot undo the cancel
            tell_on_stderr(f"on_activities_cancelled failed: {type(error).__name__}: {error}")

    return RunContext(
        definition=run.definition,
        recorder=recorder,
        implementation=performer,
        environ=os.environ,
        secret_names=secret_names,
        masker=masker,
        tell_cancelled=tell_cancelled,
        tell=tell_on_stderr,
        one_pass=one_pass,
        hook_points=hook_points,
        interruption=interruption,
        clock=run.steady_clock,
        wall_clock=run.clock,
        attempts_directory=run.directory.attempts,
        working_directory=_working_directory(run),
        workflow_directory=_workflow_directory(run),
        grace_ms=run.grace_ms,
        durability=run.durability,
        engine=engine,
        trusted_since=_trusted_since(run.state.sessions, run.directory.path.stat().st_ino),
    )


def _working_directory(run: OpenRun) -> Path:
    created = run.state.created
    assert created is not None
    return Path(created.working_directory)


def _workflow_directory(run: OpenRun) -> Path:
    created = run.state.created
    assert created is not None
    return Path(created.workflow_directory)


def _trusted_since(sessions: Sequence[Session], inode: int) -> int:
    """Index of the first session since which boot and directory have been these, without a break."""
    here = boot_id()
    index = len(sessions)
    while index > 0 and sessions[index - 1].boot_id == here and sessions[index - 1].inode == inode:
        index -= 1
    return index


def _handle_signals(
    interruption: Interruption, grace_ms: int, on_signal: Callable[[int], None] | None
) -> tuple[int, ...]:
    def stop(number: int) -> None:
        is_first = interruption.signal is None
        interruption.request(number, grace_ms)
        if is_first and on_signal is not None:
            on_signal(number)

    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    return numbers


def _let_go_of_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Drop what still waits, where it waits: nothing it does by ending may reach its processes.

    After a fault these are attempts; that fault is being raised, and what the loop could say of tasks that ended by it
    or never will is only noise.
    """
    loop.set_exception_handler(lambda *_: None)
    for task in asyncio.all_tasks(loop):
        coroutine = task.get_coro()
        # Now, and not when the garbage is collected: what they leave on the way out may need a loop that is open.
        if isinstance(coroutine, Coroutine):
            with suppress(Exception):  # what they do on the way out may want a loop that runs
                coroutine.close()
