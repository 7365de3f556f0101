"""Synchronous hooks, asked in a thread: consecutive ones of a dispatch share one.

Python cannot end a thread: a function that overruns its timeout is abandoned, whatever it still returns is not heard,
and the hooks after it go on in another thread.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

from hooks.pipeline.floor import Answer, Floor
from hooks.pipeline.hook_threads import HookThreads
from hooks.pipeline.python_hooks import PythonHook, milliseconds_since
from hooks.pipeline.verdicts import HookFault


async def ask_in_thread(hooks: Sequence[PythonHook], floor: Floor, threads: HookThreads) -> None:
    """Ask these synchronous hooks one after another in one thread, and in another one after each that overruns."""
    waiting = list(hooks)
    while waiting and not floor.is_over:
        turn = _Turn(waiting, floor)
        await turn.take(threads)
        waiting = waiting[turn.done :]


class _Turn:
    """Hooks being asked in a thread, and the loop that watches their time.

    The lock decides between the two for each answer: it is heard, or the turn was given up before.
    """

    def __init__(self, hooks: Sequence[PythonHook], floor: Floor) -> None:
        self.done = 0
        self._hooks = hooks
        self._floor = floor
        self._lock = threading.Lock()
        self._is_given_up = False
        self._asked_at = time.perf_counter()

    async def take(self, threads: HookThreads) -> None:
        """Return when every hook is done, one has overrun, or nobody else is to be asked."""
        job = threads.begin(self._run)
        if job.is_done_at_once():
            return
        # From here on the run goes on while we wait.
        self._floor.fix()
        try:
            while not self._is_given_up and not await job.is_done_within(self._time_left()):
                self._give_up_if_overdue()
        except asyncio.CancelledError:
            with self._lock:
                self._is_given_up = True
            raise

    def _run(self) -> None:
        for hook in self._hooks:
            with self._lock:
                if self._is_given_up or self._floor.is_over:
                    return
                if not self._floor.invites(hook.listener):
                    self.done += 1
                    continue
                self._asked_at = time.perf_counter()
            answer = hook.ask_sync(self._floor)
            with self._lock:
                if self._is_given_up:
                    return
                self._hear(hook.taken(answer, milliseconds_since(self._asked_at)))

    def _give_up_if_overdue(self) -> None:
        with self._lock:
            if self.done < len(self._hooks) and self._time_left() <= 0:
                self._is_given_up = True
                self._hear(self._hooks[self.done].too_late())

    def _hear(self, answer: Answer | HookFault) -> None:
        self._floor.hear(self._hooks[self.done].listener, answer, milliseconds_since(self._asked_at))
        self.done += 1

    def _time_left(self) -> float:
        hook = self._hooks[min(self.done, len(self._hooks) - 1)]
        return self._asked_at + hook.timeout_ms / 1000 - time.perf_counter()
