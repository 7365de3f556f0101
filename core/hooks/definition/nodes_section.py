"""The `nodes:` section: agent steps and executor calls, as a map of ids or as a list of mappings with an `id`.

Each node is read by itself here. What concerns nodes together (dependencies, references, agents, globs of hooks) is
checked by load.py when all are known; a `DeclaredNode` keeps the places that takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from hooks.definition.executor_inputs import EXECUTORS, LATER_EXECUTORS, read_input
from hooks.definition.fields import Fields, Keys, describe, likeliest, read_fields
from hooks.definition.hooks_section import DeclaredHook, read_hooks
from hooks.definition.model import HostExecutorNode, SubagentNode
from hooks.definition.model import Node as WorkflowNode
from hooks.definition.output_schema import read_output_schema
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source
from hooks.definition.values import (
    read_bool,
    read_choice,
    read_duration,
    read_int,
    read_object,
    read_text,
    read_texts,
)
from hooks.expressions.references import RESERVED_ROOTS
from hooks.ids import NODE_ID

_TYPES = {"subagent": "agent", "host_executor": "executor", "loop": "body", "decision": None}
_LATER_TYPES = frozenset({"loop", "decision"})
_COMMON = frozenset(
    {
        "type",
        "depends",
        "timeout",
        "timeout_ms",
        "max_output_bytes",
        "output_schema",
        "metadata",
        "description",
        "hooks",
    }
)
_AGENT_STEP = frozenset({"agent", "prompt", "model_options"})
_EXECUTOR_CALL = frozenset({"executor", "input", "read_only"})
_LATER = frozenset(
    {
        *(
            "if",
            "for_each",
            "human_gate",
            "retry",
            "allow_failure",
            "on_failure",
            "require_gates",
            "unsafe_allow_ungated",
        ),
        *("env", "cwd", "secrets", "grace", "grace_ms", "isolate", "tool_policy", "deadline_ms", "on_timeout"),
        *("body", "max_iterations", "terminate", "output"),
    }
)
_OF_DEFAULTS = {"max_concurrency": "it belongs under `defaults` of the workflow: `defaults: {max_concurrency: 8}`"}
_LATER_AGENT = frozenset({"requirements", "sampling", "strategy", "format", "repeatable", "tool_calls_enabled"})
_SYNONYMS = {
    "bot": "agent",
    "model_overrides": "model_options",
    "working_dir": "cwd",
    "retry_policy": "retry",
    "host_executor": "executor",
}
_KEYS = {
    "subagent": Keys(
        "an agent step",
        _COMMON | _AGENT_STEP,
        _LATER | _LATER_AGENT,
        _SYNONYMS,
        {
            **_OF_DEFAULTS,
            **dict.fromkeys(
                _EXECUTOR_CALL, "it belongs to an executor call (`executor: shell`); this is an agent step"
            ),
        },
    ),
    "host_executor": Keys(
        "an executor call",
        _COMMON | _EXECUTOR_CALL,
        _LATER,
        _SYNONYMS,
        {
            **_OF_DEFAULTS,
            **dict.fromkeys(
                _AGENT_STEP | _LATER_AGENT, "it belongs to an agent step (`agent: …`); this is an executor call"
            ),
        },
    ),
}
_EVERY_KEY = Keys("a node", _COMMON | _AGENT_STEP | _EXECUTOR_CALL, _LATER | _LATER_AGENT, _SYNONYMS)
_MOST_OUTPUT = 2**40


class DeclaredNode(msgspec.Struct, frozen=True):
    """A node as far as it could be read; `node` is None if it has a fault, its id and dependencies count even so."""

    id: str
    place: int
    fields: Fields | None
    node: WorkflowNode | None
    depends: list[Scalar]
    hooks: list[DeclaredHook]


def read_nodes(source: Source, node: Node, *, declared_in: str) -> list[DeclaredNode]:
    """Every node of the section, faulty ones included; every fault is reported."""
    declared = []
    seen: dict[str, Scalar] = {}
    for key, body in _keyed(source, node):
        _check_id(source, key, seen)
        declared.append(_read_node(source, key, body, declared_in))
    return declared


def _keyed(source: Source, node: Node) -> Iterator[tuple[Scalar, Node]]:
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield entry.key, entry.value
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _keyed_item(source, item)
    else:
        source.report(node, f"`nodes` must be a mapping of ids to nodes, but is {describe(node)}")


def _keyed_item(source: Source, item: Node) -> Iterator[tuple[Scalar, Node]]:
    """A node of the list form: its id stands inside."""
    if not isinstance(item, Mapping):
        source.report(item, f"a node must be a mapping, but is {describe(item)}", "write {id: name, …}")
        return
    ids = [entry for entry in item.entries if entry.key.text in ("id", "node_id", "nodeId")]
    if not ids or not isinstance(ids[0].value, Scalar):
        source.report(item, "a node in a list needs an `id`", "add `id: name`")
        return
    yield ids[0].value, Mapping(item.start, [entry for entry in item.entries if entry is not ids[0]])


def _check_id(source: Source, key: Scalar, seen: dict[str, Scalar]) -> None:
    if not NODE_ID.match(key.text):
        source.report(
            key,
            f"{key.text!r} is not a node id" if key.text else "a node id is empty",
            "use up to 64 letters, digits, `_`, `-` and `.`, not beginning with a dot",
        )
    elif key.text.split(".", 1)[0] in RESERVED_ROOTS:
        word = key.text.split(".", 1)[0]
        source.report(key, f"the node id `{key.text}` hides `${{{word}}}` in references", "rename the node")
    first = seen.setdefault(key.text, key)
    if first is not key:
        source.report(
            key,
            f"duplicate node id `{key.text}`; the first one is at {source.place(first.start)}",
            "rename one of the two",
        )


def _read_node(source: Source, key: Scalar, body: Node, declared_in: str) -> DeclaredNode:
    label = f"the node `{key.text}`"
    type_ = _read_type(source, key, body, label)
    if type_ is None or type_ in _LATER_TYPES:
        return DeclaredNode(key.text, key.start, None, None, [], [])
    fields = read_fields(source, body, _KEYS[type_], label)
    assert fields is not None, "_read_type has seen that the body is a mapping"
    before = len(source.problems)
    hooks_node = fields.value("hooks")
    hooks = (
        read_hooks(source, hooks_node, origin="node", declared_in=declared_in, node_id=key.text)
        if hooks_node is not None
        else []
    )
    depends = _read_depends(fields)
    common = {"id": key.text, "depends": list(dict.fromkeys(d.text for d in depends)), **_read_common(fields)}
    own = _read_agent_step(fields, key) if type_ == "subagent" else _read_executor_call(fields, key)
    node: WorkflowNode | None = None
    if len(source.problems) == before:
        node = SubagentNode(**common, **own) if type_ == "subagent" else HostExecutorNode(**common, **own)
    return DeclaredNode(key.text, key.start, fields, node, depends, hooks)


def _read_type(source: Source, key: Scalar, body: Node, label: str) -> str | None:
    """The type of a node, written or told by its keys; a type that is not supported yet is reported once."""
    if not isinstance(body, Mapping):
        source.report(body, f"{label} must be a mapping, but is {describe(body)}")
        return None
    present = {_EVERY_KEY.canonical(entry.key.text): entry for entry in body.entries}
    written = present.get("type")
    if written is None:
        found = [type_ for type_, mark in _TYPES.items() if mark in present]
        if not found:
            _report_untyped(source, key, body, label)
            return None
        if "loop" in found:
            source.report(present["body"].key, "loops (`body`) are not supported yet", f"remove {label}")
            return "loop"
        return found[0]
    text = written.value.text if isinstance(written.value, Scalar) else ""
    snake = {"hostExecutor": "host_executor", "subAgent": "subagent"}.get(text, text)
    if snake in _TYPES and snake not in _LATER_TYPES:
        return snake
    return read_choice(source, written.value, f"{label}: `type`", ("subagent", "host_executor"), later=_LATER_TYPES)


def _report_untyped(source: Source, key: Scalar, body: Mapping, label: str) -> None:
    """Without a type it is not known which keys belong here; but one that says what was meant is worth a word."""
    source.report(key, f"{label} has neither `agent` nor `executor`", "add `agent: NAME` or `executor: shell`")
    for entry in body.entries:
        word = _EVERY_KEY.canonical(entry.key.text)
        if word in _EVERY_KEY.later:
            source.report(entry.key, f"`{entry.key.text}` is not supported yet", f"remove it from {label}")
        elif word not in _EVERY_KEY.supported and (fix := likeliest(entry.key.text, _EVERY_KEY)) is not None:
            source.report(entry.key, f"unknown key `{entry.key.text}` in {label}", fix)


def _read_depends(fields: Fields) -> list[Scalar]:
    node = fields.value("depends")
    if node is None:
        return []
    if not isinstance(node, Sequence):
        written = node.text if isinstance(node, Scalar) and node.text else "a, b"
        fields.source.report(
            node, f"`depends` must be a list of node ids, but is {describe(node)}", f"write [{written}]"
        )
        return []
    texts = read_texts(fields.source, node, "`depends`", empty=True)
    return [item for item in node.items if isinstance(item, Scalar)] if texts is not None else []


def _read_common(fields: Fields) -> dict[str, Any]:
    source = fields.source
    found: dict[str, Any] = {"timeout_ms": read_duration(fields, "timeout")}
    if (node := fields.value("output_schema")) is not None:
        found["output_schema"] = read_output_schema(source, node)
    if (node := fields.value("max_output_bytes")) is not None:
        found["max_output_bytes"] = read_int(source, node, "`max_output_bytes`", least=1, most=_MOST_OUTPUT)
    if (node := fields.value("metadata")) is not None:
        found["metadata"] = read_object(source, node, "`metadata`") or {}
    if (node := fields.value("description")) is not None:
        found["description"] = read_text(source, node, "`description`", blank=True)
    return found


def _read_agent_step(fields: Fields, key: Scalar) -> dict[str, Any]:
    source = fields.source
    found: dict[str, Any] = {}
    if (node := fields.require("agent", "add `agent: NAME`", at=key.start)) is not None:
        found["agent"] = read_text(source, node, f"{fields.label}: `agent`")
    if (node := fields.require("prompt", "add `prompt:` with what to ask", at=key.start)) is not None:
        found["prompt"] = read_text(source, node, f"{fields.label}: `prompt`")
    if (node := fields.value("model_options")) is not None:
        found["model_options"] = read_object(source, node, "`model_options`") or {}
    return found


def _read_executor_call(fields: Fields, key: Scalar) -> dict[str, Any]:
    source = fields.source
    found: dict[str, Any] = {}
    executor = fields.require("executor", "add `executor: shell`", at=key.start)
    if executor is not None:
        found["executor"] = read_choice(
            source, executor, f"{fields.label}: `executor`", EXECUTORS, later=LATER_EXECUTORS
        )
    if (
        node := fields.require("input", "add `input:`, such as input: {argv: [echo, hello]}", at=key.start)
    ) is not None:
        if found.get("executor") is not None:
            found["input"] = read_input(source, node, found["executor"])
        elif not isinstance(node, Mapping):
            source.report(node, f"`input` must be a mapping, but is {describe(node)}")
    if (node := fields.value("read_only")) is not None:
        found["read_only"] = read_bool(source, node, "`read_only`") or False
    return found
