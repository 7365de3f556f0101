"""The `defaults:` section, of a workflow or a config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks.definition.fields import Keys, read_fields
from hooks.definition.model import Json, Retry
from hooks.definition.retry_section import GivenRetry, read_retry, warn_of_absurd_total
from hooks.definition.tree import Node, Source
from hooks.definition.values import read_duration, read_int, read_object

MOST_CONCURRENCY = 10_000
_KEYS = Keys(
    "`defaults`",
    {
        "timeout": "A duration: how long an attempt of a step may take that does not say it itself.",
        "timeout_ms": "The same in milliseconds.",
        "grace": "A duration between TERM and KILL, for what has to end; 10s if left out.",
        "grace_ms": "The same in milliseconds.",
        "max_concurrency": "How many steps run at once; 4 if left out.",
        "retry": "`retry` of steps that do not say it themselves; each key counts by itself.",
        "model_options": "A mapping for the agents that honour it.",
    },
    frozenset({"max_output_bytes"}),
    {"retry_policy": "retry", "model_overrides": "model_options"},
)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where a node says nothing; None where nothing is said here either."""

    timeout_ms: int | None = None
    max_concurrency: int | None = None
    grace_ms: int | None = None
    retry: GivenRetry = field(default_factory=dict)
    model_options: Mapping[str, Json] = field(default_factory=dict)
    """For the agents that honour them."""

    def over(self, other: Defaults) -> Defaults:
        """These, completed by `other`."""
        return Defaults(
            self.timeout_ms if self.timeout_ms is not None else other.timeout_ms,
            self.max_concurrency if self.max_concurrency is not None else other.max_concurrency,
            self.grace_ms if self.grace_ms is not None else other.grace_ms,
            {**other.retry, **self.retry},
            {**other.model_options, **self.model_options},
        )


def read_defaults(source: Source, node: Node) -> Defaults:
    fields = read_fields(source, node, _KEYS, "`defaults`")
    if fields is None:
        return Defaults()
    options = fields.value("model_options")
    concurrency, retry_node = fields.value("max_concurrency"), fields.value("retry")
    retry = read_retry(source, retry_node) if retry_node is not None else {}
    warn_of_absurd_total(source, fields.key_place("retry"), Retry(**retry))
    return Defaults(
        timeout_ms=read_duration(fields, "timeout"),
        grace_ms=read_duration(fields, "grace"),
        retry=retry,
        model_options={} if options is None else read_object(source, options, "`model_options`") or {},
        max_concurrency=read_int(source, concurrency, "`max_concurrency`", least=1, most=MOST_CONCURRENCY)
        if concurrency is not None
        else None,
    )
