"""Reads what a child has written, within bounded memory.

A child can do to these files what it likes: whatever is not the file any more that was made for it counts as lost.
"""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hooks.regular_files import open_regular

_PIECE = 1 << 20
# The machine is short of something, which says nothing of the file.
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class CaptureLostError(Exception):
    """What a command has printed cannot be had any more."""

    def __init__(self, path: Path, error: OSError) -> None:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            why = "it is gone: the command removed it, or secrets in it could not be masked"
        else:
            why = f"{error.strerror}"
        super().__init__(f"What it printed on {path.name} is lost ({path}: {why}).")


@contextmanager
def _kept(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _SHORTAGES:
            raise
        raise CaptureLostError(path, error) from error


@dataclass(frozen=True, slots=True)
class CapturedText:
    """The beginning of an output, as text. Nothing is stripped or translated; CRLF stays CRLF.

    `replaced`: some bytes were no UTF-8 and stand as U+FFFD; the file keeps the bytes themselves.
    """

    text: str
    bytes_total: int
    truncated: bool
    replaced: bool


def read_text(path: Path, limit: int) -> CapturedText:
    """The first `limit` bytes of the file as text; a character that the limit would cut in two is left out.

    Raises CaptureLostError.
    """
    with _kept(path), open_regular(path) as file:
        total = os.fstat(file.fileno()).st_size
        try:
            text, replaced = _decoded(file, min(limit, total), "strict", final=total <= limit), False
        except UnicodeDecodeError:
            file.seek(0)
            text, replaced = _decoded(file, min(limit, total), "replace", final=total <= limit), True
    return CapturedText(text, total, total > limit, replaced)


def read_tail(path: Path, limit: int) -> str:
    """The last `limit` bytes of the file as text, from the start of a line where there is one.

    Raises CaptureLostError.
    """
    with _kept(path), open_regular(path) as file:
        start = max(0, file.seek(0, os.SEEK_END) - limit)
        file.seek(start)
        data = file.read(limit)
    if start and 0 <= (line_end := data.find(b"\n")) < len(data) - 1:
        data = data[line_end + 1 :]
    return data.decode("utf-8", "replace")


def _decoded(file: BinaryIO, limit: int, errors: str, *, final: bool) -> str:
    """The next `limit` bytes as text. Never holds them as bytes as well: an answer may have many megabytes."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    text = ""
    for piece in _pieces(file, limit):
        # In place, as long as nobody else knows the text; a list of pieces, joined, would take twice the memory.
        text += decoder.decode(piece)
    return text + decoder.decode(b"", final)


def _pieces(file: BinaryIO, limit: int) -> Iterator[bytes]:
    while limit and (piece := file.read(min(limit, _PIECE))):
        yield piece
        limit -= len(piece)
