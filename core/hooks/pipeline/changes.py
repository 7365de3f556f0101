"""What a hook gives back for fields of the payload, held against the class of the hook point.

A change is taken whole or not at all. Values are copied into plain JSON first: what a hook keeps a reference to and
changes later must not change what is in force.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hooks.definition.output_schema import why_no_schema
from hooks.errors import JsonBorderError
from hooks.jsonio import canonical, check
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.hook_points import HOOK_POINTS, to_document
from hooks.pipeline.payload_base import HookPayload
from hooks.pipeline.verdicts import HookFault

_MOST_PROBLEMS = 3
# Beside the names of fields pydantic has those of the types it has tried: `function-after[freeze(), dict[str,any]]`.
_NAME = re.compile(r"(?!bool$)[a-z_][a-z0-9_]*")


def checked_changes(
    document: PayloadDocument, fields: Mapping[str, Any], accepts: Callable[[str, Json], str | None]
) -> dict[str, Json]:
    """The fields whose value differs from the one in `document`, as plain JSON. Raises HookFault with what is wrong."""
    point = HOOK_POINTS[document["hook"]]
    for name in fields:
        _check_writable(point, document, name)
    given = {name: _plain(name, value) for name, value in fields.items()}
    try:
        changed = to_document(point.model_validate({**document, **given}))
    except ValidationError as error:
        raise HookFault(_explain(error)) from error
    changes = {name: changed[name] for name in fields if canonical(changed[name]) != canonical(document[name])}
    for name, value in changes.items():
        if reason := point.why_not_changed(document, name, value):
            raise HookFault(f"{name!r} cannot be changed so: {reason}")
        _check_use(name, value, accepts)
    return changes


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A suggestion to append to a message, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _check_writable(point: type[HookPayload], document: PayloadDocument, name: str) -> None:
    writable = point.writable_fields()
    if name in writable:
        if reason := point.why_not_writable(document):
            raise HookFault(f"{name!r} cannot be changed: {reason}")
        return
    if name in point.model_fields:
        which = f"writable are {', '.join(writable)}" if writable else "no field is"
        raise HookFault(f"{name!r} is not writable at {point.point}; {which}")
    raise HookFault(f"{point.point} has no field {name!r}{did_you_mean(name, writable or point.model_fields)}")


def _plain(name: str, value: Any) -> Json:
    """A copy of the value in plain JSON; a pydantic model or (for `format`) model class becomes what it stands for."""
    try:
        plain = _copied(value)
        check(plain)
    except (JsonBorderError, RecursionError) as error:
        raise HookFault(f"{name!r} has a value of a wrong type: {error}") from error
    return plain


def _copied(value: Any) -> Json:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    if isinstance(value, dict):
        return {key: _copied(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_copied(child) for child in value]
    return value


def _check_use(name: str, value: Json, accepts: Callable[[str, Json], str | None]) -> None:
    if name == "format" and value is not None and (reason := why_no_schema(value)):
        raise HookFault(f"'format' is no JSON Schema: {reason}")
    if reason := accepts(name, value):
        raise HookFault(f"{name!r} cannot be used: {reason}")


def _explain(error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    shown = "; ".join(map(_explain_one, problems[:_MOST_PROBLEMS]))
    more = len(problems) - _MOST_PROBLEMS
    return f"{shown}; and {more} more" if more > 0 else shown


def _explain_one(problem: ErrorDetails) -> str:
    field, *steps = problem["loc"]
    inside = [step for step in steps if isinstance(step, int) or _NAME.fullmatch(step)]
    where = f"{field!r}" + (f" at {'.'.join(map(str, inside))}" if inside else "")
    value = repr(problem["input"])
    shown = value if len(value) <= 80 else f"{value[:80]}…"
    return f"{where} has a value of a wrong type: {problem['msg']}, not {shown}"
