"""The `params:` section of a workflow: what a run may be given."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from hooks.definition.fields import Fields, Keys, describe, read_fields
from hooks.definition.model import Param
from hooks.definition.param_values import ParamValueError, value_from_node
from hooks.definition.tree import Entry, Mapping, Node, Scalar, Sequence, Source
from hooks.definition.values import read_bool, read_choice, read_text

_KEYS = Keys(
    "a param",
    frozenset({"type", "required", "default", "format", "min", "max", "enum", "description"}),
    elsewhere={"secret": "a secret is never a param: it comes from the environment of the step that needs it"},
)
_TYPES = ("string", "number", "integer", "boolean", "object", "array")
_FORMATS = ("date", "date-time", "email")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")


def environment_name(param: str) -> str:
    """The variable that gives a param: HOOKS_PARAM_<NAME>."""
    return "HOOKS_PARAM_" + re.sub(r"[^A-Z0-9]", "_", param.upper())


def read_params(source: Source, node: Node) -> list[Param]:
    """The params that are declared without fault; every fault is reported."""
    if not isinstance(node, Mapping):
        source.report(node, f"`params` must be a mapping of names to declarations, but is {describe(node)}")
        return []
    params = []
    variables: dict[str, str] = {}
    for entry in node.entries:
        name = entry.key.text
        if not _NAME.match(name):
            source.report(
                entry.key, f"{name!r} is no name for a param", "begin with a letter; use letters, digits, `_`, `-`"
            )
        first = variables.setdefault(environment_name(name), name)
        if first != name:
            source.report(
                entry.key, f"the params `{first}` and `{name}` would share {environment_name(name)}", "rename one"
            )
        param = _read_param(source, entry)
        if param is not None:
            params.append(param)
    return params


def _read_param(source: Source, entry: Entry) -> Param | None:
    name = entry.key.text
    label = f"the param `{name}`"
    fields = read_fields(source, entry.value, _KEYS, label)
    if fields is None:
        return None
    known: dict[str, Any] = {"name": name}
    if (node := fields.value("type")) is not None:
        known["type"] = read_choice(source, node, f"{label}: `type`", _TYPES)
        if known["type"] is None:
            # Without a type no other rule can be judged; the param still exists for references.
            return Param(name=name)
    if (node := fields.value("required")) is not None:
        known["required"] = read_bool(source, node, f"{label}: `required`") or False
    if (node := fields.value("description")) is not None:
        known["description"] = read_text(source, node, f"{label}: `description`")
    bare = Param(**known)
    return _with_default(fields, _with_enum(fields, _with_bounds(fields, _with_format(fields, bare))))


def _with_format(fields: Fields, param: Param) -> Param:
    node = fields.value("format")
    if node is None:
        return param
    if param.type != "string":
        _report_unfit(fields, "format", param, "a string")
        return param
    return msgspec.structs.replace(param, format=read_choice(fields.source, node, "`format`", _FORMATS))


def _with_bounds(fields: Fields, param: Param) -> Param:
    bounds: dict[str, Any] = {}
    for name in ("min", "max"):
        node = fields.value(name)
        if node is None:
            continue
        if param.type not in ("number", "integer"):
            _report_unfit(fields, name, param, "a number or an integer")
        elif isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            bounds[name] = node.value
        else:
            fields.source.report(node, f"`{name}` must be a number, but is {describe(node)}")
    if len(bounds) == 2 and bounds["min"] > bounds["max"]:
        fields.source.report(
            fields.key_place("max"), f"`max` {bounds['max']} is less than `min` {bounds['min']}", "swap them"
        )
        return param
    return msgspec.structs.replace(param, **bounds)


def _with_enum(fields: Fields, param: Param) -> Param:
    node = fields.value("enum")
    if node is None:
        return param
    if not isinstance(node, Sequence) or not node.items:
        fields.source.report(node, f"`enum` must be a list of values, but is {describe(node)}", "write [a, b]")
        return param
    values = [_checked(fields, f"`enum[{index}]`", param, item) for index, item in enumerate(node.items)]
    if any(value is msgspec.UNSET for value in values):
        return param
    return msgspec.structs.replace(param, enum=values)


def _with_default(fields: Fields, param: Param) -> Param:
    node = fields.value("default")
    if node is None:
        return param
    return msgspec.structs.replace(param, default=_checked(fields, f"the default of `{param.name}`", param, node))


def _checked(fields: Fields, what: str, param: Param, node: Node) -> Any:
    try:
        return value_from_node(param, node)
    except ParamValueError as error:
        fields.source.report(node, f"{what} {error.message}", error.fix)
        return msgspec.UNSET


def _report_unfit(fields: Fields, key: str, param: Param, fit: str) -> None:
    fields.source.report(
        fields.key_place(key), f"`{key}` does not fit the type {param.type} of `{param.name}`", f"it goes with {fit}"
    )
