"""The file that a command writes for its user: whole or not there, and never over another one unless told to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from hooks.errors import StorageError, UsageError
from hooks_cli.render.streams import stdout_error

STDOUT = "-"


@contextmanager
def output_file(name: str, *, force: bool) -> Iterator[BinaryIO]:
    """The file to write to; it has its name, and takes the place of one that is there, when this is left without error.

    `-` is stdout. Raises UsageError for a file that is there, unless `force`, and for what is no file in any case.
    """
    if name == STDOUT:
        yield from _stdout()
        return
    path = Path(name)
    _refuse_taken(path, force=force)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise StorageError(f"Cannot write {name}: {error.strerror or error}.", fix="Name another with `-o`.") from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _refuse_taken(path: Path, *, force: bool) -> None:
    if not os.path.lexists(path):
        return
    if not path.is_file():
        raise UsageError(f"{path} is there, and is no file.", fix="Name another with `-o`; `-o -` is stdout.")
    if not force:
        raise UsageError(f"{path} is there already.", fix="Name another with `-o`, or say --force to replace it.")


def _stdout() -> Iterator[BinaryIO]:
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise stdout_error(error) from error
