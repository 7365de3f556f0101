"""Which executor a name stands for: one that comes with hooks, one that is declared, one that is installed.

A distribution registers one under the entry point group `hooks.executors`: a name, and a class that is made without
arguments. The group is only read for a name that is known nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path

from hooks.definition.model import ExecutorDeclaration
from hooks.entry_points import load_entry_point
from hooks.errors import UsageError
from hooks.executors.base import Executor
from hooks.executors.declared import make_declared
from hooks.executors.file import FileExecutor
from hooks.executors.http import HttpExecutor
from hooks.executors.python import PythonExecutor
from hooks.executors.shell import ShellExecutor

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "shell": ShellExecutor,
    "file": FileExecutor,
    "http": HttpExecutor,
    "python": PythonExecutor,
}
GROUP = "hooks.executors"
_METHODS = ("prepare", "execute", "adopt", "can_look_up", "look_up", "is_idempotent", "may_retry", "settle_ms")


def make_executor(
    name: str, declarations: Iterable[ExecutorDeclaration] = (), workflow_directory: Path = Path()
) -> Executor:
    """The executor of that name. Raises UsageError."""
    if name in EXECUTORS:
        return EXECUTORS[name]()
    declared = {declaration.name: declaration for declaration in declarations}
    if name in declared:
        return make_declared(declared[name], workflow_directory)
    make = load_entry_point(GROUP, name)
    if make is None:
        known = [*EXECUTORS, *declared]
        close = get_close_matches(name, known, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Known are {', '.join(known)}."
        raise UsageError(f"There is no executor {name!r}.", fix=hint)
    return _installed(name, make)


def _installed(name: str, make: Callable[[], Executor]) -> Executor:
    executor = make()
    missing = [method for method in _METHODS if not callable(getattr(executor, method, None))]
    if missing:
        raise UsageError(
            f"The executor {name!r} that is installed lacks {', '.join(missing)}.",
            fix="Let its class inherit from hooks.executors.base.Executor, which has the optional ones.",
        )
    return executor
