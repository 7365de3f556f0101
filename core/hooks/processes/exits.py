"""How a child ended, and the file that still says so when nobody was there to hear it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hooks import jsonio
from hooks.errors import JsonBorderError
from hooks.regular_files import open_regular

EXIT_FILE = "exit.json"
LAST_SIGNAL = 64


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit code, or the signal that ended it; neither, when its end was seen but not how.

    `leaked` are the background processes it left in its process group; they have been ended.
    """

    code: int | None = None
    signal: int | None = None
    leaked: tuple[int, ...] = ()


def exit_of(status: int, noted: Exit | None) -> Exit:
    """How the command ended, by the launcher's status (negative for its own death by a signal) and what it noted.

    128 + n is the status of a command that was killed by signal n, and of one that exited so of its own accord. If the
    note does not tell, the first is assumed: a killed effect is unknown, and not merely failed.
    """
    if status < 0:
        return Exit(signal=-status)
    if 128 < status <= 128 + LAST_SIGNAL:
        return noted if noted == Exit(code=status) else Exit(signal=status - 128)
    return Exit(code=status)


def read_exit(directory: Path) -> Exit | None:
    """What exit.json says; None unless it is one whole JSON object of the launcher's form."""
    try:
        with open_regular(directory / EXIT_FILE) as file:
            document = jsonio.parse(file.read(256))
    except (OSError, JsonBorderError):
        # Unreadable is absent: the outcome is then unknown, which is the safe thing to say.
        return None
    match document:
        case {"exitCode": int(code), **rest} if not rest and type(code) is int and 0 <= code <= 255:
            return Exit(code=code)
        case {"signal": int(number), **rest} if not rest and type(number) is int and 1 <= number <= LAST_SIGNAL:
            return Exit(signal=number)
    return None
