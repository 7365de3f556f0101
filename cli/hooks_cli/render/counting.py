"""How far a command over many runs has come: one line on a terminal, that rewrites itself."""

from __future__ import annotations

import sys
from contextlib import suppress

_LEAST = 10
"""Runs from which on it is worth telling."""


class Counting:
    """`step` after each run; `end` takes the line away. Nothing is shown where stderr is no terminal."""

    def __init__(self, done: str, total: int) -> None:
        self._done = done
        self._total = total
        self._count = 0
        self._is_shown = total >= _LEAST and sys.stderr.isatty()

    def step(self) -> None:
        self._count += 1
        self._show(f"\r{self._done} {self._count}/{self._total}")

    def end(self) -> None:
        self._show("\r\x1b[K")

    def _show(self, text: str) -> None:
        if self._is_shown:
            with suppress(OSError):  # a terminal that is gone is nobody's loss
                sys.stderr.write(text)
                sys.stderr.flush()
