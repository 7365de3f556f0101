"""How facts get into the log and the state: the one place where events are added.

`record` adds an event to the pending group and folds it at once, so that the program always sees the state its own
events lead to; `commit` returns when everything recorded so far is durable. Commits that are asked for in the same few
turns of the loop share one write and one sync (group commit): the flush runs after everybody who is ready has recorded.
A driver that continues a run announces itself (its `prelude`) in the same group as the first thing it records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from hooks.clock import Clock
from hooks.errors import HooksError, StorageError
from hooks.events.envelope import Actor, Event
from hooks.events.payloads import Payload
from hooks.kernel.apply import apply
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.state import RunState
from hooks.storage.blobs import BlobStore
from hooks.storage.event_log import EventLog

MAX_TURNS = 6
"""How many turns of the loop a flush waits for while others go on recording: a step's way to its permit takes three."""


class Recorder:
    """The pen of a run's one driver. After a failed flush, or damage that was come upon, it records nothing more:
    `failure` says why."""

    def __init__(
        self, log: EventLog, blobs: BlobStore, state: RunState, clock: Clock, prelude: Sequence[Payload] = ()
    ) -> None:
        self._log = log
        self._blobs = blobs
        self._clock = clock
        self._prelude = list(prelude)
        self._flushed: asyncio.Future[None] | None = None
        self._unreported: list[Event] = []
        self.state = state
        self.failure: HooksError | None = None
        self.on_failure: Callable[[], None] = _nobody
        self.on_event: Callable[[Event], None] | None = None

    def resolve(self, value: Any) -> Any:
        """The value a field of an event stands for: a blob reference is read and checked, others are themselves.

        A blob that is damaged or cannot be read is no fault of the step or hook it is read for: whatever these make of
        the error that is raised, nothing more is recorded, and the driver stops with it.
        """
        try:
            return self._blobs.resolve(value)
        except HooksError as error:
            if self.failure is None:
                self._fail(error)
            raise

    def record(self, payload: Payload, actor: Actor = "scheduler", *, at: int | None = None) -> Event:
        """Add an event and fold it. Not durable before `commit` returns.

        It carries the time `at` (ms) of the decision that it is, so that replay can make it again; by default now.
        """
        if self.failure is not None:
            raise self.failure
        self._announce(at)
        return self._add(payload, actor, at)

    def announce(self, kind: type[Payload]) -> None:
        """Record what this driver has to announce now, if a `kind` is among it: what comes next depends on that."""
        if any(isinstance(announcement, kind) for announcement in self._prelude):
            self._announce(None)

    def _announce(self, at: int | None) -> None:
        prelude, self._prelude = self._prelude, []
        for announcement in prelude:
            self._add(announcement, "system", at)

    def _add(self, payload: Payload, actor: Actor, at: int | None) -> Event:
        now = self._clock.now_ms() if at is None else at
        try:
            event = self._log.add(actor, payload, self.state.now(now))
        except HooksError as error:
            self._fail(error)
            raise
        try:
            apply(self.state, event)
        except IllegalEventError as error:
            # What this state does not allow must not reach the disk, nor what was recorded beside it.
            self._log.discard()
            fault = StorageError(
                f"An event that this run does not allow was not written: {error}.",
                fix="This is a fault of hooks; the run is as it was. Report it, then go on with `hooks recover`.",
            )
            self._fail(fault)
            raise fault from error
        self._unreported.append(event)
        return event

    async def commit(self) -> None:
        """Return once everything recorded so far is durable. Raises StorageError, for good."""
        self.request_commit()
        if self._flushed is not None:
            await asyncio.shield(self._flushed)

    def request_commit(self) -> None:
        """Have everything recorded so far made durable soon, together with what others record in the next turns."""
        if self.failure is not None:
            raise self.failure
        if self._flushed is None and self._log.pending:
            loop = asyncio.get_running_loop()
            self._flushed = loop.create_future()
            loop.call_soon(self._flush_when_quiet, self._log.seq, MAX_TURNS)

    def commit_now(self) -> None:
        """Make everything recorded so far durable at once, whoever else may be about to record."""
        if self.failure is not None:
            raise self.failure
        try:
            self._log.flush()
        except HooksError as error:
            self._fail(error)
            raise
        self._report()

    def _flush_when_quiet(self, seen: int, turns: int) -> None:
        """Flush after a turn of the loop in which nobody recorded anything: what starts in a chain shares the sync."""
        if self._log.seq != seen and turns > 0:
            asyncio.get_running_loop().call_soon(self._flush_when_quiet, self._log.seq, turns - 1)
        else:
            self._flush()

    def _flush(self) -> None:
        flushed, self._flushed = self._flushed, None
        assert flushed is not None
        try:
            self._log.flush()
        except HooksError as error:
            self._fail(error)
            flushed.set_exception(error)
            flushed.exception()  # those who wait are told; nobody waiting is no fault of the loop's
        else:
            flushed.set_result(None)
            self._report()

    def _report(self) -> None:
        """Tell whoever watches of the events that have become durable."""
        events, self._unreported = self._unreported, []
        if self.on_event is not None:
            for event in events:
                self.on_event(event)

    def _fail(self, error: HooksError) -> None:
        self.failure = error
        self.on_failure()


def _nobody() -> None:
    """Nobody has asked to be told of a failure."""
