"""What agents of several kinds have in common in a file: timeout and repeatability, and options with their values."""

from __future__ import annotations

import re
from collections.abc import Sequence as AbstractSequence
from typing import Any

from hooks.definition.fields import Fields, did_you_mean, listed
from hooks.definition.model import AgentDeclaration, CommandAgent
from hooks.definition.tree import Mapping, Node, Scalar, Source
from hooks.definition.values import read_bool, read_duration, read_object

COMMON = frozenset({"kind", "timeout", "timeout_ms", "repeatable"})
"""The keys of an agent of whatever kind."""
REFERENCE = re.compile(r"\$\{\s*(?:params\.|run\.|item\b|[A-Za-z0-9_.-]+\.(?:output|status|previous)\b)")


def read_common(fields: Fields) -> dict[str, Any]:
    """Those of COMMON that are given, as fields of the declaration."""
    found: dict[str, Any] = {}
    if (timeout_ms := read_duration(fields, "timeout")) is not None:
        found["timeout_ms"] = timeout_ms
    node = fields.value("repeatable")
    if node is not None and (repeatable := read_bool(fields.source, node, "`repeatable`")) is not None:
        found["repeatable"] = repeatable
    return found


def read_own_options(fields: Fields) -> dict[str, Any]:
    """The `model_options` that an agent sets where a step sets nothing else; `report_options` checks them."""
    node = fields.value("model_options")
    return {} if node is None else read_object(fields.source, node, "`model_options`") or {}


def report_options(source: Source, options: Node | None, agent: AgentDeclaration) -> None:
    """Report options that the agent does not honour, and values it would not hear."""
    if not isinstance(options, Mapping):
        return
    honoured = agent.honoured_options
    for entry in options.entries:
        name = entry.key.text
        if name not in honoured:
            fix = did_you_mean(name, honoured) or f"it honours: {listed(honoured)}; see `options` of the agent"
            source.report(entry.key, f"the agent `{agent.name}` does not honour the option `{name}`", fix)
        elif isinstance(agent, CommandAgent) and _loses_its_value(agent.options[name], entry.value):
            source.report(
                entry.value,
                f'the agent `{agent.name}` would not hear this value: its option `{name}` has no "{{value}}"',
                f'write `{name}: [{agent.options[name][0]}, "{{value}}"]` under `options` of the agent',
            )


def _loses_its_value(argv: AbstractSequence[str], value: Node) -> bool:
    """Whether an option that is a mere flag is given more than yes, no or nothing."""
    is_switch = isinstance(value, Scalar) and (value.value is None or isinstance(value.value, bool))
    return not is_switch and not any("{value}" in word for word in argv)
