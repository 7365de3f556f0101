"""Ending work that is under way: its timeout, a cancel, and the driver being told to stop.

The rule: before anything is told to stop, that is in the log (cancelDelivered), so that a crash in between never takes
what the work says then for a free answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from hooks.events.payloads import StopReason

T = TypeVar("T")


class WorkStopped(Exception):
    """The work was ended for `reason` and has ended."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason: StopReason = reason


class WorkCancelledError(Exception):
    """The work ended as if it had been cancelled, by itself: an error like any other that it may raise."""

    def __init__(self) -> None:
        super().__init__("It was cancelled, and nobody had asked for that.")


class Interruption:
    """The driver was told to stop: nothing new starts, repeatable work ends now, effects when the grace is over.

    Told a second time, it is in a hurry: what still runs is killed, whatever grace there was left.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.requested = asyncio.Event()
        self.grace_over = asyncio.Event()
        self.hurry = asyncio.Event()

    def request(self, signal_number: int, grace_ms: int) -> None:
        """The first call begins the grace, a second one ends it."""
        if self.signal is not None:
            self.grace_over.set()
            self.hurry.set()
            return
        self.signal = signal_number
        self.requested.set()
        asyncio.get_running_loop().call_later(grace_ms / 1000, self.grace_over.set)


async def supervise(
    work: Coroutine[Any, Any, T],
    *,
    timeout_ms: int | None,
    stop: asyncio.Event,
    cancel: asyncio.Event,
    hurry: asyncio.Event,
    announce: Callable[[StopReason], Awaitable[None]],
) -> T:
    """Run `work` to its end, or to its timeout, or until `stop` or `cancel` is set; then it is told so and awaited.

    That it will be told is announced before. Once `hurry` is set, it is cancelled a second time, which skips the grace
    its processes were given.

    Raises WorkStopped once the work has ended by that, and WorkCancelledError for work that nobody has cancelled.
    Cancelled itself, it cancels the work and waits for it.
    """
    task = asyncio.ensure_future(work)
    stopping, cancelling = asyncio.ensure_future(stop.wait()), asyncio.ensure_future(cancel.wait())
    try:
        await asyncio.wait(
            {task, stopping, cancelling},
            timeout=None if timeout_ms is None else max(0, timeout_ms) / 1000,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if task.cancelled():
            raise WorkCancelledError
        if task.done():
            return task.result()
        reason: StopReason = "cancel" if cancel.is_set() else "interrupt" if stop.is_set() else "timeout"
        await announce(reason)
        await _end(task, hurry)
        raise WorkStopped(reason)
    except asyncio.CancelledError:
        await _end(task, hurry)
        raise
    finally:
        stopping.cancel()
        cancelling.cancel()


async def uncancelled(work: Awaitable[T]) -> T:
    """What `work` gives, waited for in the caller's own task; a CancelledError of its own is a WorkCancelledError."""
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise WorkCancelledError from error


async def _end(task: asyncio.Future[Any], hurry: asyncio.Event) -> None:
    task.cancel()
    hurrying = asyncio.ensure_future(hurry.wait())
    try:
        # What the work says on its way out is not its answer any more; only that it has ended counts.
        await asyncio.wait({task, hurrying}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    finally:
        hurrying.cancel()
    if not task.cancelled():
        task.exception()
