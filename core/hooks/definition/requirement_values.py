"""Requirements and sampling as JSON: how the log keeps them, and how hooks see and give them.

A requirement is {name, origin, reason, weight} and its one check key. What a hook gives may have every other key too,
null where it does not apply; such a null says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from hooks.definition.model import Requirement, Sampling

Json: TypeAlias = Any

CHECK_KEYS = ("check", "schema", "regex", "command", "python", "judge", "kind")
"""What a requirement checks by: exactly one of them."""

_EVERY = ("name", "origin", "reason", "weight")


OUTPUT_SCHEMA = "output_schema"
"""Name and origin of the implicit requirement, which no other one may have."""


def output_schema_requirement(schema: Json) -> Requirement:
    """The implicit requirement of a step with an output_schema, always its first."""
    return Requirement(name=OUTPUT_SCHEMA, origin=OUTPUT_SCHEMA, schema=schema)


def requirement_to_json(requirement: Requirement) -> dict[str, Json]:
    check = check_key(requirement)
    keys = (*_EVERY, check, "settings") if check == "kind" else (*_EVERY, check)
    found = {key: getattr(requirement, key) for key in keys}
    if requirement.judge is not None:
        found["judge"] = msgspec.structs.asdict(requirement.judge)
    return found


def requirement_from_json(value: Mapping[str, Json]) -> Requirement:
    """The requirement; without an `origin` it is a hook's. Raises msgspec.ValidationError, also without one check."""
    requirement = msgspec.convert({"origin": "hook", **without_nulls(value)}, Requirement)
    given = [key for key in CHECK_KEYS if getattr(requirement, key) is not None]
    if len(given) != 1:
        raise msgspec.ValidationError(f"a requirement has exactly one of {', '.join(CHECK_KEYS)}, not {given}")
    return requirement


def check_key(requirement: Requirement) -> str:
    """Which of CHECK_KEYS it checks by."""
    return next(key for key in CHECK_KEYS if getattr(requirement, key) is not None)


def sampling_to_json(sampling: Sampling) -> dict[str, Json]:
    """All keys, defaults too."""
    return msgspec.structs.asdict(sampling)


def sampling_from_json(value: Mapping[str, Json]) -> Sampling:
    """Raises msgspec.ValidationError."""
    return msgspec.convert(without_nulls(value), Sampling)


def without_nulls(value: Mapping[str, Json]) -> dict[str, Json]:
    """A copy in plain lists and mappings (a hook's values are frozen), without the keys that are null."""
    return {key: _plain(item) for key, item in value.items() if item is not None}


def _plain(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
