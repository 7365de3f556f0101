"""Whether what an element of argv refers to can be an argument: an argument is text, and an object or a list is none.

Only what the file itself says of a value counts: the type of a param, the output of an executor, the `type` that an
output_schema gives the place a path leads to. Where it says nothing, the step tells when it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hooks.definition.executor_inputs import OUTPUT_KEYS
from hooks.definition.fields import listed
from hooks.definition.model import Param
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.tree import Mapping as MappingNode
from hooks.definition.tree import Node, Scalar, Source, to_value
from hooks.definition.tree import Sequence as SequenceNode
from hooks.expressions.references import (
    BadReferenceError,
    OutputReference,
    ParamReference,
    Reference,
    Step,
    parse_reference,
)
from hooks.expressions.templates import Placeholder, parse_template

_PARTED = ("object", "array")


def check_argument_types(source: Source, nodes: Sequence[DeclaredNode], params: Mapping[str, Param]) -> None:
    """Report every element of argv that is one reference to an object or a list, if nothing else is wrong with it."""
    by_id = {node.id: node for node in nodes}
    for node in nodes:
        input_ = node.value("input")
        argv = input_.get("argv") if isinstance(input_, MappingNode) else None
        for item in argv.items if isinstance(argv, SequenceNode) else ():
            reference = _only_reference(item, by_id)
            if reference is None:
                continue
            type_, parts = _type_of(reference, by_id, params)
            assert isinstance(item, Scalar)
            if type_ in _PARTED and not any(item.start <= offset < item.end for offset, _ in source.problems):
                source.report(item, f"`{item.text}` is an {type_}, and an argument is text", _fix(item.text, parts))


def _only_reference(item: Node, node_ids: Collection[str]) -> Reference | None:
    if not isinstance(item, Scalar) or not isinstance(item.value, str) or "${" not in item.value:
        return None
    try:
        pieces = parse_template(item.value)
        if len(pieces) != 1 or not isinstance(pieces[0], Placeholder):
            return None  # inside other text any value becomes text
        return parse_reference(pieces[0].path, node_ids)
    except BadReferenceError:
        return None  # reported where references are checked


def _type_of(
    reference: Reference, nodes: Mapping[str, DeclaredNode], params: Mapping[str, Param]
) -> tuple[str | None, Collection[str]]:
    """The type the file gives a value, and the names of its parts as far as they are known."""
    match reference:
        case ParamReference(name=name, path=()) if name in params:
            return params[name].type, ()
        case OutputReference(node_id=node_id, path=path):
            return _type_of_output(nodes[node_id], path)
        case _:
            return None, ()


def _type_of_output(node: DeclaredNode, path: tuple[Step, ...]) -> tuple[str | None, Collection[str]]:
    if node.value("for_each") is not None:
        if not path:
            return "array", ()
        path = path[1:]
    keys = OUTPUT_KEYS.get(node.word("executor") or "")
    if keys is not None:
        return (None, ()) if path else ("object", keys)
    declared = node.value("output_schema")
    schema: Any = None if declared is None else to_value(declared)
    for step in path:
        below = "items" if isinstance(step, int) else "properties"
        schema = schema.get(below) if isinstance(schema, dict) else None
        if isinstance(step, str):
            schema = schema.get(step) if isinstance(schema, dict) else None
    if not isinstance(schema, dict):
        return None, ()
    type_, properties = schema.get("type"), schema.get("properties")
    return type_ if isinstance(type_, str) else None, list(properties) if isinstance(properties, dict) else ()


def _fix(written: str, parts: Collection[str]) -> str:
    has = f" (it has {listed(parts)})" if parts else ""
    return f'name a part of it{has}, or pass it as JSON through `stdin: "{written}"`'
