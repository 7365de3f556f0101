"""Time, passed in: the runtime asks a Clock, so that tests decide what time it is."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the runtime needs of time; milliseconds since 1970, UTC."""

    def now_ms(self) -> int: ...

    async def sleep_ms(self, duration_ms: int) -> None: ...


class SystemClock:
    """The machine's clock. It may step back; whoever folds a log takes max(now, last event)."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep_ms(self, duration_ms: int) -> None:
        await asyncio.sleep(duration_ms / 1000)
