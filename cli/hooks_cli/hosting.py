"""While Python that people have written (hooks, agents, executors, checks) is at work in this process.

What it prints goes to stderr: stdout is for what a command comes to. And it cannot end the process behind our back:
`os._exit(0)` in a hook would say that all went well.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from hooks.runtime.driving import run_to_end
from hooks_cli.render.streams import stdout_kept_for_results

T = TypeVar("T")


@contextmanager
def hosting_python() -> Iterator[None]:
    """Entered, what people have written may be called."""
    _keep_alive()
    with stdout_kept_for_results():
        yield


def run_hosting(work: Coroutine[Any, Any, T]) -> T:
    """Run `work`, which calls what people have written, to its end. Raises LoopEndedError."""
    with hosting_python(), asyncio.Runner() as runner:
        return run_to_end(runner.run, runner.get_loop().create_task(work))


def _keep_alive() -> None:
    """From here on `os._exit` is `sys.exit` in this process, which fails whoever called it.

    For good: what they have left to be called at exit must not end us with another code either. A child that somebody
    forks ends by it as ever.
    """
    end, here = os._exit, os.getpid()

    def refuse_to_end(status: int) -> NoReturn:
        if os.getpid() != here:
            end(status)
        raise SystemExit(f"os._exit({status})")

    if end.__name__ != refuse_to_end.__name__:
        setattr(os, "_exit", refuse_to_end)  # noqa: B010 - a type checker would not have it assigned
