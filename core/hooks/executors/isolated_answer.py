"""What an isolated call and its driver tell each other: the call as JSON on stdin, the answer as JSON in a file.

The file is renamed into place, so that it is whole or absent; its name is one that is masked like stdout. The child
ends with 0 whenever it has answered, also when the answer is a failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from hooks import jsonio
from hooks.executors.base import Absent, CannotTell, Found, Later, LookUp, Settled
from hooks.processes.launch import ANSWER
from hooks.regular_files import read_regular

Action: TypeAlias = Literal["execute", "look_up"]


class IsolatedCall(msgspec.Struct, frozen=True):
    """A call, as the child is told of it. It stays out of argv and of all files: its arguments may hold secrets."""

    action: Action
    reference: str
    args: dict[str, Any]
    base: str
    key: str
    directory: str


class _Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the five, the one that is set."""

    settled: Settled | None = None
    found: Found | None = None
    absent: Absent | None = None
    later: Later | None = None
    cannot_tell: CannotTell | None = None


def write_answer(directory: Path, answer: Settled | LookUp) -> None:
    match answer:
        case Settled():
            document = _Answer(settled=answer)
        case Found():
            document = _Answer(found=answer)
        case Absent():
            document = _Answer(absent=answer)
        case Later():
            document = _Answer(later=answer)
        case CannotTell():
            document = _Answer(cannot_tell=answer)
    draft = directory / f".{ANSWER}"
    draft.write_bytes(jsonio.canonical(msgspec.to_builtins(document)))
    draft.rename(directory / ANSWER)


def read_answer(directory: Path) -> Settled | LookUp | None:
    """None if there is none that can be read."""
    try:
        document = msgspec.json.decode(read_regular(directory / ANSWER), type=_Answer)
    except (OSError, msgspec.MsgspecError):
        return None
    return document.settled or document.found or document.absent or document.later or document.cannot_tell
