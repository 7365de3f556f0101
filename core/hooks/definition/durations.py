"""Durations as people write them: `90s`, `15m`, `2h`, `500ms`, `1d`; inside they are whole milliseconds."""

from __future__ import annotations

import re

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(?P<number>[0-9]{1,12}(?:\.[0-9]{1,6})?)(?P<unit>ms|s|m|h|d)\Z")

MAX_MS = 10 * 365 * _UNITS["d"]


def parse_duration(text: str) -> int:
    """The duration in milliseconds. Raises ValueError that says what was expected."""
    match = _DURATION.match(text.strip())
    if match is None:
        raise ValueError(f"`{text}` is not a duration such as 500ms, 90s, 15m, 2h or 1d")
    milliseconds = round(float(match["number"]) * _UNITS[match["unit"]])
    if not 0 < milliseconds <= MAX_MS:
        raise ValueError(f"`{text}` is out of range: a duration is longer than 0 and at most 3650d")
    return milliseconds


def spelt(milliseconds: int) -> str:
    """The duration as a person would write it, exactly: `90s` and not `1.5m` or `90000ms`."""
    for unit in ("d", "h", "m", "s"):
        if milliseconds and milliseconds % _UNITS[unit] == 0:
            return f"{milliseconds // _UNITS[unit]}{unit}"
    return f"{milliseconds}ms"
