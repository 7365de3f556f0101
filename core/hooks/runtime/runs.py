"""Runs as a program handles them: start one, open one, reopen one; each returns with the driver's lock held.

Moving an open run is `driving.py`, looking at one `reading.py`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from hooks.clock import Clock, SteadyClock, SystemClock
from hooks.definition.model import HookEntry, Workflow, revision_id, workflow_to_json
from hooks.errors import InDoubtError, RunIdTakenError, RunLockedError, UsageError
from hooks.events.envelope import Actor
from hooks.events.payloads import (
    ForkedFrom,
    HookSetChanged,
    NodeImported,
    NodeReference,
    Payload,
    ResumeStarted,
    RunCreated,
    RunReopened,
    RunSucceeded,
    Session,
)
from hooks.ids import RunId, is_run_id_to_give, new_run_id
from hooks.jsonio import canonical, require
from hooks.kernel.apply import apply
from hooks.kernel.reopening import nodes_to_reopen
from hooks.kernel.state import RunState
from hooks.pipeline.hook_set import HookSetNow, hook_set_digest, hook_set_now, resolve_hook_set
from hooks.runtime.reading import Folding, RunView
from hooks.runtime.recorder import Recorder
from hooks.storage.blobs import BlobStore
from hooks.storage.durable_files import Durability
from hooks.storage.event_log import EventLog
from hooks.storage.locks import DriverLock, LockRole, this_process
from hooks.storage.run_creation import create_run
from hooks.storage.run_directory import RunDirectory
from hooks.storage.run_opening import OpenedRun, open_run

Admit: TypeAlias = Callable[[Workflow, RunState, Sequence[NodeReference]], None]
"""Refuses, by raising, to drive a run of which these nodes would be reopened."""

DEFAULT_GRACE_MS = 10_000
INBOX_HOLDER_S = 5
"""How long a driver waits for the lock of one who only delivers a request."""


@dataclass
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
    hook_entries: Sequence[HookEntry] = ()
    """The hooks that hold where this driver is: those that the run does not have yet are added to it."""
    _closed: bool = field(default=False)

    @property
    def run_id(self) -> RunId:
        return self.state.run_id

    @cached_property
    def steady_clock(self) -> SteadyClock:
        """The time this driver goes by: never before the last event, never standing still."""
        return SteadyClock(self.clock, not_before=self.state.timestamp)

    def view(self) -> RunView:
        """The run as it stands, for looking at; nobody drives it between two calls of `drive`."""
        return RunView(self.directory, self.definition, self.state, None, self.blobs, self.clock.now_ms)

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
    workflow_file: Path | None = None,
    working_directory: Path,
    initiator: str,
    run_id: str | None = None,
    hook_entries: Sequence[HookEntry] = (),
    metadata: dict[str, Any] | None = None,
    max_concurrency: int | None = None,
    grace_ms: int = DEFAULT_GRACE_MS,
    durability: Durability = "strict",
    record_hooks: Literal["changes", "all"] = "changes",
    forked_from: ForkedFrom | None = None,
    imports: Sequence[NodeImported] = (),
    clock: Clock | None = None,
) -> OpenRun:
    """Make a run, durable when this returns, with its driver lock held.

    `hook_entries` are those of config and flags; the workflow's own are added. With a `run_id` that exists and equal
    definition and params, that run is opened instead, as `open_existing` does; with others, UsageError says what
    differs. Raises RunLockedError, StorageError, DefinitionError for hooks that cannot be found, and UsageError for
    what no log can carry.
    """
    clock = clock or SystemClock()
    if run_id is not None and not is_run_id_to_give(run_id):
        raise UsageError(
            f"{run_id!r} cannot be a run id.",
            fix="Use up to 100 letters, digits, `_`, `.` and `-`, beginning with none of the last two; "
            "`last` means the newest run.",
        )
    places = {"workflow_directory": workflow_directory, "working_directory": working_directory}
    for name, value in {"params": params, "metadata": metadata, "initiator": initiator}.items():
        require(name, value)
    for name, place in {**places, "workflow_file": workflow_file}.items():
        require(name, str(place))
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
            workflow_file=None if workflow_file is None else str(workflow_file),
            max_concurrency=max_concurrency or workflow.max_concurrency,
            grace_ms=grace_ms,
            initiator=initiator,
            metadata={**workflow.metadata, **(metadata or {})},
            durability=durability,
            record_hooks=record_hooks,
            forked_from=forked_from,
            token=secrets.token_hex(16),
            session=this_session(inode),
        )
        return [("human", created), *(("scheduler", imported) for imported in imports)]

    try:
        new = create_run(runs_dir, chosen, workflow_json, first_payloads, now_ms=now_ms, durability=durability)
    except RunIdTakenError:
        directory = RunDirectory(runs_dir / chosen)
        _require_same(directory, workflow_json, params, forked_from)
        return open_existing(directory, grace_ms=grace_ms, hook_entries=hook_entries, clock=clock)
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
    max_concurrency: int | None = None,
    hook_entries: Sequence[HookEntry] = (),
    clock: Clock | None = None,
    role: LockRole = "driver",
    will_move: bool = False,
    admit: Admit | None = None,
) -> OpenRun:
    """Become the driver of a run: lock it, check its whole log, repair a torn tail. Nothing else is changed.

    `hook_entries` are those of config and flags now: what the run does not have of them yet is added to its hooks with
    the first thing that this driver does. Waits a few seconds for one who only delivers a request.

    Raises RunLockedError, CorruptRunError, StorageError, and RunCopiedError unless `take_over`, or unless it has ended
    and will not be moved (`will_move`: not even then); and what `admit` raises, which is shown the run before anything
    is changed: `require_performers`, for a run that will be driven by its own agents and executors.
    """
    clock = clock or SystemClock()
    folding, opened = _open(directory, take_over=take_over, clock=clock, role=role, will_move=will_move, admit=admit)
    inode = directory.path.stat().st_ino
    resume: ResumeStarted | None = ResumeStarted(
        session=this_session(inode), taken_over=opened.taken_over, max_concurrency=max_concurrency
    )
    if opened.taken_over and folding.state.ended is None and resume is not None:
        # At once, even if this driver decides nothing: the next one need not be told again.
        apply(folding.state, opened.log.add("system", resume, clock.now_ms()))
        opened.log.flush()
        resume = None
    return OpenRun(
        directory=directory,
        definition=folding.definition,
        state=folding.state,
        is_new=False,
        lock=opened.lock,
        log=opened.log,
        blobs=directory.blob_store(opened.created.durability),
        resume=resume,
        durability=opened.created.durability,
        grace_ms=opened.created.grace_ms if grace_ms is None else grace_ms,
        clock=clock,
        hook_entries=hook_entries,
    )


def _open(
    directory: RunDirectory, *, take_over: bool, clock: Clock, role: LockRole, will_move: bool, admit: Admit | None
) -> tuple[Folding, OpenedRun]:
    give_up_at = time.monotonic() + INBOX_HOLDER_S
    while True:
        folding = Folding(directory)
        try:
            return folding, open_run(
                directory,
                role=role,
                now_ms=clock.now_ms(),
                take_over=take_over,
                has_ended=(lambda: False) if will_move else folding.has_ended,
                admit=partial(_admit, folding, admit),
                receive=folding.receive,
            )
        except RunLockedError:
            holder = directory.driver()
            is_brief = holder is None or holder.role == "inbox"
            if role == "inbox" or not is_brief or time.monotonic() > give_up_at:
                raise
            time.sleep(0.02)


def _admit(folding: Folding, admit: Admit | None) -> None:
    if admit is not None:
        admit(folding.definition, folding.state, ())


def reopen_run(
    directory: RunDirectory,
    *,
    by: str,
    nodes: Sequence[tuple[str, str]] = (),
    grace_ms: int | None = None,
    max_concurrency: int | None = None,
    hook_entries: Sequence[HookEntry] = (),
    clock: Clock | None = None,
    admit: Admit | None = None,
) -> OpenRun:
    """Have the failed, blocked or cancelled nodes of a finished run tried again (or `nodes`: scope and node).

    Durable when this returns, with the driver's lock held; `drive` then moves it. `hook_entries` and `admit` as of
    `open_existing`; it is shown what would be reopened as well.
    Raises InDoubtError while an effect is in doubt, UsageError for a run that has not failed, DefinitionError for hooks
    that cannot be used.
    """
    run = open_existing(
        directory,
        grace_ms=grace_ms,
        max_concurrency=max_concurrency,
        hook_entries=hook_entries,
        clock=clock,
        will_move=True,
    )
    try:
        _require_reopenable(run)
        reopened = nodes_to_reopen(run.state, nodes)
        if admit is not None:
            admit(run.definition, run.state, reopened)
        _, recorder = recorder_of(run)
        recorder.record(RunReopened(nodes=reopened, by=by), "human")
        recorder.commit_now()
    except BaseException:
        run.close()
        raise
    run.resume = None
    return run


def _require_reopenable(run: OpenRun) -> None:
    if run.state.in_doubt:
        raise InDoubtError(run.run_id, [attempt.node_id for attempt in run.state.in_doubt.values()])
    if run.state.ended is None:
        raise UsageError(
            f"Run {run.run_id} has not ended.", fix=f"Go on with it: `hooks recover {run.run_id}`.", run=run.run_id
        )
    if isinstance(run.state.ended, RunSucceeded):
        raise UsageError(f"Run {run.run_id} succeeded; there is nothing to try again.", run=run.run_id)


def _require_same(
    directory: RunDirectory, workflow_json: bytes, params: dict[str, Any], forked_from: ForkedFrom | None
) -> None:
    """An existing run may be continued under its id only with the definition and params it began with.

    What is asked for as a rerun must be that rerun: another run has not done again what is to be done again.
    """
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
    if forked_from is not None and created.forked_from != forked_from:
        differing.append("what it is a rerun of")
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


def recorder_of(run: OpenRun) -> tuple[HookSetNow, Recorder]:
    """The hooks as they are now, and the pen of this driver: what it announces comes with its first event.

    Raises DefinitionError for hooks that this driver was given and that cannot be used.
    """
    hooks = hook_set_now(run.state.hook_set, run.hook_entries)
    prelude: list[Payload] = [run.resume] if run.resume is not None else []
    if hooks.changed or hooks.added:
        prelude.append(HookSetChanged(changed=hooks.changed, added=hooks.added))
    return hooks, Recorder(run.log, run.blobs, run.state, run.steady_clock, prelude)
