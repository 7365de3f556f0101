"""stdout is data, stderr everything else; UTF-8 whatever the locale.

A reader that goes away (`| head -1`) is no fault: what only reads ends quietly, what moves a run goes on. So `emit`
raises BrokenPipeError, which the command line turns into exit 0, and `emit_result` does not; `say` never raises at all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import orjson

from hooks.errors import StorageError
from hooks_cli.render.text import neutralise_json, neutralise_lines


def on_terminal() -> bool:
    """stdout is a terminal: a person reads along."""
    return sys.stdout.isatty()


def emit(text: str) -> None:
    """Write text to stdout now. Raises BrokenPipeError when nobody reads it."""
    emit_bytes(text.encode("utf-8", "backslashreplace"))


def emit_bytes(data: bytes) -> None:
    """Write bytes to stdout now, as they are. Raises BrokenPipeError when nobody reads them, StorageError for a full
    disk behind it."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise stdout_error(error) from error


def stdout_error(error: OSError) -> StorageError:
    """What to raise where stdout takes nothing more, and somebody may be there to read what it has taken."""
    fix = "Free space where stdout leads, or have it lead elsewhere; then say it again."
    return StorageError(f"Cannot write to stdout: {error.strerror or error}.", fix=fix)


def emit_json(document: Any) -> None:
    """Write one JSON document to stdout: a line for a program, indented and harmless for a person."""
    if on_terminal():
        emit(neutralise_json(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()) + "\n")
    else:
        emit_bytes(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))


def emit_value(value: Any) -> None:
    """Write one value: text as it is, everything else as JSON."""
    if not isinstance(value, str):
        return emit_json(value)
    text = value if value.endswith("\n") else f"{value}\n"
    return emit(neutralise_lines(text) if on_terminal() else text)


def emit_result(document: Any) -> None:
    """Write what a run came to. A closed stdout changes nothing: the run is what it is."""
    try:
        emit_json(document)
    except BrokenPipeError:
        abandon_stdout()


@contextmanager
def stdout_kept_for_results() -> Iterator[None]:
    """While this is entered, descriptor 1 is stderr: a print() in a person's Python, or a process it starts, must not
    land in the middle of a result."""
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def say(text: str) -> None:
    """Tell the person at the terminal something. A stderr that takes nothing must not stop a run, so it is ignored."""
    try:
        sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
        sys.stderr.buffer.flush()
    except OSError:
        _point_at_devnull(2)


def ask(question: str) -> str:
    """What the person at the terminal answers; empty at the end of input. The question goes to stderr."""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()


def abandon_stdout() -> None:
    """Nobody reads stdout any more: let what is buffered go nowhere, so that the interpreter's last flush succeeds."""
    _point_at_devnull(1)


def _point_at_devnull(descriptor: int) -> None:
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, descriptor)
    os.close(devnull)
