"""Reads what a child has written, within bounded memory."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass
from pathlib import Path


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
    """The first `limit` bytes of the file as text; a character that the limit would cut in two is left out."""
    with open(path, "rb", buffering=0) as file:
        data = _read_exactly(file.fileno(), limit)
        total = os.fstat(file.fileno()).st_size
    truncated = total > len(data)
    try:
        text, replaced = _decode(data, "strict", final=not truncated), False
    except UnicodeDecodeError:
        text, replaced = _decode(data, "replace", final=not truncated), True
    return CapturedText(text, total, truncated, replaced)


def read_tail(path: Path, limit: int) -> str:
    """The last `limit` bytes of the file as text, from the start of a line where there is one."""
    with open(path, "rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - limit)
        file.seek(start)
        data = file.read(limit)
    if start and 0 <= (line_end := data.find(b"\n")) < len(data) - 1:
        data = data[line_end + 1 :]
    return data.decode("utf-8", "replace")


def _decode(data: bytes, errors: str, *, final: bool) -> str:
    return codecs.getincrementaldecoder("utf-8")(errors).decode(data, final)


def _read_exactly(descriptor: int, limit: int) -> bytes:
    """Up to `limit` bytes; one read call gives at most 2 GiB and may give less."""
    parts = []
    while limit and (part := os.read(descriptor, min(limit, 1 << 24))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)
