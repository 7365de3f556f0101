"""How a command ends: the exit codes, what an error looks like, and the only place that exits.

A person's mistake gets a message and a fix, never a traceback. With --json the same facts are one object on stderr.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterable
from typing import Any, NoReturn

import orjson

from hooks.errors import CorruptRunError, DefinitionError, HooksError, Problem, StorageError
from hooks_cli.render.streams import abandon_stdout, say
from hooks_cli.render.text import neutralise_lines

EXIT_CODES = {
    0: "succeeded",
    1: "failed or timed out",
    2: "usage, invalid file or params; nothing was started",
    3: "blocked by a policy, hook failed, rejected by a person",
    4: "waiting for a person",
    5: "cancelled",
    6: "busy: another driver holds the run",
    7: "no such run, node or gate; ambiguous; too late",
    8: "pending or interrupted: tick or recover later",
    9: "integrity: damaged log, replay differs",
    10: "an effect is in doubt: resolve",
    70: "internal error",
    74: "disk, lock or sync failed",
    124: "the command's own --timeout",
}
ACCEPTABLE = {"waiting": 4, "blocked": 3, "pending": 8, "busy": 6, "in_doubt": 10}
"""What `--accept` may name: these codes become 0."""
WORST_FIRST = (70, 74, 9, 10, 1, 3, 5, 4, 8, 6, 0)
"""Of several runs the first of these is the code of the command."""


class TimedOutError(HooksError):
    """The command's own --timeout is over; the run is unharmed."""

    exit_code = 124


class InternalError(HooksError):
    """A fault of hooks itself."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(
            f"Internal error: {type(error).__name__}: {error}",
            fix="Please report it; HOOKS_DEBUG=1 shows the traceback.",
        )


def worst(codes: Iterable[int]) -> int:
    """The exit code of a command over several runs."""
    rank = {code: position for position, code in enumerate(WORST_FIRST)}
    return min(codes, key=lambda code: rank.get(code, rank[6]), default=0)


def as_hooks_error(error: Exception) -> HooksError:
    """What went wrong as an error with an exit code: a failing system call is the disk's, anything else is ours."""
    if isinstance(error, HooksError):
        return error
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return StorageError(f"{where}{error.strerror or error}.")
    return InternalError(error)


def report_failure(error: Exception, *, as_json: bool) -> int:
    """Print `error` on stderr; its exit code."""
    failure = as_hooks_error(error)
    if os.environ.get("HOOKS_DEBUG"):
        say("".join(traceback.format_exception(error)).rstrip("\n"))
    if as_json:
        say(orjson.dumps({"error": error_document(failure)}).decode())
    else:
        say(error_text(failure))
    return failure.exit_code


def error_text(error: HooksError) -> str:
    """The error as a person reads it: where, what, and the fix."""
    if isinstance(error, DefinitionError):
        located = (f"{problem}" if problem.place else f"hooks: {problem}" for problem in error.problems)
        return neutralise_lines("\n".join(located))
    where = f"{error.place}" if error.place else "hooks"
    fix = f"\n    fix: {error.fix}" if error.fix else ""
    return neutralise_lines(f"{where}: {error.message}{fix}")


def warning_text(problem: Problem) -> str:
    """What is allowed and hardly meant, as a person reads it."""
    where = f"{problem.place}: " if problem.place else ""
    fix = f"\n    fix: {problem.fix}" if problem.fix else ""
    return neutralise_lines(f"{where}warning: {problem.message}{fix}")


def error_document(error: HooksError) -> dict[str, Any]:
    """The error as a program reads it; every key is always there."""
    document: dict[str, Any] = {
        "code": type(error).__name__.removesuffix("Error"),
        "exit": error.exit_code,
        "message": _printable(error.message),
        "fix": error.fix and _printable(error.fix),
        "run": error.run,
        "file": error.place and _printable(error.place.file),
        "line": error.place and error.place.line,
    }
    if isinstance(error, CorruptRunError):
        document |= {"file": _printable(error.file), "line": error.line, "byte": error.byte}
    if isinstance(error, DefinitionError):
        document["problems"] = [problem_document(problem) for problem in error.problems]
    return document


def problem_document(problem: Problem) -> dict[str, Any]:
    """One problem of a file as a program reads it."""
    return {
        "message": _printable(problem.message),
        "fix": problem.fix and _printable(problem.fix),
        "file": problem.place and _printable(problem.place.file),
        "line": problem.place and problem.place.line,
        "column": problem.place and problem.place.column,
    }


def _printable(text: str) -> str:
    # A file name may hold bytes that are no UTF-8; JSON cannot.
    return text.encode("utf-8", "backslashreplace").decode()


def leave(code: int) -> NoReturn:
    """Exit with `code`, whatever became of stdout."""
    try:
        sys.stdout.flush()
    except OSError:
        abandon_stdout()
    sys.exit(code)


def die_by_signal(number: int) -> NoReturn:
    """End the way whoever sent the signal expects: killed by it, so that a shell script with a Ctrl-C stops too."""
    try:
        sys.stdout.flush()
    except OSError:
        abandon_stdout()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)
