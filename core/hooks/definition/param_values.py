"""One param's value: from text or from a file to its declared type, and the rules it has to keep.

The same value results whichever way it comes: text from the command line and plain scalars of a file go through the
same scalar rules, and a number in a file counts as it is written where the param is a string.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any, TypeAlias

from hooks.definition.model import Param, ParamType
from hooks.definition.scalars import ScalarError, resolve_plain
from hooks.definition.source import read_source
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, to_value
from hooks.errors import DefinitionError, JsonBorderError
from hooks.jsonio import canonical, check

Json: TypeAlias = Any

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[-+][0-9]{2}:[0-9]{2})\Z"
)
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+\Z")
_EXAMPLES = {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "email": "name@example.org"}
_SHOWN = 60


class ParamValueError(ValueError):
    """A value that a param cannot take; the message continues the param's name."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


def value_from_text(param: Param, text: str) -> Json:
    """The value that `text`, from a command line or an environment, has as this param. Raises ParamValueError."""
    match param.type:
        case "string":
            value: Json = text
        case "array" | "object":
            value = _parse_json(param.type, text)
        case "integer" | "number" | "boolean":
            value = _parse_scalar(text)
    return checked(param, value)


def value_from_node(param: Param, node: Node) -> Json:
    """The value that a file gives this param. Raises ParamValueError."""
    if param.type == "string" and isinstance(node, Scalar) and isinstance(node.value, int | float):
        return checked(param, node.value if isinstance(node.value, bool) else node.text)
    return checked(param, to_value(node))


def checked(param: Param, value: Json) -> Json:
    """`value`, if it has the declared type and keeps every rule of the declaration. Raises ParamValueError."""
    try:
        check(value)
    except JsonBorderError as error:
        raise ParamValueError(f"is no value that JSON can carry: {error}") from error
    if not has_type(value, param.type):
        raise ParamValueError(
            f"must be {_with_article(param.type)}, but is {_shown(value)}", _type_fix(param.type, value)
        )
    if param.format is not None and not has_format(value, param.format):
        raise ParamValueError(
            f"is {_shown(value)}, which is no {param.format}", f"write it like {_EXAMPLES[param.format]}"
        )
    if param.min is not None and value < param.min:
        raise ParamValueError(f"is {_shown(value)}", f"it must be at least {param.min}")
    if param.max is not None and value > param.max:
        raise ParamValueError(f"is {_shown(value)}", f"it must be at most {param.max}")
    if param.enum is not None and not any(same_json(value, allowed) for allowed in param.enum):
        raise ParamValueError(f"is {_shown(value)}", "it must be one of " + ", ".join(map(_shown, param.enum)))
    return value


def has_type(value: Json, type_: ParamType) -> bool:
    if isinstance(value, bool):
        return type_ == "boolean"
    types: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "object": dict,
        "array": list,
        "boolean": (),
    }
    return isinstance(value, types[type_])


def has_format(value: str, format_: str) -> bool:
    match format_:
        case "date":
            return bool(_DATE.match(value)) and _parses(date.fromisoformat, value)
        case "date-time":
            return bool(_DATE_TIME.match(value)) and _parses(datetime.fromisoformat, value.upper())
        case _:
            return bool(_EMAIL.match(value))


def same_json(one: Json, other: Json) -> bool:
    """Equality that tells true from 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def node_of_text(kind: str, text: str) -> Node:
    """The tree of a JSON text that has to be a list or an object. Raises ParamValueError."""
    try:
        source, node = read_source(text.encode(), "value.json")
        source.raise_problems()
    except UnicodeEncodeError as error:
        raise ParamValueError("is not Unicode text", "write it in UTF-8") from error
    except DefinitionError as error:
        raise ParamValueError(
            f"must be JSON, but {_shown(text)} is not: {error.problems[0].message}", _json_fix(kind)
        ) from error
    return node


def _parse_json(kind: str, text: str) -> Json:
    node = node_of_text(kind, text)
    if not isinstance(node, Sequence if kind == "array" else Mapping):
        raise ParamValueError(f"must be {_with_article(kind)}, but is {_shown(text)}", _json_fix(kind))
    return to_value(node)


def _parse_scalar(text: str) -> Json:
    try:
        return resolve_plain(text.strip())
    except ScalarError as error:
        raise ParamValueError(f"is refused: {error}") from error


def _parses(parse: Any, value: str) -> bool:
    try:
        parse(value)
    except ValueError:
        return False
    return True


def _with_article(type_: str) -> str:
    return f"an {type_}" if type_[0] in "aio" else f"a {type_}"


def _type_fix(type_: str, value: Json) -> str | None:
    match type_:
        case "string":
            return "put it in quotes"
        case "boolean":
            return "write true or false"
        case "integer":
            return "write a whole number"
        case "array" | "object":
            return _json_fix(type_)
        case _:
            return None


def _json_fix(type_: str) -> str:
    return """write JSON such as '["a", "b"]'""" if type_ == "array" else """write JSON such as '{"key": "value"}'"""


def _shown(value: Json) -> str:
    text = repr(value) if isinstance(value, str) else canonical(value).decode()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
