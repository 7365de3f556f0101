"""Times as text: milliseconds since 1970, UTC, as machine output has them."""

from __future__ import annotations

from datetime import UTC, datetime


def iso_time(ms: int) -> str:
    """ISO 8601 in UTC with milliseconds: the form of every time in machine output."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"
