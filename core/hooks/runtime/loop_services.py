"""What a sampling loop needs of the attempt it runs in, beside what every dispatch has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hooks.definition.model import Retry
from hooks.errors import UsageError
from hooks.runtime.loop_points import LoopPoints
from hooks.runtime.work_engine import WorkEngine


class Turn:
    """Whose turn it is to write of the attempt's loop: one `sample` at a time, in whatever task it was called."""

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None

    @contextmanager
    def taken(self, node_id: str) -> Iterator[None]:
        """Raises UsageError, with nothing written, while another one has it."""
        if self._task is not None:
            message = f"{node_id}: `sample` was called while it is at work for this very step, which has one loop."
            raise UsageError(message, fix="Await the first call; `sampling.parallel` makes several draws at once.")
        self._task = asyncio.current_task()
        try:
            yield
        finally:
            self._task = None

    async def end(self) -> None:
        """End a loop that was begun in another task and left to itself; cancelled meanwhile, pass that on to it."""
        hurry: asyncio.CancelledError | None = None
        while (task := self._task) is not None and not task.done():
            task.cancel()
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as again:
                hurry = again
        if hurry is not None:
            raise hurry


@dataclass(frozen=True, slots=True)
class LoopServices:
    """`marker_of` and `key_of` give a call, by its number, its process marker and its idempotency key."""

    points: LoopPoints
    engine: WorkEngine
    retry: Retry
    """How often a call that failed is made again, and when."""
    marker_of: Callable[[int], str]
    key_of: Callable[[int], str]
    now: Callable[[], int]
    turn: Turn = field(default_factory=Turn)
