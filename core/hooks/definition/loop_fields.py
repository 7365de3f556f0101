"""The fields of a loop: its body by ids, how many rounds at most, what ends it, and which output is its own."""

from __future__ import annotations

from typing import Any

import msgspec

from hooks.definition.fields import Fields, Keys, describe, read_fields
from hooks.definition.tree import Node, Scalar, Sequence
from hooks.definition.values import read_bool, read_choice, read_int, read_texts

MOST_ITERATIONS = 10_000
_TERMINATE_KEYS = Keys("`terminate`", frozenset({"node", "via"}), synonyms={"node_id": "node"})
_OUTPUT_KEYS = Keys("the `output` of a loop", frozenset({"from"}))


class DeclaredLoop(msgspec.Struct, frozen=True):
    """What a loop names: the nodes of its body, the decision that ends it, and the node whose output is its own."""

    body: list[Scalar]
    decision: Scalar | None
    output_from: Scalar | None


def read_loop(fields: Fields, key: Scalar) -> tuple[DeclaredLoop, dict[str, Any]]:
    """The names, for checks across nodes, and the fields of the LoopNode, its body left empty."""
    source = fields.source
    loop = DeclaredLoop(_read_body(fields, key), _read_decision(fields, key), _read_output(fields))
    own: dict[str, Any] = {"body": [], "max_iterations": None}
    rounds = fields.require("max_iterations", "add `max_iterations: 5`: how many rounds at most", at=key.start)
    if rounds is not None:
        own["max_iterations"] = read_int(source, rounds, "`max_iterations`", least=1, most=MOST_ITERATIONS)
    if (node := fields.value("allow_failure")) is not None:
        own["allow_failure"] = read_bool(source, node, "`allow_failure`")
    own["decision"] = loop.decision.text if loop.decision is not None else None
    own["output_from"] = loop.output_from.text if loop.output_from is not None else None
    return loop, own


def _read_body(fields: Fields, key: Scalar) -> list[Scalar]:
    node = fields.require("body", "add `body: [draft, ok]` with the ids of its nodes", at=key.start)
    if node is None or read_texts(fields.source, node, "`body`") is None:
        return []
    assert isinstance(node, Sequence), "read_texts has seen a list"
    return [item for item in node.items if isinstance(item, Scalar)]


def _read_decision(fields: Fields, key: Scalar) -> Scalar | None:
    node = fields.require("terminate", "add `terminate: {node: ok, via: human_gate}`: what ends it", at=key.start)
    terminate = read_fields(fields.source, node, _TERMINATE_KEYS, "`terminate`") if node is not None else None
    if terminate is None:
        return None
    if (via := terminate.value("via")) is not None and not (isinstance(via, Scalar) and via.text == "humanGate"):
        read_choice(fields.source, via, "`terminate.via`", ("human_gate",))
    named = terminate.require("node", "add `node: ok`, the decision in the body")
    return _id(fields, named, "`terminate.node`") if named is not None else None


def _read_output(fields: Fields) -> Scalar | None:
    node = fields.value("output")
    output = read_fields(fields.source, node, _OUTPUT_KEYS, "the `output` of a loop") if node is not None else None
    named = output.require("from", "add `from: draft`, a node of the body") if output is not None else None
    return _id(fields, named, "`output.from`") if named is not None else None


def _id(fields: Fields, node: Node, what: str) -> Scalar | None:
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return node
    fields.source.report(node, f"{what} must be the id of a node, but is {describe(node)}")
    return None
