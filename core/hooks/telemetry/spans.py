"""A finished span, and the ids by which the same thing is the same span whoever tells of it, and however often.

Ids are hashes of names that the log has: of the run for the trace, of the activity, attempt, generation or wait for a
span. So a run exported twice, live or after the fact, by one driver or by several, is one trace with the same spans.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal, TypeAlias

from msgspec import Struct

Attribute: TypeAlias = str | bool | int | float | list[str]
Attributes: TypeAlias = dict[str, Attribute]


class SpanEvent(Struct, frozen=True):
    """Something that happened while a span went on; `at` is in ms."""

    name: str
    at: int
    attributes: Attributes = {}


class SpanLink(Struct, frozen=True):
    """Another span, perhaps of another trace, that has to do with this one."""

    trace_id: str
    span_id: str


class Span(Struct, frozen=True):
    """Something that is over. Ids are hex, times in ms since 1970, as events have them."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: Literal["internal", "client"]
    start: int
    end: int
    attributes: Attributes
    error: str | None = None
    """What went wrong; None where nothing did."""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()


def trace_id(run_id: str) -> str:
    return _hash("trace", run_id)[:32]


def span_id(run_id: str, *names: str | int) -> str:
    """The id of what `names` name within a run."""
    return _hash("span", run_id, *map(str, names))[:16]


def _hash(*names: str) -> str:
    return sha256("\n".join(("hooks", *names)).encode()).hexdigest()
