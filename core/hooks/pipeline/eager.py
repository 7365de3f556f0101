"""Runs a coroutine to where it first waits, and the rest of it later.

Most asynchronous hooks never wait. Such a one is done after its first step, and needs no timer and no turn of the loop.
"""

from __future__ import annotations

import types
from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class FirstStep:
    """A coroutine after its first step: done, with a result, or waiting for something."""

    coroutine: Coroutine[Any, Any, Any]
    is_done: bool
    result: Any = None
    """What it returned, or what it waits for."""


def start(coroutine: Coroutine[Any, Any, Any]) -> FirstStep:
    """Take the first step, within the task of the caller. What the coroutine raises passes."""
    try:
        return FirstStep(coroutine, is_done=False, result=coroutine.send(None))
    except StopIteration as ended:
        return FirstStep(coroutine, is_done=True, result=ended.value)


@types.coroutine
def finish(step: FirstStep) -> Generator[Any, Any, Any]:
    """Await the rest of it; to be awaited in the task that started it, with nothing awaited in between."""
    coroutine, waits_for = step.coroutine, step.result
    try:
        while True:
            try:
                sent = yield waits_for
            except BaseException as error:  # noqa: BLE001 - handed on to the coroutine, whatever it is
                waits_for = coroutine.throw(error)
            else:
                waits_for = coroutine.send(sent)
    except StopIteration as ended:
        return ended.value
    finally:
        coroutine.close()
