"""SIGTERM ends a command that has scratch files as Ctrl-C does: what it has made is put away first."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from hooks_cli.failures import die_by_signal


@contextmanager
def tidy_end() -> Iterator[None]:
    """While this is entered, SIGTERM is taken for Ctrl-C, by whoever handles that now; then we die by SIGTERM."""
    came = False

    def interrupt(_: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # ignored, as behind a `&` in a script
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        if came:
            die_by_signal(signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
