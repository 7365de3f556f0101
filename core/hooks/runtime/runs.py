"""Runs as a program handles them: start one, open one, drive it.

`start_run` and `open_existing` return a run whose driver lock is held; `drive` moves it. They are plain functions;
`drive_async` is for a program that has a loop of its own. Looking at a run is `reading.py`.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from hooks.clock import Clock, SystemClock
from hooks.definition.model import HookEntry, Workflow, revision_id, workflow_to_json
from hooks.errors import RunIdTakenError, UsageError
from hooks.events.envelope import Actor, Event
from hooks.events.payloads import HookSetChanged, Payload, ResumeStarted, RunCreated, Session
from hooks.ids import RunId, is_run_id_to_give, new_run_id
from hooks.jsonio import canonical
from hooks.kernel.state import RunState
from hooks.kernel.status import RunStatus
from hooks.pipeline.hook_set import hook_set_digest, refresh_hook_set, resolve_hook_set
from hooks.pipeline.pipeline import Pipeline
from hooks.runtime.attempt import RunContext
from hooks.runtime.driver import Driver
from hooks.runtime.execution_hooks import WorkflowExecutionHooks
from hooks.runtime.hook_points import HookPoints
from hooks.runtime.local import LocalExecutionHooks
from hooks.runtime.reading import Folding, RunView
from hooks.runtime.recorder import Recorder
from hooks.runtime.supervision import Interruption
from hooks.runtime.work_engine import LocalWorkEngine
from hooks.storage.blobs import BlobStore
from hooks.storage.durable_files import Durability
from hooks.storage.event_log import EventLog
from hooks.storage.locks import DriverLock, boot_id, this_process
from hooks.storage.run_creation import create_run
from hooks.storage.run_directory import RunDirectory
from hooks.storage.run_opening import open_run

DEFAULT_GRACE_MS = 10_000


@dataclass(frozen=True, slots=True)
class RunReport:
    """What driving a run has come to. `signal`: the one that stopped the driver, which should now die by it."""

    view: RunView
    signal: int | None = None

    @property
    def state(self) -> RunState:
        return self.view.state

    @property
    def status(self) -> RunStatus:
        return self.view.status

    @property
    def run_id(self) -> RunId:
        return self.view.run_id

    def output(self) -> dict[str, Any]:
        return self.view.output()


@dataclass(slots=True)
class OpenRun:
    """A run whose driver we are, until `close`."""

    directory: RunDirectory
    definition: Workflow
    state: RunState
    is_new: bool
    lock: DriverLock
    log: EventLog
    blobs: BlobStore
    resume: ResumeStarted | None
    durability: Durability
    grace_ms: int
    clock: Clock
    _closed: bool = field(default=False)

    @property
    def run_id(self) -> RunId:
        return self.state.run_id

    def view(self) -> RunView:
        """The run as it stands, for looking at; nobody drives it between two calls of `drive`."""
        return RunView(self.directory, self.definition, self.state, None, self.blobs)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.log.close()
            self.lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# ---- starting and opening ------------------------------------------------------------------------------------------


def start_run(
    workflow: Workflow,
    params: dict[str, Any],
    *,
    runs_dir: Path,
    workflow_directory: Path,
    working_directory: Path,
    initiator: str,
    run_id: str | None = None,
    hook_entries: Sequence[HookEntry] = (),
    metadata: dict[str, Any] | None = None,
    max_concurrency: int | None = None,
    grace_ms: int = DEFAULT_GRACE_MS,
    durability: Durability = "strict",
    record_hooks: Literal["changes", "all"] = "changes",
    clock: Clock | None = None,
) -> OpenRun:
    """Make a run, durable when this returns, with its driver lock held.

    `hook_entries` are those of config and flags; the workflow's own are added. With a `run_id` that exists and equal
    definition and params, that run is opened instead; with others, UsageError says what differs. Raises
    RunLockedError, StorageError, DefinitionError for hooks that cannot be found.
    """
    clock = clock or SystemClock()
    if run_id is not None and not is_run_id_to_give(run_id):
        raise UsageError(
            f"{run_id!r} cannot be a run id.",
            fix="Use up to 100 letters, digits, `_`, `.` and `-`, beginning with none of the last two; "
            "`last` means the newest run.",
        )
    workflow_json = workflow_to_json(workflow)
    hooks = resolve_hook_set([*hook_entries, *workflow.hooks])
    now_ms = clock.now_ms()
    chosen = run_id or new_run_id(workflow.workflow_id, now_ms, secrets.token_hex(4))

    def first_payloads(inode: int) -> Sequence[tuple[Actor, Payload]]:
        created = RunCreated(
            workflow_id=workflow.workflow_id,
            revision_id=revision_id(workflow_json),
            params=params,
            params_digest=sha256(canonical(params)).hexdigest(),
            hook_set_digest=hook_set_digest(hooks),
            hooks=hooks,
            working_directory=str(working_directory),
            workflow_directory=str(workflow_directory),
            max_concurrency=max_concurrency or workflow.max_concurrency,
            grace_ms=grace_ms,
            initiator=initiator,
            metadata={**workflow.metadata, **(metadata or {})},
            durability=durability,
            record_hooks=record_hooks,
            session=this_session(inode),
        )
        return [("human", created)]

    try:
        new = create_run(runs_dir, chosen, workflow_json, first_payloads, now_ms=now_ms, durability=durability)
    except RunIdTakenError:
        directory = RunDirectory(runs_dir / chosen)
        _require_same(directory, workflow_json, params)
        return open_existing(directory, grace_ms=grace_ms, clock=clock)
    folding = Folding(new.directory)
    for event in new.events:
        folding.receive(event)
    return OpenRun(
        directory=new.directory,
        definition=folding.definition,
        state=folding.state,
        is_new=True,
        lock=new.lock,
        log=new.log,
        blobs=new.directory.blob_store(durability),
        resume=None,
        durability=durability,
        grace_ms=grace_ms,
        clock=clock,
    )


def open_existing(
    directory: RunDirectory,
    *,
    take_over: bool = False,
    grace_ms: int | None = None,
    clock: Clock | None = None,
) -> OpenRun:
    """Become the driver of a run: lock it, check its whole log, repair a torn tail. Nothing else is changed.

    Raises RunLockedError, CorruptRunError, StorageError, and RunCopiedError unless `take_over` or it has ended.
    """
    clock = clock or SystemClock()
    folding = Folding(directory)
    opened = open_run(
        directory,
        role="driver",
        now_ms=clock.now_ms(),
        take_over=take_over,
        has_ended=lambda: folding.state.ended is not None,
        receive=folding.receive,
    )
    inode = directory.path.stat().st_ino
    return OpenRun(
        directory=directory,
        definition=folding.definition,
        state=folding.state,
        is_new=False,
        lock=opened.lock,
        log=opened.log,
        blobs=directory.blob_store(opened.created.durability),
        resume=ResumeStarted(session=this_session(inode), taken_over=opened.taken_over),
        durability=opened.created.durability,
        grace_ms=opened.created.grace_ms if grace_ms is None else grace_ms,
        clock=clock,
    )


def _require_same(directory: RunDirectory, workflow_json: bytes, params: dict[str, Any]) -> None:
    """An existing run may be continued under its id only with the definition and params it began with."""
    first = directory.first_event()
    if first is None or not isinstance(first.payload, RunCreated):
        raise UsageError(
            f"{directory.path} is there, but is no run that could be continued.", fix="Use another --run-id."
        )
    created = first.payload
    differing = []
    if created.revision_id != revision_id(workflow_json):
        differing.append("the workflow")
    if created.params_digest != sha256(canonical(params)).hexdigest():
        before = directory.blob_store().resolve(created.params)
        names = [name for name in {**before, **params} if before.get(name) != params.get(name)]
        differing.append("the params " + ", ".join(names))
    if differing:
        raise UsageError(
            f"Run {directory.run_id} exists and differs in {' and '.join(differing)}.",
            fix=f"Use another --run-id, or continue it as it is: `hooks recover {directory.run_id}`.",
            run=directory.run_id,
        )


def this_session(inode: int) -> Session:
    """This process as the driver of the run directory with `inode`."""
    me = this_process()
    return Session(pid=me.pid, start_time=me.start_time, boot_id=me.boot_id, host=me.host, inode=inode)


# ---- driving -------------------------------------------------------------------------------------------------------


def drive(
    run: OpenRun,
    *,
    one_pass: bool = False,
    on_event: Callable[[Event], None] | None = None,
    on_signal: Callable[[int], None] | None = None,
) -> RunReport:
    """Move `run` until it ends or cannot go on without a person (`one_pass`: start things only once).

    SIGINT and SIGTERM stop it: `signal` of the report says so, and `on_signal` is told of the first one at once, since
    what runs may take its time to end. Raises StorageError when the log cannot be written; what
    was running then is left to be found by the next driver, as if this process had been killed.
    """
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(drive_async(run, one_pass=one_pass, on_event=on_event, on_signal=on_signal))
    finally:
        _let_go_of_tasks(loop)
        loop.close()


async def drive_async(
    run: OpenRun,
    *,
    one_pass: bool = False,
    on_event: Callable[[Event], None] | None = None,
    on_signal: Callable[[int], None] | None = None,
    implementation: WorkflowExecutionHooks | None = None,
    handle_signals: bool = True,
) -> RunReport:
    """`drive` within the caller's loop; `implementation` replaces the workflow's own agents and executors."""
    if run.state.ended is not None:
        return RunReport(run.view())
    interruption = Interruption()
    recorder, hook_points = _recorder_and_hooks(run)
    recorder.on_event = on_event
    context = _context(run, recorder, hook_points, interruption, implementation)
    handled = _handle_signals(interruption, run.grace_ms, on_signal) if handle_signals else ()
    try:
        await hook_points.open()
        await Driver(context).drive(one_pass=one_pass)
    finally:
        await hook_points.close()
        for number in handled:
            asyncio.get_running_loop().remove_signal_handler(number)
    return RunReport(run.view(), interruption.signal)


def _recorder_and_hooks(run: OpenRun) -> tuple[Recorder, HookPoints]:
    """The pen and the hooks of this driver; what changed since the last one is announced with the first event."""
    members, changed = refresh_hook_set(run.state.hook_set)
    prelude: list[Payload] = [run.resume] if run.resume is not None else []
    changed_files = [member.after for member in changed if not member.missing]
    if changed_files:
        prelude.append(HookSetChanged(changed=changed_files))
    recorder = Recorder(run.log, run.blobs, run.state, run.clock, prelude)
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
    )
    return recorder, HookPoints(pipeline, recorder, run.definition)


def _context(
    run: OpenRun,
    recorder: Recorder,
    hook_points: HookPoints,
    interruption: Interruption,
    implementation: WorkflowExecutionHooks | None,
) -> RunContext:
    created = run.state.created
    assert created is not None
    working_directory, workflow_directory = Path(created.working_directory), Path(created.workflow_directory)
    engine = LocalWorkEngine(run.definition, workflow_directory)
    return RunContext(
        definition=run.definition,
        recorder=recorder,
        implementation=implementation
        or LocalExecutionHooks(engine, working_directory=working_directory, workflow_directory=workflow_directory),
        hook_points=hook_points,
        interruption=interruption,
        clock=run.clock,
        attempts_directory=run.directory.attempts,
        working_directory=working_directory,
        workflow_directory=workflow_directory,
        grace_ms=run.grace_ms,
        durability=run.durability,
        end_leftovers=engine.end_leftovers,
        trusted_since=_trusted_since(run.state.sessions, run.directory.path.stat().st_ino),
    )


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
            coroutine.close()
