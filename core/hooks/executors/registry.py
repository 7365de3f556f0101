"""Which executor a name stands for."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from hooks.errors import UsageError
from hooks.executors.base import Executor
from hooks.executors.file import FileExecutor
from hooks.executors.python import PythonExecutor
from hooks.executors.shell import ShellExecutor

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "shell": ShellExecutor,
    "file": FileExecutor,
    "python": PythonExecutor,
}


def make_executor(name: str) -> Executor:
    """The executor of that name. Raises UsageError."""
    try:
        return EXECUTORS[name]()
    except KeyError:
        close = get_close_matches(name, EXECUTORS, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Known are {', '.join(EXECUTORS)}."
        raise UsageError(f"There is no executor {name!r}.", fix=hint) from None
