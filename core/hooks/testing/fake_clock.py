"""A clock for runs that are to be over at once: its time passes when somebody sleeps, or when a test says so."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from itertools import count
from typing import Any

from hooks.clock import SystemClock

_TURNS = 50


class FakeClock:
    """Give it to `start_run`, `recover` or `run_workflow` as `clock`. Times are milliseconds since 1970, UTC.

    By itself it jumps to the next time that anybody sleeps for, once everything that is ready has had its turn; with
    `stands_still` it only moves by `advance`. `slept_ms` is how much time has passed on it. It begins at the machine's
    time, by which other processes and library calls (`approve`) give their answers, unless `now_ms` says otherwise.
    What takes real time (a process, its `timeout`) does so still: it runs while the clock jumps.
    """

    def __init__(self, now_ms: int | None = None, *, stands_still: bool = False) -> None:
        self._began = self._now = SystemClock().now_ms() if now_ms is None else now_ms
        self._stands_still = stands_still
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()

    @property
    def slept_ms(self) -> int:
        return self._now - self._began

    def now_ms(self) -> int:
        return self._now

    def sleep_ms(self, duration_ms: int) -> Coroutine[Any, Any, None]:
        """Return when the clock has reached that time; it counts from the call, not from when it is first awaited."""
        return self._sleep_until(self._now + max(0, duration_ms))

    async def _sleep_until(self, due: int) -> None:
        if self._stands_still:
            woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._sleepers, (due, next(self._numbers), woken))
            self._wake()
            await woken
            return
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self._now = max(self._now, due)

    def advance(self, duration_ms: int) -> None:
        """Let that much time pass; whoever has slept long enough goes on."""
        self._now += duration_ms
        self._wake()

    def _wake(self) -> None:
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
