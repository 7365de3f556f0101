"""Templates: values in which text may hold references, and how they are bound.

A string that is exactly one reference becomes the value it names, type and all; in any other string a reference
becomes text (strings as they are, other values as compact JSON, nothing for what a previous round does not have).
`{"$ref": path, "default": value}` names a value where no string fits. What was bound is data and is never looked at
for references again; keys of objects are never templates.

Templates come from checked definitions, whose depth is bounded (definition/source.py): plain recursion is safe here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeGuard

from hooks.expressions.references import (
    BadReferenceError,
    MissingValueError,
    PreviousReference,
    Reference,
    parse_reference,
)
from hooks.jsonio import canonical

Json: TypeAlias = Any

# Bounded, so that a text full of unclosed `${` costs no quadratic time.
_MARK = re.compile(r"\$\$\{|\$\{(?P<path>[^{}]{0,1000})\}|\$\{")


class Scope(Protocol):
    """Where references find their values."""

    @property
    def node_ids(self) -> Collection[str]:
        """The ids of all nodes of the workflow."""

    def lookup(self, reference: Reference) -> Json:
        """The value of `reference`. Raises UnresolvedReferenceError."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A reference as it stands in a string: the path, and the ordinal of its `${` among those of the string."""

    path: str
    ordinal: int


def parse_template(text: str) -> list[str | Placeholder]:
    """The pieces of a template string, `$${` made literal. Raises BadReferenceError where a `${` is not closed."""
    if "${" not in text:
        return [text]
    pieces: list[str | Placeholder] = []
    end = 0
    for ordinal, match in enumerate(_MARK.finditer(text)):
        if match.start() > end:
            pieces.append(text[end : match.start()])
        end = match.end()
        path = match["path"]
        if match.group() == "$${":
            pieces.append("${")
        elif path is None:
            raise BadReferenceError(
                f"`{text[match.start() : match.start() + 20]}`: the reference is not closed",
                fix="close it with `}`, or write `$${` for a literal `${`",
            )
        else:
            pieces.append(Placeholder(path, ordinal))
    if end < len(text):
        pieces.append(text[end:])
    return pieces


def escape(text: str) -> str:
    """The template that binds to exactly `text`."""
    return text.replace("${", "$${")


def mark_offsets(text: str) -> list[int]:
    """Where each `${` or `$${` of a template's source text begins; Placeholder.ordinal counts these."""
    return [match.start() for match in _MARK.finditer(text)]


def is_ref_object(value: Json) -> TypeGuard[Mapping[str, Json]]:
    """Whether `value` is the object form of a reference, `{"$ref": path}`."""
    return isinstance(value, Mapping) and "$ref" in value


def is_one_reference(text: str) -> bool:
    """Whether the string is exactly one reference and so keeps the type of what it names."""
    if not text.startswith("${"):
        return False
    match = _MARK.fullmatch(text)
    return match is not None and match["path"] is not None


def references_in(value: Json, node_ids: Collection[str]) -> list[Reference]:
    """Every reference in a template, in the order in which it is written. Raises BadReferenceError."""
    found: list[Reference] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found += [parse_reference(p.path, node_ids) for p in parse_template(item) if isinstance(p, Placeholder)]
        elif is_ref_object(item):
            found.append(parse_reference(item["$ref"], node_ids))
        elif isinstance(item, Mapping):
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            pending.extend(reversed(item))
    return found


def bind(value: Json, scope: Scope) -> Json:
    """The template with every reference replaced by what it names. Raises UnresolvedReferenceError."""
    if isinstance(value, str):
        return _bind_string(value, scope)
    if is_ref_object(value):
        return _bind_ref_object(value, scope)
    if isinstance(value, Mapping):
        return {key: bind(item, scope) for key, item in value.items()}
    if isinstance(value, list):
        return [bind(item, scope) for item in value]
    return value


def bind_text(value: Json, scope: Scope) -> str:
    """The template as text, for places that hold nothing else. Raises UnresolvedReferenceError."""
    if isinstance(value, str):
        return "".join(
            piece if isinstance(piece, str) else text_of(piece.path, scope) for piece in parse_template(value)
        )
    if is_ref_object(value) and "default" not in value:
        return text_of(value["$ref"], scope)
    return as_text(bind(value, scope))


def bind_word(value: Json, scope: Scope) -> Json:
    """An element of a command's argv: bound like any value, but empty text for what a previous round does not have."""
    bound = bind(value, scope)
    return "" if bound is None and bind_text(value, scope) == "" else bound


def text_of(path: str, scope: Scope) -> str:
    """What a reference becomes within a text. Raises UnresolvedReferenceError."""
    reference = parse_reference(path, scope.node_ids)
    value = scope.lookup(reference)
    # In a loop's first round there is no round before: a prompt is to say nothing then, and not "null".
    return "" if value is None and isinstance(reference, PreviousReference) else as_text(value)


def as_text(value: Json) -> str:
    """A string as it is, another value as compact JSON."""
    return value if isinstance(value, str) else canonical(value).decode()


def _bind_string(text: str, scope: Scope) -> Json:
    pieces = parse_template(text)
    if len(pieces) == 1 and isinstance(pieces[0], Placeholder):
        return _value_of(pieces[0].path, scope)
    return bind_text(text, scope)


def _bind_ref_object(ref: Mapping[str, Json], scope: Scope) -> Json:
    reference = parse_reference(ref["$ref"], scope.node_ids)
    try:
        value = scope.lookup(reference)
    except MissingValueError:
        if "default" not in ref:
            raise
        return ref["default"]
    return ref.get("default") if value is None and isinstance(reference, PreviousReference) else value


def _value_of(path: str, scope: Scope) -> Json:
    return scope.lookup(parse_reference(path, scope.node_ids))
