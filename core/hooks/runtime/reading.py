"""Looking at a run: fold its log, without a lock and without changing anything.

Nothing here needs what driving a run needs (no event loop, no agents, no hooks), so that `ls` and `show` start fast.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hooks.definition.graph import graph_of
from hooks.definition.model import Workflow, workflow_from_json
from hooks.errors import CorruptRunError
from hooks.events.envelope import Event
from hooks.events.payloads import LoopIterationStarted, RunCreated, RunSucceeded
from hooks.ids import NodeId, RunId
from hooks.kernel.apply import apply
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.state import RunState
from hooks.kernel.status import RunStatus, run_status
from hooks.kernel.walk import initial_state
from hooks.runtime.binding import resolved_output
from hooks.storage.blobs import BlobStore
from hooks.storage.locks import LockHolder
from hooks.storage.log_reader import LogReader
from hooks.storage.run_directory import RunDirectory, read_workflow
from hooks.storage.verify import Finding, verify_run


class Folding:
    """Folds a run's log as it is read: the first event says which workflow.json belongs to it."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._state: RunState | None = None
        self._definition: Workflow | None = None

    def receive(self, event: Event) -> None:
        """Fold one event. Raises CorruptRunError if it cannot stand where it does."""
        if self._state is None:
            self._state = self._begin(event)
        try:
            apply(self._state, event)
        except IllegalEventError as error:
            raise CorruptRunError(str(error), file=str(self._directory.log), line=event.seq) from error

    def _begin(self, event: Event) -> RunState:
        self._definition = definition_of(self._directory, event)
        return state_before(self._directory, self._definition)

    @property
    def state(self) -> RunState:
        if self._state is None:
            raise self._directory.no_events()
        return self._state

    def has_ended(self) -> bool:
        """Whether the events so far end the run."""
        return self.state.ended is not None

    @property
    def definition(self) -> Workflow:
        if self._definition is None:
            raise self._directory.no_events()
        return self._definition


def definition_of(directory: RunDirectory, first: Event) -> Workflow:
    """The definition that a run began with, as its first event names it. Raises CorruptRunError."""
    if not isinstance(first.payload, RunCreated):
        raise CorruptRunError("the log does not begin with runCreated", file=str(directory.log), line=1)
    return workflow_from_json(read_workflow(directory, first.payload))


def definition_in(directory: RunDirectory) -> Workflow:
    """The definition a run began with. Raises CorruptRunError."""
    first = directory.first_event()
    if first is None:
        raise CorruptRunError("the log has no events", file=str(directory.log), line=1, byte=0)
    return definition_of(directory, first)


def state_before(directory: RunDirectory, definition: Workflow) -> RunState:
    """The state of a run of this definition before its first event."""
    return initial_state(RunId(directory.logged_run_id()), graph_of(definition))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it stands, for looking at. `holder` is the process that drives it, if there is one."""

    directory: RunDirectory
    definition: Workflow
    state: RunState
    holder: LockHolder | None
    blobs: BlobStore
    now_ms: Callable[[], int] = _now_ms
    """What time it is, where the run is looked at by another clock than the machine's."""

    @property
    def run_id(self) -> RunId:
        return self.state.run_id

    @property
    def status(self) -> RunStatus:
        """What the run is called now: a deadline that has passed makes a run pending that was waiting."""
        now = self.state.now(self.now_ms())
        return run_status(self.state, driver_is_alive=self.holder is not None, now=now)

    def output(self) -> dict[str, Any]:
        """The output of the run, sink to output; empty unless it succeeded."""
        ended = self.state.ended
        if not isinstance(ended, RunSucceeded):
            return {}
        nodes = self.state.root.nodes
        return {sink: resolved_output(nodes[NodeId(sink)], self.blobs.resolve) for sink in ended.sinks}


def read_events(directory: RunDirectory) -> Iterator[Event]:
    """The committed events of a run, in order and in bounded memory.

    Raises CorruptRunError at damage, and a log without an event is that.
    """
    reader = LogReader(directory.log)
    yield from reader.stream()
    if reader.run_id is None:
        raise directory.no_events()


def read_run(directory: RunDirectory) -> RunView:
    """Fold a run's log as far as it is committed.

    Raises CorruptRunError. A torn tail is no damage: what was committed before it counts.
    """
    # Asked first: a driver that lets go while we read has written all it wrote before that.
    holder = directory.driver()
    folding = Folding(directory)
    for event in read_events(directory):
        folding.receive(event)
    return RunView(directory, folding.definition, folding.state, holder, directory.blob_store())


def read_round(view: RunView, loop_id: str, iteration: int) -> RunView:
    """The run as it stood when it last knew of a round: a state lets go of it when the next but one begins."""
    folding = Folding(view.directory)
    for event in read_events(view.directory):
        match event.payload:
            case LoopIterationStarted(node_id=node_id, iteration=later) if (node_id, later) == (loop_id, iteration + 2):
                break
        folding.receive(event)
    return replace(view, state=folding.state)


def check_run(directory: RunDirectory) -> list[Finding]:
    """What of a run is not as it was written; else what is no history that a run can have."""
    findings = verify_run(directory)
    if not any(finding.severity == "damage" for finding in findings):
        try:
            read_run(directory)
        except CorruptRunError as error:
            findings.append(Finding("damage", error.file, error.reason, line=error.line, byte=error.byte))
    return findings
