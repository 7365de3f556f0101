"""How facts get into the log and the state: the one place where events are added.

`record` adds an event to the pending group and folds it at once, so that the program always sees the state its own
events lead to; `commit` returns when everything recorded so far is durable. Commits that are asked for in the same turn
of the loop share one write and one sync (group commit): the flush runs after everybody who is ready has recorded.
A driver that continues a run announces itself (resumeStarted) in the same group as the first thing it records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hooks.clock import Clock
from hooks.errors import HooksError
from hooks.events.envelope import Actor, Event
from hooks.events.payloads import Payload, ResumeStarted
from hooks.kernel.apply import apply
from hooks.kernel.state import RunState
from hooks.storage.event_log import EventLog


class Recorder:
    """The pen of a run's one driver. After a failed flush it records nothing more: `failure` says why."""

    def __init__(self, log: EventLog, state: RunState, clock: Clock, resume: ResumeStarted | None) -> None:
        self._log = log
        self._clock = clock
        self._resume = resume
        self._flushed: asyncio.Future[None] | None = None
        self.state = state
        self.failure: HooksError | None = None
        self.on_failure: Callable[[], None] = lambda: None

    def record(self, payload: Payload, actor: Actor = "scheduler") -> Event:
        """Add an event and fold it. Not durable before `commit` returns."""
        if self.failure is not None:
            raise self.failure
        if self._resume is not None:
            resume, self._resume = self._resume, None
            self._add(resume, "system")
        return self._add(payload, actor)

    def _add(self, payload: Payload, actor: Actor) -> Event:
        try:
            event = self._log.add(actor, payload, self.state.now(self._clock.now_ms()))
        except HooksError as error:
            self._fail(error)
            raise
        apply(self.state, event)
        return event

    async def commit(self) -> None:
        """Return once everything recorded so far is durable. Raises StorageError, for good."""
        if self._flushed is None:
            if not self._log.pending:
                return
            loop = asyncio.get_running_loop()
            self._flushed = loop.create_future()
            loop.call_soon(self._flush)
        await asyncio.shield(self._flushed)

    def commit_now(self) -> None:
        """Make everything recorded so far durable, without waiting for others to record."""
        try:
            self._log.flush()
        except HooksError as error:
            self._fail(error)
            raise

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

    def _fail(self, error: HooksError) -> None:
        self.failure = error
        self.on_failure()
