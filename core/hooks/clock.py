"""Time, passed in: the runtime asks a Clock, so that tests decide what time it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol


class Clock(Protocol):
    """What the runtime needs of time; milliseconds since 1970, UTC."""

    def now_ms(self) -> int: ...

    def sleep_ms(self, duration_ms: int) -> Coroutine[Any, Any, None]:
        """Return when that much time has passed."""


class SystemClock:
    """The machine's clock. It may step back; a driver takes its time from a SteadyClock over it."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep_ms(self, duration_ms: int) -> None:
        await asyncio.sleep(duration_ms / 1000)


class SteadyClock:
    """A clock that begins no earlier than `not_before` and goes on where the one below steps back.

    Timers are kept as times. Were the time of a run to stand still until the machine's clock has caught up with the
    last event, a wait of a minute would last as long as the step. So time passes here as it does in fact (the monotonic
    clock tells for the machine's, any other for itself), and a step forward is followed.
    """

    def __init__(self, clock: Clock, *, not_before: int) -> None:
        self._clock = clock
        self._pace: Callable[[], int] = _monotonic_ms if isinstance(clock, SystemClock) else clock.now_ms
        self._last_pace = self._pace()
        self._last = max(not_before, clock.now_ms())

    def now_ms(self) -> int:
        pace = self._pace()
        passed, self._last_pace = max(0, pace - self._last_pace), pace
        self._last = max(self._clock.now_ms(), self._last + passed)
        return self._last

    def sleep_ms(self, duration_ms: int) -> Coroutine[Any, Any, None]:
        return self._clock.sleep_ms(duration_ms)


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000
