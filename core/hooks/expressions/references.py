"""References: the paths by which a workflow names a value, `${params.x}`, `${draft.output.title}`, `${run.id}`.

A reference is first only text between `${` and `}`. What it names depends on the node ids of the workflow, because
an id may itself hold dots: the longest known id that is followed by `.output`, `.status` or `.previous` is the one
meant. Parsed, it is one of a few small records; `follow` walks the rest of the path through a value. Whether a
reference may stand where it stands (an item outside a fan-out, a secret in a prompt) is not decided here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Json: TypeAlias = Any
Step: TypeAlias = str | int
"""One step of a path: a key of an object or an index of a list."""

RESERVED_ROOTS = frozenset({"params", "run", "item", "index", "secrets", "previous"})
"""First words of a reference that are no node; a node id may not begin with one of them."""
_NODE_FIELDS = ("output", "status", "previous")

_STEP = re.compile(r'\.(?P<key>[^\s.\[\]{}"]+)|\[(?P<index>[0-9]{1,9})\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]')
_ROOT = re.compile(r"[A-Za-z0-9_-]+")
_NODE_GUESS = re.compile(r"(?P<node>.+?)\.(?:output|status|previous)(?![A-Za-z0-9_-])")
_SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SHOWN_KEYS = 12

PreviousField: TypeAlias = Literal["output", "status", "comment"]


@dataclass(frozen=True, slots=True)
class ParamReference:
    name: str
    path: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputReference:
    node_id: str
    path: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusReference:
    node_id: str


@dataclass(frozen=True, slots=True)
class RunIdReference:
    pass


@dataclass(frozen=True, slots=True)
class ItemReference:
    """The item of the list that a fan-out is at, or a part of it."""

    path: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexReference:
    """The position of that item, from 0."""


@dataclass(frozen=True, slots=True)
class PreviousReference:
    """What a node of a loop's body was in the round before; only `output` has parts."""

    node_id: str
    field: PreviousField
    path: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class SecretReference:
    """An environment variable whose value is never written down."""

    name: str


Reference: TypeAlias = (
    ParamReference
    | OutputReference
    | StatusReference
    | RunIdReference
    | ItemReference
    | IndexReference
    | PreviousReference
    | SecretReference
)


class BadReferenceError(ValueError):
    """Text that is no reference, or one that names nothing known.

    `unknown_node` is the id that was probably meant for a node, so that a checker can look for a similar one.
    """

    def __init__(self, message: str, *, fix: str | None = None, unknown_node: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.unknown_node = unknown_node


class UnresolvedReferenceError(Exception):
    """A well-formed reference whose value cannot be had."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"`{path}` has no value: {reason}")
        self.path = path
        self.reason = reason


class MissingValueError(UnresolvedReferenceError):
    """The value is not there: a missing key or index, a param that was not given. Here a `default` steps in."""


def parse_reference(text: str, node_ids: Container[str]) -> Reference:
    """The reference written as `text` (without `${` and `}`). Raises BadReferenceError."""
    text = text.strip()
    root = _ROOT.match(text)
    if root and root.group() in RESERVED_ROOTS and text[root.end() : root.end() + 1] in ("", ".", "["):
        return _parse_reserved(root.group(), text)
    node_id = _longest_known_node(text, node_ids)
    if node_id is None:
        raise _unknown_node(text, node_ids)
    field, *path = _parse_path(text[len(node_id) :], text)
    if field == "output":
        return OutputReference(node_id, tuple(path))
    if field == "previous":
        return _parse_previous(node_id, path, text)
    if path:
        raise BadReferenceError(
            f"`${{{text}}}`: a status is text and has no parts", fix=f"write `${{{node_id}.status}}`"
        )
    return StatusReference(node_id)


def render_path(root: str, path: tuple[Step, ...]) -> str:
    """A path as a person would write it."""
    parts = [root]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _STEP.fullmatch(f".{step}"):
            parts.append(f".{step}")
        else:
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(parts)


def follow(value: Json, root: str, path: tuple[Step, ...]) -> Json:
    """The part of `value` that `path` leads to; `root` is what to call the value. Raises MissingValueError."""
    for position, step in enumerate(path):
        try:
            value = _part(value, step)
        except LookupError as error:
            reason = _why_missing(value, render_path(root, path[:position]), step)
            raise MissingValueError(render_path(root, path), reason) from error
    return value


def _part(value: Json, step: Step) -> Json:
    match value, step:
        case dict(), str():
            return value[step]
        case list(), int():
            return value[step]
        case _:
            raise LookupError(step)


def _parse_reserved(root: str, text: str) -> Reference:
    path = _parse_path(text[len(root) :], text)
    first, rest = (path[0], path[1:]) if path else (None, ())
    match root:
        case "run" if path == ("id",):
            return RunIdReference()
        case "run":
            raise BadReferenceError(f"`${{{text}}}`: of a run only `id` can be referred to", fix="write `${run.id}`")
        case "params" if isinstance(first, str):
            return ParamReference(first, rest)
        case "params":
            raise BadReferenceError(f"`${{{text}}}` names no param", fix="write `${params.NAME}`")
        case "item":
            return ItemReference(path)
        case "index" if not path:
            return IndexReference()
        case "index":
            raise BadReferenceError(f"`${{{text}}}`: an index is a number and has no parts", fix="write `${index}`")
        case "secrets" if isinstance(first, str) and not rest and _SECRET_NAME.match(first):
            return SecretReference(first)
        case "secrets":
            raise BadReferenceError(f"`${{{text}}}` names no secret", fix="write `${secrets.NAME}`")
        case _:
            raise BadReferenceError(
                f"`${{{text}}}` does not say of which node",
                fix="write `${NODE.previous.output}`, `.status` or `.comment`",
            )


def _parse_previous(node_id: str, path: Sequence[Step], text: str) -> PreviousReference:
    match path:
        case ["output", *parts]:
            return PreviousReference(node_id, "output", tuple(parts))
        case ["status" | "comment" as field]:
            return PreviousReference(node_id, field)
        case ["status" | "comment" as field, *_]:
            raise BadReferenceError(
                f"`${{{text}}}`: the {field} is text and has no parts", fix=f"write `${{{node_id}.previous.{field}}}`"
            )
        case _:
            raise BadReferenceError(
                f"`${{{text}}}`: of a previous round only `output`, `status` and `comment` can be referred to",
                fix=f"write `${{{node_id}.previous.output}}`",
            )


def _longest_known_node(text: str, node_ids: Container[str]) -> str | None:
    end = len(text)
    while (end := text.rfind(".", 0, end)) > 0:
        field = _ROOT.match(text, end + 1)
        if field and field.group() in _NODE_FIELDS and text[:end] in node_ids:
            return text[:end]
    return None


def _parse_path(text: str, whole: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise BadReferenceError(
                f"`${{{whole}}}`: `{text[position:]}` is no path",
                fix='a path is made of `.key`, `[0]` and `["any key"]`; write `$${` for a literal `${`',
            )
        key, index, quoted = match.group("key", "index", "quoted")
        if index is not None:
            steps.append(int(index))
        elif quoted is not None:
            steps.append(_unquote(quoted, whole))
        else:
            steps.append(key)
        position = match.end()
    return tuple(steps)


def _unquote(quoted: str, whole: str) -> str:
    try:
        key = json.loads(quoted)
    except ValueError as error:
        raise BadReferenceError(f"`${{{whole}}}`: {quoted} is not a JSON string") from error
    assert isinstance(key, str)
    return key


def _unknown_node(text: str, node_ids: Container[str]) -> BadReferenceError:
    guess = _NODE_GUESS.match(text)
    name = guess["node"] if guess else re.split(r"[.\[]", text, maxsplit=1)[0]
    if name in node_ids:
        return BadReferenceError(
            f"`${{{text}}}`: of a node only `output`, `status` and `previous` can be referred to",
            fix=f"write `${{{name}.output}}`",
        )
    return BadReferenceError(
        f"`${{{text}}}`: there is no node `{name}`",
        fix="write `${params.NAME}`, `${NODE.output}`, `${NODE.status}` or `${run.id}`; `$${` is a literal `${`",
        unknown_node=name,
    )


def _why_missing(value: Json, path: str, step: Step) -> str:
    if isinstance(value, dict):
        if isinstance(step, int):
            return f"`{path}` is an object, [{step}] needs a list"
        keys = ", ".join(list(value)[:_SHOWN_KEYS]) + (", …" if len(value) > _SHOWN_KEYS else "")
        return f"`{path}` has no key `{step}`; it has " + (keys or "no keys at all")
    if isinstance(value, list):
        if isinstance(step, int):
            return f"`{path}` has {len(value)} items, counted from 0"
        return f"`{path}` is a list; an item is `[0]`, not `.{step}`"
    kind = {str: "text", bool: "true or false", type(None): "null"}.get(type(value), "a number")
    return f"`{path}` is {kind} and has no parts"
