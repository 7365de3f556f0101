"""Everything that can go wrong, as one tree; each class is one thing a caller may want to tell apart.

    HooksError
    ├── UsageError (2)            the command's words are off
    │   ├── DefinitionError       a workflow, config or params file has problems; all of them at once
    │   ├── MissingPerformerError nobody here performs what a run has still to do
    │   └── RunIdTakenError       there is a run of this id already
    ├── CollectorError (1)        what spans are sent to does not take them
    ├── HookBlockedError (3)      PluginViolationError: a hook said no
    ├── RunLockedError (6)        another driver holds the run
    ├── RunCopiedError (6)        the directory is not the one its driver wrote
    ├── NotFoundError (7)         no such run or node, or several
    ├── RefusedError (7)          the run has answered a request, and the answer is no
    ├── QueuedError (8)           nobody has answered a request yet; it is durable
    ├── LoopEndedError (8)        a hook, or other Python of others, has ended what ran beside it
    ├── InDoubtError (10)         only a person can say what became of an effect
    ├── CorruptRunError (9)       the log or a file beside it is not what was written
    └── StorageError (74)         the disk said no
        └── LogPoisonedError      a sync failed; what is on disk is unknown

An error states what is wrong with the actual value and, in `fix`, the next command or edit. Only the command line's
`failures.py` prints one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple


class Place(NamedTuple):
    """Where in a file something stands; line and column count from 1, and are None where it is the file as a whole."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in self if part is not None)


class HooksError(Exception):
    """An error a person can act on: what is wrong, and what to do next."""

    exit_code: ClassVar[int] = 70

    def __init__(
        self, message: str, *, fix: str | None = None, run: str | None = None, place: Place | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.run = run
        self.place = place


class UsageError(HooksError):
    """What was asked for cannot be asked for; nothing was started."""

    exit_code = 2


class Problem(NamedTuple):
    """One thing wrong with a file a person wrote."""

    message: str
    place: Place | None = None
    fix: str | None = None

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.message}" + (f"\n    fix: {self.fix}" if self.fix else "")


class DefinitionError(UsageError):
    """A workflow, config or params file that cannot be used, with every problem found in it.

    `place` and `fix` are those of the first; `message` names them all where there are several.
    """

    def __init__(self, problems: list[Problem]) -> None:
        first = problems[0]
        located = [f"{place}: {message}" if place else message for message, place, _ in problems]
        super().__init__(first.message if len(problems) == 1 else "\n".join(located), fix=first.fix, place=first.place)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class RunIdTakenError(UsageError):
    """There is a run of this id already; the caller may look whether it is the same one."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"There is a run {run_id} already.",
            fix=f"Choose another `--run-id`, or go on with that one: `hooks recover {run_id}`.",
            run=run_id,
        )


class MissingPerformerError(UsageError):
    """A run has work to do that this process does not know how to do; whoever does goes on with it."""

    def __init__(self, run_id: str, missing: Sequence[str]) -> None:
        super().__init__(
            f"Run {run_id} is not moved: nobody here performs {', '.join(missing)}.",
            fix="Go on with it from the program that does (`recover(…, implementation=…)`), or install the package "
            "that registers it.",
            run=run_id,
        )


class CollectorError(HooksError):
    """Spans could not be sent; the run they are of has nothing to do with it."""

    exit_code = 1

    def __init__(self, endpoint: str, reason: str) -> None:
        super().__init__(
            f"The collector at {endpoint} did not take the spans: {reason}.",
            fix="Correct `--endpoint` or the OTEL_EXPORTER_OTLP_* variables; or write them to a file with `-o FILE`.",
        )


class SpansRejectedError(CollectorError):
    """The collector took the rest of the spans and will not have these, however often they are sent."""

    def __init__(self, endpoint: str, count: int, words: str) -> None:
        super().__init__(endpoint, f"it rejected {count} of them{f' ({words})' if words else ''}")
        self.count = count


class RunLockedError(HooksError):
    """Another process is driving the run."""

    exit_code = 6

    def __init__(self, run_id: str, holder: str) -> None:
        super().__init__(
            f"Run {run_id} is already being driven by {holder}.",
            fix=f"Wait for it, or watch it with `hooks tail {run_id}`.",
            run=run_id,
        )


class RunCopiedError(HooksError):
    """The run directory is a copy: moving it could do the original's effects a second time."""

    exit_code = 6

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"The directory of run {run_id} is not the one its last driver worked in (its inode differs): "
            "it was copied or restored.",
            fix=f"If the original will never be driven again: `hooks recover {run_id} --take-over`.",
            run=run_id,
        )


class InDoubtError(HooksError):
    """An effect is in doubt: a person has to say what became of it before this can be done."""

    exit_code = 10

    def __init__(self, run_id: str, node_ids: Sequence[str]) -> None:
        super().__init__(
            f"Run {run_id} has an effect in doubt: {', '.join(node_ids)}.",
            fix=f"Say what became of it: `hooks resolve {run_id} {node_ids[0]} --done | --retry | --failed`.",
            run=run_id,
        )


class NotFoundError(HooksError):
    """No such run, node or gate; or several where one is needed."""

    exit_code = 7


class RefusedError(HooksError):
    """The run has answered the request, and the answer is no: too late, answered by another, not allowed."""

    exit_code = 7


class QueuedError(HooksError):
    """The request is durable and nobody has answered it yet; the run's driver will."""

    exit_code = 8


class LoopEndedError(HooksError):
    """Python of others has cancelled what ran beside it in the event loop; the log has all that was done."""

    exit_code = 8

    def __init__(self) -> None:
        super().__init__(
            "A hook, an agent or an executor in Python has cancelled tasks that are not its own, and so this command.",
            fix="Have it cancel only what it has started; a run that was under way goes on with `hooks recover`.",
        )


class CorruptRunError(HooksError):
    """Bytes of a run that were durable are no longer what was written; nothing is done by what is there instead."""

    exit_code = 9

    def __init__(
        self, message: str, *, file: str, line: int | None = None, byte: int | None = None, fix: str | None = None
    ) -> None:
        where = file + (f", line {line}" if line is not None else "") + (f", byte {byte}" if byte is not None else "")
        fix = fix or "Restore the run directory from a backup; nothing was changed."
        super().__init__(f"{where}: {message}", fix=fix)
        self.reason = message
        self.file = file
        self.line = line
        self.byte = byte


class StorageError(HooksError):
    """The disk, a lock or a sync failed. What was committed before stays; recover goes on from there."""

    exit_code = 74


class LogPoisonedError(StorageError):
    """An earlier sync of the log failed: what is on disk is unknown, so this log object takes nothing more."""


class JsonBorderError(ValueError):
    """A value that JSON cannot carry without changing it: NaN, an integer beyond 64 bit, a lone surrogate, depth."""


def message_of(error: BaseException) -> str:
    """What an exception says, as text that JSON can carry; never raises, whatever its own `__str__` does."""
    try:
        # A message may quote what is no Unicode text, a file name for one.
        return str(error).encode("utf-8", "replace").decode()
    except BaseException as failure:  # noqa: BLE001  nothing is awaited in here: what comes is of the exception's making
        return f"(its message cannot be had: __str__ raised {type(failure).__name__})"


def describe_exception(error: BaseException) -> str:
    """Its type and what it says. For exceptions of others' code, which may be of any making."""
    message = message_of(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
