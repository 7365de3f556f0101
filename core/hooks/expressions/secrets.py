"""Secrets: values that must not be written down, named where they belong and put in at the last moment.

Binding replaces a string that mentions `${secrets.NAME}` by `{"$secret": "Bearer ${NAME}"}` and reports where: a JSON
pointer (RFC 6901). Only the places so reported are ever filled, so bound data that happens to look the same stays data.
In the text of such an object a `${NAME}` is the secret, `$${` a literal `${`, and `${$}` the dollar sign that would
otherwise touch the mark behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hooks.expressions.references import Reference, SecretReference, parse_reference
from hooks.expressions.templates import (
    Placeholder,
    Scope,
    bind,
    escape,
    is_ref_object,
    parse_template,
    text_of,
)

Json: TypeAlias = Any
Binder: TypeAlias = Callable[[Json, Scope], Json]

SECRET = "$secret"
_MARK = re.compile(r"(?P<escaped>\$\$\{)|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*|\$)\}")
_DOLLARS_AT_END = re.compile(r"\$+\Z")


class MissingSecretError(Exception):
    """The environment does not have the secret. It may have it later: nothing was done with the value left out."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The environment variable {name}, which holds a secret, is not set.")
        self.name = name


@dataclass(frozen=True, slots=True)
class BoundInput:
    """A bound value without its secrets, and the JSON pointers of the places where they belong."""

    input: Json
    secret_pointers: tuple[str, ...] = ()


def bind_around_secrets(template: Json, scope: Scope, leaf: Binder = bind) -> BoundInput:
    """The template with its values bound by `leaf`, and a `$secret` object for each string that mentions a secret.

    Raises UnresolvedReferenceError. Needs no secret's value.
    """
    pointers: list[str] = []
    bound = _bind(template, scope, leaf, "", pointers)
    return BoundInput(bound, tuple(pointers))


def mentions_secret(template: Json, node_ids: Collection[str]) -> bool:
    """Whether this string, or `$ref` object, names a secret."""
    return any(isinstance(reference, SecretReference) for reference in _references_of(template, node_ids))


def pointer_to(parent: str, step: str | int) -> str:
    """The JSON pointer of a part of what `parent` points to."""
    return f"{parent}/{str(step).replace('~', '~0').replace('/', '~1')}"


def fill_secrets(value: Json, pointers: Sequence[str], environ: Mapping[str, str]) -> Json:
    """`value` with the secrets of `environ` at the places `pointers` name; `value` itself is left as it is.

    Raises MissingSecretError, and ValueError if a pointer leads to something else than a secret's place.
    """
    for pointer in pointers:
        value = _filled(value, _steps(pointer), pointer, environ)
    return value


def secrets_named(value: Json, pointers: Sequence[str]) -> list[str]:
    """The names of the secrets that `fill_secrets` would ask for, each once. Raises ValueError like it."""
    names: dict[str, None] = {}
    for pointer in pointers:
        place = value
        for step in _steps(pointer):
            place = _part(place, step, pointer)
        for mark in _MARK.finditer(_marked_text(place, pointer)):
            if mark["name"] not in (None, "$"):
                names[mark["name"]] = None
    return list(names)


def _bind(template: Json, scope: Scope, leaf: Binder, pointer: str, pointers: list[str]) -> Json:
    if mentions_secret(template, scope.node_ids):
        pointers.append(pointer)
        return {SECRET: _with_marks(template, scope)}
    if isinstance(template, Mapping) and not is_ref_object(template):
        return {key: _bind(item, scope, leaf, pointer_to(pointer, key), pointers) for key, item in template.items()}
    if isinstance(template, list):
        return [_bind(item, scope, leaf, pointer_to(pointer, index), pointers) for index, item in enumerate(template)]
    return leaf(template, scope)


def _references_of(template: Json, node_ids: Collection[str]) -> Iterator[Reference]:
    if isinstance(template, str):
        if "secrets" in template:
            yield from (
                parse_reference(piece.path, node_ids)
                for piece in parse_template(template)
                if isinstance(piece, Placeholder)
            )
    elif is_ref_object(template):
        yield parse_reference(template["$ref"], node_ids)


def _with_marks(template: Json, scope: Scope) -> str:
    """The text with a mark for each secret; what stands between two marks is escaped as a whole."""
    pieces = parse_template(template) if isinstance(template, str) else [Placeholder(template["$ref"], 0)]
    done: list[str] = []
    plain = ""
    for piece in pieces:
        reference = parse_reference(piece.path, scope.node_ids) if isinstance(piece, Placeholder) else None
        if isinstance(reference, SecretReference):
            done += [_escape_before_mark(plain), f"${{{reference.name}}}"]
            plain = ""
        else:
            plain += piece if isinstance(piece, str) else text_of(piece.path, scope)
    return "".join([*done, escape(plain)])


def _escape_before_mark(text: str) -> str:
    return _DOLLARS_AT_END.sub(lambda dollars: "${$}" * len(dollars.group()), escape(text))


def _filled(value: Json, steps: Sequence[str], pointer: str, environ: Mapping[str, str]) -> Json:
    if not steps:
        return _MARK.sub(lambda mark: _secret(mark, environ), _marked_text(value, pointer))
    part = _filled(_part(value, steps[0], pointer), steps[1:], pointer, environ)
    if isinstance(value, list):
        position = int(steps[0])
        return [*value[:position], part, *value[position + 1 :]]
    return {**value, steps[0]: part}


def _secret(mark: re.Match[str], environ: Mapping[str, str]) -> str:
    name = mark["name"]
    if mark["escaped"]:
        return "${"
    if name == "$":
        return "$"
    if name not in environ:
        raise MissingSecretError(name)
    return environ[name]


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _part(value: Json, step: str, pointer: str) -> Json:
    try:
        return value[int(step)] if isinstance(value, list) else value[step]
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"`{pointer}` leads nowhere") from error


def _marked_text(value: Json, pointer: str) -> str:
    text = value[SECRET] if isinstance(value, dict) and value.keys() == {SECRET} else None
    if not isinstance(text, str):
        raise ValueError(f"at `{pointer}` no secret belongs")
    return text
