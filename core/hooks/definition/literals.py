"""What the inputs of all executors have in common.

A field may hold a value that is only known when the step runs: that is checked then, a literal one now.
"""

from __future__ import annotations

from collections.abc import Collection

from hooks.definition.fields import Fields
from hooks.definition.tree import Mapping, Node, Scalar
from hooks.definition.values import read_bool, read_duration
from hooks.expressions.templates import is_one_reference

BESIDE = dict.fromkeys(("env", "cwd", "secrets"), "it stands beside `input`, as a key of the node")
"""Keys that are looked for in an input and are fields of the node, whatever the executor."""


def is_computed(node: Node | None) -> bool:
    """Whether the value is only known when the step runs."""
    if isinstance(node, Scalar):
        return isinstance(node.value, str) and is_one_reference(node.value)
    return isinstance(node, Mapping) and node.get("$ref") is not None


def literal(fields: Fields, key: str) -> Node | None:
    """The value of `key`, unless it is computed."""
    node = fields.value(key)
    return None if node is None or is_computed(node) else node


def check_flags(fields: Fields, keys: Collection[str]) -> None:
    for key in keys:
        if (node := literal(fields, key)) is not None:
            read_bool(fields.source, node, f"`{key}`")


def check_durations(fields: Fields, keys: Collection[str]) -> None:
    for key in keys:
        if not any(is_computed(fields.value(name)) for name in (key, f"{key}_ms")):
            read_duration(fields, key)
