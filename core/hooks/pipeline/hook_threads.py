"""Threads that synchronous hooks are asked in, kept for the next one.

Handing work to a thread that waits costs a tenth of starting one, and most hooks answer in less time than a turn of the
event loop takes: so the loop waits a moment before it turns to other things. Python cannot end a thread: one that does
not come back is left to itself, and as a daemon it holds up nobody.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

AT_ONCE_S = 0.0005
"""How long the loop stands still for a hook before it does anything else."""


class HookThreads:
    """The threads of one run's hooks; `at_once_s` as AT_ONCE_S, for a loop that has more or less else to do."""

    def __init__(self, at_once_s: float = AT_ONCE_S) -> None:
        self._at_once_s = at_once_s
        self._idle: list[_HookThread] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def begin(self, work: Callable[[], None]) -> Job:
        """Have `work` done in a thread, with the context variables of the caller."""
        with self._lock:
            thread = self._idle.pop() if self._idle else _HookThread(self)
        job = Job(work, self._at_once_s)
        thread.jobs.put(job)
        return job

    def take_back(self, thread: _HookThread) -> bool:
        """Whether a thread that is done is to wait for more."""
        with self._lock:
            if not self._is_closed:
                self._idle.append(thread)
            return not self._is_closed

    def close(self) -> None:
        """Let the threads end: idle ones now, others when they are done."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for thread in idle:
            thread.jobs.put(None)


class Job:
    """A piece of work in a thread, and the loop that waits for it."""

    def __init__(self, work: Callable[[], None], at_once_s: float) -> None:
        self._work = work
        self._at_once_s = at_once_s
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[None] | None = None
        self._is_done = False
        self._held_until_done = threading.Lock()
        self._held_until_done.acquire()
        self._error: BaseException | None = None

    def is_done_at_once(self) -> bool:
        """Whether the work is done in a moment in which the loop stands still. Raises what the work has raised."""
        self._held_until_done.acquire(timeout=self._at_once_s)
        return self._has_ended()

    async def is_done_within(self, timeout_s: float) -> bool:
        """Whether the work is done within this time. Raises what the work has raised."""
        if self._waiting is None:
            self._waiting = self._loop.create_future()
        # `end` looks for the future when it has said that the work is done, and here it is the other way round.
        if not self._is_done:
            await asyncio.wait({self._waiting}, timeout=max(timeout_s, 0))
        return self._has_ended()

    def _has_ended(self) -> bool:
        if self._error is not None:
            raise self._error
        return self._is_done

    def perform(self) -> None:
        """In the thread: do the work."""
        try:
            self._context.run(self._work)
        except BaseException as error:  # noqa: BLE001 - raised again where the work is waited for
            self._error = error

    def end(self) -> None:
        """In the thread: tell whoever waits."""
        self._is_done = True
        self._held_until_done.release()
        if self._waiting is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class _HookThread:
    """A daemon thread that does one job after another."""

    def __init__(self, threads: HookThreads) -> None:
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads = threads
        threading.Thread(target=self._run, name="hooks-hook", daemon=True).start()

    def _run(self) -> None:
        while (job := self.jobs.get()) is not None:
            job.perform()
            # Back before anybody hears of the end: the next job then finds this thread.
            is_kept = self._threads.take_back(self)
            job.end()
            if not is_kept:
                return
