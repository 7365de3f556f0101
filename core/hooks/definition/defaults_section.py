"""The `defaults:` section, of a workflow or a config."""

from __future__ import annotations

from dataclasses import dataclass

from hooks.definition.fields import Keys, read_fields
from hooks.definition.tree import Node, Source
from hooks.definition.values import read_duration, read_int

MOST_CONCURRENCY = 10_000
_KEYS = Keys(
    "`defaults`",
    frozenset({"timeout", "timeout_ms", "max_concurrency"}),
    frozenset({"retry", "grace", "grace_ms", "model_options", "max_output_bytes"}),
    {"retry_policy": "retry", "model_overrides": "model_options"},
)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where a node says nothing; None where nothing is said here either."""

    timeout_ms: int | None = None
    max_concurrency: int | None = None

    def over(self, other: Defaults) -> Defaults:
        """These, completed by `other`."""
        return Defaults(
            self.timeout_ms if self.timeout_ms is not None else other.timeout_ms,
            self.max_concurrency if self.max_concurrency is not None else other.max_concurrency,
        )


def read_defaults(source: Source, node: Node) -> Defaults:
    fields = read_fields(source, node, _KEYS, "`defaults`")
    if fields is None:
        return Defaults()
    concurrency = fields.value("max_concurrency")
    return Defaults(
        timeout_ms=read_duration(fields, "timeout"),
        max_concurrency=read_int(source, concurrency, "`max_concurrency`", least=1, most=MOST_CONCURRENCY)
        if concurrency is not None
        else None,
    )
