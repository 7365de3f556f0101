"""`human_gate`: a person decides. `true` is a gate without a prompt, a text is a gate with that prompt."""

from __future__ import annotations

from typing import Any, Literal

from hooks.definition.fields import Fields, Keys, read_fields
from hooks.definition.model import Gate
from hooks.definition.tree import Mapping, Node, Scalar, Source
from hooks.definition.values import read_choice, read_duration, read_text, read_texts

_GATE = {
    "prompt": "What is asked; a template.",
    "approvers": "A list of names, of which one has to answer; anybody if left out.",
    "deadline": "A duration, after which the gate is closed; none if left out.",
    "deadline_ms": "The same in milliseconds.",
    "on_timeout": "What the deadline counts as: `fail` (if left out: the step fails) or `success` (approved).",
}
_KEYS = Keys(
    "`human_gate`",
    {
        **_GATE,
        "stage": "`before` (if left out: the step is asked about before it is done) or `after` (its output is).",
    },
)
_DECISION_KEYS = Keys(
    "the `human_gate` of a decision",
    _GATE,
    elsewhere={"stage": "remove it: a decision is nothing but its gate, there is no before and after"},
)


def read_gate(source: Source, node: Node, *, of: Literal["work", "decision"] = "work") -> Gate | None:
    """The gate, or None if there is to be none (`false`) or it has a fault, which is reported."""
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return Gate() if node.value else None
    if isinstance(node, Scalar) and isinstance(node.value, str):
        prompt = read_text(source, node, "`human_gate`")
        return Gate(prompt=prompt) if prompt is not None else None
    fields = read_fields(source, node, _KEYS if of == "work" else _DECISION_KEYS, "`human_gate`")
    return _gate(fields) if fields is not None else None


def gate_prompt(node: Node | None) -> Node | None:
    """The prompt within a `human_gate` as it is written."""
    return node.get("prompt") if isinstance(node, Mapping) else node


def _gate(fields: Fields) -> Gate:
    source = fields.source
    found: dict[str, Any] = {"deadline_ms": read_duration(fields, "deadline")}
    if (node := fields.value("prompt")) is not None:
        found["prompt"] = read_text(source, node, "`prompt`")
    if (node := fields.value("stage")) is not None:
        found["stage"] = read_choice(source, node, "`stage`", ("before", "after"))
    if (node := fields.value("approvers")) is not None:
        found["approvers"] = read_texts(source, node, "`approvers`", one=True)
    if (node := fields.value("on_timeout")) is not None:
        found["on_timeout"] = read_choice(source, node, "`on_timeout`", ("fail", "success"))
        if "deadline" not in fields and "deadline_ms" not in fields:
            source.warn(
                fields.key_place("on_timeout"), "`on_timeout` does nothing without a deadline", "add `deadline: 2h`"
            )
    return Gate(**{name: value for name, value in found.items() if value is not None})
