"""`output_schema`: checked to be a JSON Schema (2020-12) before anything relies on it."""

from __future__ import annotations

from typing import Any, TypeAlias

from hooks.definition.fields import describe
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source, to_value

Json: TypeAlias = Any

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def read_output_schema(source: Source, node: Node) -> Json | None:
    """The schema as JSON, or None if it is none; the fault is reported at its place inside the schema."""
    is_boolean = isinstance(node, Scalar) and isinstance(node.value, bool)
    if not isinstance(node, Mapping) and not is_boolean:
        source.report(
            node, f"`output_schema` must be a JSON Schema, but is {describe(node)}", "write {type: object, …}"
        )
        return None
    if not _is_of_known_dialect(source, node):
        return None
    import jsonschema_rs

    schema = to_value(node)
    try:
        jsonschema_rs.Draft202012Validator(schema, retriever=_refuse_remote)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        place = _inside(node, getattr(error, "instance_path", None) or [])
        source.report(
            place, f"`output_schema` is no JSON Schema: {_reason(error)}", "correct the schema (JSON Schema 2020-12)"
        )
        return None
    return schema


def why_no_schema(value: Json) -> str | None:
    """Why a value cannot be used as a JSON Schema; None if it can."""
    import jsonschema_rs

    try:
        jsonschema_rs.Draft202012Validator(value, retriever=_refuse_remote)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        return _reason(error)
    return None


def _is_of_known_dialect(source: Source, node: Node) -> bool:
    """Whether the schema says nothing else than 2020-12: another dialect would be read with other meanings."""
    declared = node.get("$schema") if isinstance(node, Mapping) else None
    if declared is None or str(to_value(declared)).removesuffix("#") == _DIALECT:
        return True
    source.report(declared, f"`$schema` is {describe(declared)}", f"remove it; a schema is read as {_DIALECT}")
    return False


def _refuse_remote(uri: str) -> Json:
    raise ValueError(f"`{uri}` is outside the schema; only references within it are followed")


def _reason(error: Exception) -> str:
    return str(getattr(error, "message", None) or error).splitlines()[0]


def _inside(node: Node, path: list[str | int]) -> Node:
    for step in path:
        following: Node | None = None
        if isinstance(node, Mapping):
            following = node.get(str(step))
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            following = node.items[step]
        if following is None:
            break
        node = following
    return node
