"""The fields that nodes of several types share: those of every node, and those of agent steps and executor calls."""

from __future__ import annotations

from typing import Any

from hooks.definition.cel_text import read_cel
from hooks.definition.defaults_section import Defaults
from hooks.definition.environment import read_environment, read_secret_names
from hooks.definition.fields import Fields, describe
from hooks.definition.gate_section import read_gate
from hooks.definition.literals import is_computed
from hooks.definition.model import Retry
from hooks.definition.output_schema import read_schema
from hooks.definition.retry_section import read_retry, warn_of_absurd_total
from hooks.definition.tree import Node, Scalar, Sequence, Source, to_value
from hooks.definition.values import read_bool, read_duration, read_int, read_object, read_text

MOST_ITEMS = 10_000
_MOST_OUTPUT = 2**40


def read_every(fields: Fields) -> dict[str, Any]:
    """What any node may have: condition, description, metadata; `tool_policy` is kept for whoever asks for it."""
    source = fields.source
    found: dict[str, Any] = {}
    if (node := fields.value("if")) is not None:
        found["condition"] = _read_condition(source, node)
    if (node := fields.value("description")) is not None:
        found["description"] = read_text(source, node, "`description`", blank=True)
    metadata = read_metadata(fields)
    if metadata:
        found["metadata"] = metadata
    return found


def read_metadata(fields: Fields) -> dict[str, Any]:
    """`metadata`, with `tool_policy` under its name."""
    source = fields.source
    metadata, policy = fields.value("metadata"), fields.value("tool_policy")
    found = (read_object(source, metadata, "`metadata`") or {}) if metadata is not None else {}
    if policy is not None:
        found["tool_policy"] = read_object(source, policy, "`tool_policy`")
    return found


def read_work(fields: Fields, defaults: Defaults) -> dict[str, Any]:
    """What agent steps and executor calls may have beside their own."""
    source = fields.source
    found: dict[str, Any] = {
        "timeout_ms": read_duration(fields, "timeout"),
        "grace_ms": read_duration(fields, "grace"),
        "retry": _read_retry(fields, defaults),
    }
    if (node := fields.value("for_each")) is not None:
        found["for_each"] = _read_for_each(source, node)
    if (node := fields.value("human_gate")) is not None:
        found["human_gate"] = read_gate(source, node)
    if (node := fields.value("output_schema")) is not None:
        found["output_schema"] = read_schema(source, node, "`output_schema`")
    if (node := fields.value("max_output_bytes")) is not None:
        found["max_output_bytes"] = read_int(source, node, "`max_output_bytes`", least=1, most=_MOST_OUTPUT)
    for name in ("allow_failure", "unsafe_allow_ungated"):
        if (node := fields.value(name)) is not None:
            found[name] = read_bool(source, node, f"`{name}`")
    return {**found, **_read_surroundings(fields)}


def _read_surroundings(fields: Fields) -> dict[str, Any]:
    """Where the work runs: directory, variables, secrets."""
    source = fields.source
    found: dict[str, Any] = {}
    if (node := fields.value("cwd")) is not None:
        found["cwd"] = read_text(source, node, "`cwd`")
    if (node := fields.value("env")) is not None:
        found["env"] = read_environment(source, node)
    if (node := fields.value("secrets")) is not None:
        found["secrets"] = read_secret_names(source, node)
    return found


def _read_retry(fields: Fields, defaults: Defaults) -> Retry | None:
    node = fields.value("retry")
    if node is None:
        return None
    retry = Retry(**{**defaults.retry, **read_retry(fields.source, node)})
    warn_of_absurd_total(fields.source, fields.key_place("retry"), retry)
    return retry


def _read_condition(source: Source, node: Node) -> str | bool | None:
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return node.value
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        source.report(
            node, f"`if` must be true, false or CEL, but is {describe(node)}", "write it like `size(draft.output) > 0`"
        )
        return None
    return read_cel(source, node, "`if`", example="size(draft.output) > 0")


def _read_for_each(source: Source, node: Node) -> Any:
    if isinstance(node, Sequence):
        if len(node.items) > MOST_ITEMS:
            source.report(node, f"`for_each` has {len(node.items)} items; at most {MOST_ITEMS} are allowed", "split it")
        return to_value(node)
    if is_computed(node):
        return to_value(node)
    source.report(
        node,
        f"`for_each` must be a list or one reference, but is {describe(node)}",
        'write [a, b] or "${params.files}"',
    )
    return None
