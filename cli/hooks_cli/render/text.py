"""Text for a terminal: made harmless, cut to length, and times and durations that can be read.

Whatever comes from a run (a prompt, an answer, a line of a log) may hold escape sequences that move the cursor, rename
the window or hide what stands there. Everything shown to a person passes through `neutralise`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from hooks.times import iso_time

_SHORT_WIDTH = 400
_KEPT_IN_LINES = {ord("\n"), ord("\t")}
_REORDERING = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]  # what follows would be shown in another order
_LINE_SEPARATORS = [0x2028, 0x2029]
_HARMFUL = [*range(0x20), *range(0x7F, 0xA0), *_REORDERING, *_LINE_SEPARATORS]


def _escape(code: int) -> str:
    short = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}
    return short.get(code) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


_ONE_LINE = {code: _escape(code) for code in _HARMFUL}
_LINES = {code: text for code, text in _ONE_LINE.items() if code not in _KEPT_IN_LINES}
_JSON = {code: f"\\u{code:04x}" for code in _HARMFUL if code >= 0x7F}


def neutralise(text: str) -> str:
    """`text` on one line, with every control character spelled out."""
    return text.translate(_ONE_LINE)


def neutralise_lines(text: str) -> str:
    """`text` with its lines and tabs kept, and every other control character spelled out."""
    return text.translate(_LINES)


def neutralise_json(text: str) -> str:
    """JSON text that means the same and holds no control character that JSON itself lets through."""
    return text.translate(_JSON)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` characters; a marker says that, and how much, was cut."""
    if len(text) <= width:
        return text
    marker = _cut_marker(len(text) - width)
    return text[: max(0, width - len(marker))] + marker


def _cut_marker(left_out: int) -> str:
    return f"… (+{left_out:,})"


def one_line(text: str, width: int) -> str:
    """`text` as a person may safely see it on one line of `width` characters."""
    if len(text) <= width:
        return cut(neutralise(text), width)
    marker = _cut_marker(len(text) - width)
    # Cut before escaping: a value of 50 MB must not be copied to show 80 characters of it.
    return neutralise(text[:width])[: max(0, width - len(marker))] + marker


def iso_time_or_none(ms: int | None) -> str | None:
    return None if ms is None else iso_time(ms)


def clock_time(ms: int) -> str:
    """The time of day, local, for a person following along."""
    return datetime.fromtimestamp(ms / 1000).strftime("%H:%M:%S.") + f"{ms % 1000:03d}"


def short_time(ms: int) -> str:
    """Date and time of day, local, for a table."""
    return datetime.fromtimestamp(ms / 1000).strftime("%Y-%m-%d %H:%M:%S")


def duration(ms: int) -> str:
    """A span in the two largest units that matter: 340ms, 12.3s, 4m10s, 3h05m, 2d04h."""
    if ms < 1_000:
        return f"{ms}ms"
    seconds = ms // 1_000
    if seconds < 60:
        return f"{ms / 1000:.1f}s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m{seconds:02d}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02d}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours:02d}h"


def took(document: Mapping[str, Any]) -> str:
    """The span between the `started_at` and the `ended_at` of a document; a dash where one of them is not known."""
    if document["started_at"] is None or document["ended_at"] is None:
        return "-"
    span = datetime.fromisoformat(document["ended_at"]) - datetime.fromisoformat(document["started_at"])
    return duration(round(span.total_seconds() * 1000))


def short_json(value: Any) -> str:
    """A value on one line, cut to a length that can be read; nothing for an empty one."""
    return one_line(orjson.dumps(value).decode(), _SHORT_WIDTH) if value else ""


def table(rows: list[list[str]]) -> str:
    """Rows in aligned columns, the first row being the header; no trailing spaces."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "".join(f"{line}\n" for line in lines)
