"""`--timeout`: a command gives up in time and leaves its runs unharmed.

While a run is driven, the deadline stops its driver as SIGTERM would: what runs gets its grace, and the run is there to
be recovered. While none is, the command just ends. The timer is the process's own (SIGALRM), so one deadline covers
whatever the command does, run after run.
"""

from __future__ import annotations

import os
import signal
import time
from types import FrameType, TracebackType
from typing import Self

from hooks_cli.failures import TimedOutError


class Deadline:
    """The end of a command's patience, counted from its making; None is endless. As a context it rings."""

    def __init__(self, timeout_ms: int | None) -> None:
        self._timeout_ms = timeout_ms
        self._over_at = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        self.has_rung = False

    @property
    def is_over(self) -> bool:
        return self._over_at is not None and time.monotonic() >= self._over_at

    def error(self, run_id: str | None = None) -> TimedOutError:
        """What to raise once it is over."""
        fix = f"`hooks show {run_id}` tells how it stands." if run_id else "`hooks ls` tells how the runs stand."
        return TimedOutError(f"The --timeout of {(self._timeout_ms or 0) / 1000:g}s is over.", fix=fix, run=run_id)

    def __enter__(self) -> Self:
        if self._over_at is not None:
            signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, max(self._over_at - time.monotonic(), 1e-6))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._over_at is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        self.has_rung = True
        # A driver handles SIGTERM itself; where nobody does, it would end us with the wrong code.
        if signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, signal.SIG_IGN):
            raise self.error()
        os.kill(os.getpid(), signal.SIGTERM)
