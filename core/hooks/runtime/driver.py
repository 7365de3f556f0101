"""The one driver of a run: it asks decide(), writes what was decided, has the work done, and asks again.

There is no wave barrier: whenever something finishes, decide() is asked, and what has become ready starts, up to the
run's max_concurrency. The loop sleeps until an attempt ends, a timer is due, or somebody tells it to stop. A failure to
write the log ends everything at once: attempts are abandoned as a killed driver would abandon them, and their processes
are left to be found by `recover`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Literal, TypeAlias

from hooks.ids import ActivityId
from hooks.kernel.decide import Action, Perform, Record, WakeAt, decide
from hooks.runtime.attempt import RunContext, perform_attempt

StopReason: TypeAlias = Literal["terminal", "awaiting_wait", "in_doubt", "pending", "no_progress", "interrupted"]


class Driver:
    """Moves one run. `drive` may be called once."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._tasks: dict[ActivityId, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()

    async def drive(self, *, one_pass: bool = False) -> StopReason:
        """Move the run until it ends or cannot go on without a person; with `one_pass`, start things only once.

        Everything recorded is durable on return. Raises StorageError, or whatever a fault of this program raises;
        nothing of the run is lost by that.
        """
        self._run.recorder.on_failure = self._changed.set
        stopping = asyncio.ensure_future(self._run.interruption.requested.wait())
        stopping.add_done_callback(lambda _: self._changed.set())
        try:
            return await self._passes(one_pass)
        finally:
            stopping.cancel()
            await self._abandon()

    async def _passes(self, one_pass: bool) -> StopReason:
        may_start = True
        while True:
            self._changed.clear()
            self._take_in_ended()
            wake_at = self._decide_and_start(may_start)
            may_start = not one_pass
            self._run.recorder.request_commit()
            if not self._tasks and (wake_at is None or one_pass or self._is_stopping()):
                await self._run.recorder.commit()
                return self._stop_reason(wake_at)
            await self._wait(wake_at)

    def _decide_and_start(self, may_start: bool) -> int | None:
        """Write what decide() decides until it decides nothing more, start what it wants done; the next due time."""
        while True:
            actions = decide(self._run.state, self._run.definition, self._now())
            records = list(self._wanted_records(actions, may_start))
            for record in records:
                self._run.recorder.record(record.payload)
            if not records:
                break
        for action in actions:
            if isinstance(action, Perform) and self._may_perform(action, may_start):
                self._start(action)
        return min((action.due_at for action in actions if isinstance(action, WakeAt)), default=None)

    def _wanted_records(self, actions: list[Action], may_start: bool) -> Iterator[Record]:
        for action in actions:
            if isinstance(action, Record) and ((may_start and not self._is_stopping()) or not action.starts_work):
                yield action

    def _may_perform(self, action: Perform, may_start: bool) -> bool:
        return action.activity_id not in self._tasks and may_start and not self._is_stopping()

    def _start(self, action: Perform) -> None:
        attempt = self._run.state.open[action.activity_id]
        task = asyncio.ensure_future(perform_attempt(self._run, attempt))
        self._tasks[action.activity_id] = task
        task.add_done_callback(lambda _: self._changed.set())

    def _take_in_ended(self) -> None:
        """Forget the attempts that have ended, so that the next of an activity can start; raise what went wrong."""
        for activity_id, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[activity_id]
                task.result()
        if self._run.recorder.failure is not None:
            raise self._run.recorder.failure

    async def _wait(self, wake_at: int | None) -> None:
        """Sleep until something has changed or `wake_at` (ms) has come."""
        if wake_at is None:
            await self._changed.wait()
            return
        changed = asyncio.ensure_future(self._changed.wait())
        alarm = asyncio.ensure_future(self._run.clock.sleep_ms(max(0, wake_at - self._now())))
        await asyncio.wait({changed, alarm}, return_when=asyncio.FIRST_COMPLETED)
        changed.cancel()
        alarm.cancel()

    async def _abandon(self) -> None:
        """Let go of what is left after a fault, without ending it: as if this process had been killed."""
        for task in self._tasks.values():
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _stop_reason(self, wake_at: int | None) -> StopReason:
        state = self._run.state
        if state.ended is not None:
            return "terminal"
        if self._is_stopping():
            return "interrupted"
        if wake_at is not None or state.ready or state.closing or len(state.open) > len(state.in_doubt):
            return "pending"
        return "in_doubt" if state.in_doubt else "no_progress"

    def _is_stopping(self) -> bool:
        return self._run.interruption.requested.is_set()

    def _now(self) -> int:
        return self._run.state.now(self._run.clock.now_ms())
