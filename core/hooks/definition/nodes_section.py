"""The `nodes:` section, as a map of ids or as a list of mappings with an `id`.

Each node is read by itself here, the body of a loop like any other. What concerns nodes together (dependencies, loops,
references, agents, globs of hooks) is checked when all are known; a `DeclaredNode` keeps the places that takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from hooks.definition.defaults_section import Defaults
from hooks.definition.executor_inputs import read_input
from hooks.definition.fields import Fields, describe, likeliest, read_fields
from hooks.definition.gate_section import read_gate
from hooks.definition.hooks_section import DeclaredHook, read_hooks
from hooks.definition.loop_fields import DeclaredLoop, read_loop
from hooks.definition.model import DecisionNode, HostExecutorNode, LoopNode, SubagentNode
from hooks.definition.model import Node as WorkflowNode
from hooks.definition.named_files import check_step_program
from hooks.definition.node_keys import EVERY_KEY, NODE_KEYS, NODE_TYPES, NodeType
from hooks.definition.requirements_section import read_requirements
from hooks.definition.sampling_section import read_sampling
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source
from hooks.definition.values import read_bool, read_choice, read_object, read_text, read_texts
from hooks.definition.work_fields import read_every, read_work
from hooks.expressions.references import RESERVED_ROOTS
from hooks.ids import NODE_ID

_MAKE: dict[NodeType, Callable[..., WorkflowNode]] = {
    "subagent": SubagentNode,
    "host_executor": HostExecutorNode,
    "loop": LoopNode,
    "decision": DecisionNode,
}


class DeclaredNode(msgspec.Struct, frozen=True):
    """A node as far as it could be read; `node` is None if it has a fault, its id and dependencies count even so.

    The `node` of a loop has no body yet; `loop` says what will stand in it.
    """

    id: str
    place: int
    type: NodeType | None = None
    fields: Fields | None = None
    node: WorkflowNode | None = None
    depends: list[Scalar] = []
    hooks: list[DeclaredHook] = []
    loop: DeclaredLoop | None = None

    def value(self, key: str) -> Node | None:
        """What the file has for a key of the node."""
        return self.fields.value(key) if self.fields is not None else None

    def word(self, key: str) -> str | None:
        """The same where it is a single word."""
        value = self.value(key)
        return value.text if isinstance(value, Scalar) else None


def read_nodes(source: Source, node: Node, *, declared_in: str, defaults: Defaults) -> list[DeclaredNode]:
    """Every node of the section, faulty ones included; every fault is reported."""
    declared = []
    seen: dict[str, Scalar] = {}
    for key, body in _keyed(source, node):
        _check_id(source, key, seen)
        declared.append(_read_node(source, key, body, declared_in, defaults))
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


def _read_node(source: Source, key: Scalar, body: Node, declared_in: str, defaults: Defaults) -> DeclaredNode:
    type_ = _read_type(source, key, body, f"the node `{key.text}`")
    if type_ is None:
        return DeclaredNode(key.text, key.start)
    fields = read_fields(source, body, NODE_KEYS[type_], f"the node `{key.text}`")
    assert fields is not None, "_read_type has seen that the body is a mapping"
    before = len(source.problems)
    hooks = _read_hooks(fields, key, declared_in)
    depends = _read_depends(fields)
    known = {"id": key.text, "depends": list(dict.fromkeys(d.text for d in depends)), **read_every(fields)}
    loop = None
    match type_:
        case "subagent":
            known |= read_work(fields, defaults) | _read_agent_step(fields, key)
        case "host_executor":
            known |= read_work(fields, defaults) | _read_executor_call(fields, key)
        case "loop":
            loop, own = read_loop(fields, key)
            known |= own
        case "decision":
            known |= _read_decision(fields, key, depends)
    node = _MAKE[type_](**known) if len(source.problems) == before else None
    return DeclaredNode(key.text, key.start, type_, fields, node, depends, hooks, loop)


def _read_type(source: Source, key: Scalar, body: Node, label: str) -> NodeType | None:
    """The type of a node, written or told by its keys."""
    if not isinstance(body, Mapping):
        source.report(body, f"{label} must be a mapping, but is {describe(body)}")
        return None
    present = {EVERY_KEY.canonical(entry.key.text): entry for entry in body.entries}
    written = present.get("type")
    if written is not None:
        return _written_type(source, written.value, label)
    for type_, mark in NODE_TYPES.items():
        if mark in present:
            return type_
    _report_untyped(source, key, body, label)
    return None


def _written_type(source: Source, node: Node, label: str) -> NodeType | None:
    text = node.text if isinstance(node, Scalar) else ""
    snake = {"hostExecutor": "host_executor", "subAgent": "subagent"}.get(text, text)
    for type_ in NODE_TYPES:
        if snake == type_:
            return type_
    read_choice(source, node, f"{label}: `type`", NODE_TYPES)
    return None


def _read_hooks(fields: Fields, key: Scalar, declared_in: str) -> list[DeclaredHook]:
    node = fields.value("hooks")
    if node is None:
        return []
    return read_hooks(fields.source, node, origin="node", declared_in=declared_in, node_id=key.text)


def _report_untyped(source: Source, key: Scalar, body: Mapping, label: str) -> None:
    """Without a type it is not known which keys belong here; but one that says what was meant is worth a word."""
    words = [EVERY_KEY.canonical(entry.key.text) for entry in body.entries]
    fix = "add `type: decision`" if "human_gate" in words else "add `agent: NAME` or `executor: shell`"
    source.report(key, f"{label} has neither `agent` nor `executor`", fix)
    for word, entry in zip(words, body.entries, strict=True):
        if word not in EVERY_KEY.supported and (meant := likeliest(entry.key.text, EVERY_KEY)) is not None:
            source.report(entry.key, f"unknown key `{entry.key.text}` in {label}", meant)


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


def _read_agent_step(fields: Fields, key: Scalar) -> dict[str, Any]:
    source = fields.source
    found: dict[str, Any] = {}
    if (node := fields.require("agent", "add `agent: NAME`", at=key.start)) is not None:
        found["agent"] = read_text(source, node, f"{fields.label}: `agent`")
    if (node := fields.require("prompt", "add `prompt:` with what to ask", at=key.start)) is not None:
        found["prompt"] = read_text(source, node, f"{fields.label}: `prompt`")
    if (node := fields.value("model_options")) is not None:
        found["model_options"] = read_object(source, node, "`model_options`") or {}
    if (node := fields.value("requirements")) is not None:
        found["requirements"] = read_requirements(source, node)
    if (node := fields.value("sampling")) is not None:
        found["sampling"] = read_sampling(source, node)
    if (node := fields.value("continue_from")) is not None:
        found["continue_from"] = read_text(source, node, "`continue_from`")
    if (node := fields.value("tool_calls_enabled")) is not None:
        found["tool_calls_enabled"] = read_bool(source, node, "`tool_calls_enabled`")
    return found


def _read_executor_call(fields: Fields, key: Scalar) -> dict[str, Any]:
    source = fields.source
    found: dict[str, Any] = {}
    executor = fields.require("executor", "add `executor: shell`", at=key.start)
    if executor is not None:
        found["executor"] = read_text(source, executor, f"{fields.label}: `executor`")
    input_ = fields.require("input", "add `input:`, such as input: {argv: [echo, hello]}", at=key.start)
    if input_ is not None:
        found["input"] = read_input(source, input_, found.get("executor") or "")
        if found.get("executor") == "shell":
            _check_programs(fields, input_)
    if (node := fields.value("read_only")) is not None:
        found["read_only"] = read_bool(source, node, "`read_only`") or False
    return found


def _check_programs(fields: Fields, input_: Node) -> None:
    """Look for the commands of a step, unless it sets what decides where they are looked for."""
    env = fields.value("env")
    if "cwd" in fields or (isinstance(env, Mapping) and env.get("PATH")):
        return
    for key in ("argv", "lookup"):
        words = input_.get(key) if isinstance(input_, Mapping) else None
        first = words.items[0] if isinstance(words, Sequence) and words.items else None
        if isinstance(first, Scalar) and first.text:
            check_step_program(fields.source, first, first.text)


def _read_decision(fields: Fields, key: Scalar, depends: list[Scalar]) -> dict[str, Any]:
    source = fields.source
    gate_node = fields.require("human_gate", "add `human_gate: {prompt: …}`: a person decides", at=key.start)
    gate = read_gate(source, gate_node, of="decision") if gate_node is not None else None
    if isinstance(gate_node, Scalar) and gate_node.value is False:
        source.report(gate_node, "a decision without a gate decides nothing", "write `human_gate: {prompt: …}`")
    if not depends:
        source.report(
            key, f"the decision `{key.text}` depends on nothing", "add `depends:` with the nodes of the body it judges"
        )
    return {"human_gate": gate}
