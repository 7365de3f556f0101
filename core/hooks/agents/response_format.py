"""An output schema as an OpenAI-compatible endpoint takes it.

`strict` makes an endpoint hold itself to the schema, and refuse one that says more than it can hold itself to. It is
asked for where the schema stays within what strict schemas may say; elsewhere the schema is only a hint.
"""

from __future__ import annotations

import re
from typing import Any

_OF_STRICT = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"),
        *("$defs", "$ref", "title", "description"),
    }
)
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def response_format(schema: Any) -> dict[str, Any] | None:
    """The `response_format` for a schema; true, or one that says nothing, stands for whatever JSON."""
    if schema is None or schema is False:
        return None
    if not isinstance(schema, dict) or not schema:
        return {"type": "json_object"}
    title = schema.get("title")
    name = _NOT_IN_NAME.sub("_", title)[:64].strip("_") if isinstance(title, str) else ""
    strict = schema.get("type") == "object" and is_strict(schema)
    return {"type": "json_schema", "json_schema": {"name": name or "answer", "schema": schema, "strict": strict}}


def is_strict(schema: Any) -> bool:
    """Whether every object of it is closed, and has all its properties required, and no other words are used."""
    if not isinstance(schema, dict) or not schema.keys() <= _OF_STRICT:
        return False
    properties = schema.get("properties", {})
    is_object = "properties" in schema or "object" in _listed(schema.get("type"))
    if is_object and not (
        isinstance(properties, dict)
        and schema.get("additionalProperties") is False
        and set(_listed(schema.get("required"))) == properties.keys()
    ):
        return False
    inner = [*properties.values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]
    if "items" in schema:
        inner.append(schema["items"])
    return all(map(is_strict, inner))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
