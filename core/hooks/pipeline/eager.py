"""Runs a hook's coroutine: to where it first waits at once, and the rest of it within its time.

Most asynchronous hooks never wait. Such a one is done after its first step, and needs no timer and no turn of the loop.

The coroutine is driven from here, and not by a task of its own, so that it can be dropped: one that is told to end and
waits for something else instead gets a moment to clean up, and is not resumed after it. Nothing that would end the loop
(KeyboardInterrupt, SystemExit, GeneratorExit) passes: it is that hook which failed, and the driver goes on.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from hooks.errors import describe_exception
from hooks.pipeline.verdicts import HookFault

CLEAN_UP_S = 2.0
"""What a hook that is told to end has to clean up in: as much as a command gets between TERM and KILL."""


@dataclass(slots=True)
class FirstStep:
    """A coroutine after its first step: done, with a result, or waiting for something."""

    coroutine: Coroutine[Any, Any, Any]
    is_done: bool = False
    result: Any = None
    """What it returned, or what it waits for."""


class OutOfTimeError(Exception):
    """The coroutine did not end within its time."""


class _WaitsOnError(Exception):
    """The coroutine was told to end, and waits for something else instead."""


async def run(coroutine: Coroutine[Any, Any, Any], timeout_s: float) -> Any:
    """What the coroutine returns, as `start` and `finish` have it."""
    step = start(coroutine)
    return step.result if step.is_done else await finish(step, timeout_s)


def start(coroutine: Coroutine[Any, Any, Any]) -> FirstStep:
    """Take the first step, within the task of the caller.

    An Exception that the coroutine raises passes. Raises HookFault for whatever else it raises, also for a
    CancelledError when nobody has cancelled it.
    """
    step = FirstStep(coroutine)
    _resume(step, partial(coroutine.send, None))
    return step


async def finish(step: FirstStep, timeout_s: float) -> Any:
    """What the rest of it returns; to be awaited in the task that started it, with nothing awaited in between.

    Raises OutOfTimeError past its time, CancelledError when the caller is cancelled, and what `start` raises. Told to
    end, it has CLEAN_UP_S for that.
    """
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            return await _go_on(step)
    except _WaitsOnError:
        return await _cleaned_up(step, limit)
    except Exception as error:
        if limit.expired():
            raise OutOfTimeError from error
        raise


async def _cleaned_up(step: FirstStep, limit: asyncio.Timeout) -> Any:
    """Let a coroutine that was told to end clean up; what it returns, if it was told by a time limit of its own."""
    with suppress(_WaitsOnError, TimeoutError):
        try:
            async with asyncio.timeout(CLEAN_UP_S):
                return await _go_on(step)
        finally:
            _drop(step)
            _end_as_told(limit)
    raise OutOfTimeError


@types.coroutine
def _go_on(step: FirstStep) -> Generator[Any, Any, Any]:
    """Drive the coroutine to its end. Raises _WaitsOnError where it is told to end, and waits for something else."""
    coroutine, cancels = step.coroutine, _cancels()
    while not step.is_done:
        try:
            sent = yield step.result
        except GeneratorExit:
            _drop(step)
            raise
        except BaseException as error:
            _resume(step, partial(coroutine.throw, error))
            # A time limit that the hook has set itself, and that it deals with, is no longer counted here.
            if not step.is_done and _cancels() > cancels:
                raise _WaitsOnError from error
        else:
            _resume(step, partial(coroutine.send, sent))
    return step.result


def _resume(step: FirstStep, resume: Callable[[], Any]) -> None:
    try:
        step.result = resume()
    except StopIteration as ended:
        step.is_done, step.result = True, ended.value
    except Exception:
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _cancels():
            raise
        raise HookFault(f"raised {describe_exception(error)}") from error


def _drop(step: FirstStep) -> None:
    """Resume it no more, whatever it says to that."""
    with suppress(BaseException):
        step.coroutine.close()


def _end_as_told(limit: asyncio.Timeout) -> None:
    if _cancels():
        raise asyncio.CancelledError
    if limit.expired():
        raise OutOfTimeError


def _cancels() -> int:
    """How often somebody has asked the current task to end."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
