"""A file as a tree whose every value knows where it stands.

Both readers (yaml_reader.py, json_reader.py) drive one `TreeBuilder`, so that rules of structure are kept in one
place: keys are unique and are text, depth and size are bounded, an alias counts as what it expands to. Because the
depth of every tree is bounded here, whoever walks one may recurse.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from hooks.errors import DefinitionError, Place, Problem

Json: TypeAlias = Any
Plain: TypeAlias = str | int | float | bool | None

MAX_DEPTH = 100
MAX_VALUES = 500_000

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LINE_END = re.compile(r"\r\n|\n|\r")


class Scalar(Struct, frozen=True):
    """A value without parts. `text` is how a plain one is written (`1.10`), or the string that a quoted one holds."""

    start: int
    end: int
    value: Plain
    text: str


class Sequence(Struct, frozen=True):
    start: int
    items: list[Node]


class Entry(Struct, frozen=True):
    key: Scalar
    value: Node


class Mapping(Struct, frozen=True):
    start: int
    entries: list[Entry]

    def get(self, key: str) -> Node | None:
        """The value of `key` as written, or None."""
        return next((entry.value for entry in self.entries if entry.key.text == key), None)


Node: TypeAlias = Scalar | Sequence | Mapping


class Source:
    """The text of one file, and the problems found in it so far."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.base: Path | None = None
        """The directory that relative files are looked for in; None: they are not looked for."""
        self.problems: list[tuple[int, Problem]] = []
        self.warnings: list[tuple[int, Problem]] = []
        self._line_starts: list[int] | None = None

    def place(self, offset: int) -> Place:
        """Line and column of a character."""
        if self._line_starts is None:
            self._line_starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        line = bisect_right(self._line_starts, offset)
        return Place(self.file, line, offset - self._line_starts[line - 1] + 1)

    def offset_in(self, scalar: Node, text: str, offset: int) -> int:
        """Where the `${` at `offset` of a scalar's text stands in the file.

        Escapes, folding and indentation move text about, but not the number of `${` before it.
        """
        ordinal = text.count("${", 0, offset)
        position = scalar.start - 1
        for _ in range(ordinal + 1):
            position = self.text.find("${", position + 1, scalar.end if isinstance(scalar, Scalar) else None)
            if position < 0:
                return scalar.start
        return position

    def verbatim_offset(self, scalar: Scalar, offset: int) -> int:
        """Where a character of a scalar's text stands in the file; its beginning if escapes or folding moved it."""
        found = self.text.find(scalar.text, scalar.start, scalar.end)
        return scalar.start if found < 0 else found + offset

    def report(self, at: int | Node, message: str, fix: str | None = None) -> None:
        """Note one problem; reading goes on."""
        self.problems.append(self._problem(at, message, fix))

    def warn(self, at: int | Node, message: str, fix: str | None = None) -> None:
        """Note what is allowed and hardly meant."""
        self.warnings.append(self._problem(at, message, fix))

    def fail(self, at: int, message: str, fix: str | None = None) -> DefinitionError:
        """The error to raise for a problem after which nothing more can be read."""
        self.report(at, message, fix)
        return DefinitionError(self.sorted_problems())

    def raise_problems(self) -> None:
        """Raise DefinitionError with every problem in order of place, if there are any."""
        if self.problems:
            raise DefinitionError(self.sorted_problems())

    def sorted_problems(self) -> list[Problem]:
        return _in_order(self.problems)

    def sorted_warnings(self) -> list[Problem]:
        return _in_order(self.warnings)

    def _problem(self, at: int | Node, message: str, fix: str | None) -> tuple[int, Problem]:
        offset = at if isinstance(at, int) else at.start
        # Names from the file go into messages; a control character among them must not reach a terminal.
        return offset, Problem(_printable(message), self.place(offset), fix and _printable(fix))


def _in_order(found: list[tuple[int, Problem]]) -> list[Problem]:
    return list(dict.fromkeys(problem for _, problem in sorted(found, key=lambda each: each[0])))


def _printable(text: str) -> str:
    return _CONTROL.sub(lambda match: repr(match.group())[1:-1], text)


def to_value(node: Node) -> Json:
    """The plain JSON value of a tree."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [to_value(item) for item in node.items]
    return {entry.key.text: to_value(entry.value) for entry in node.entries}


class _Frame:
    """An open container; `key` waits for its value, `size` and `height` count what is inside, aliases expanded."""

    __slots__ = ("anchor", "height", "key", "node", "seen", "size")

    def __init__(self, node: Sequence | Mapping, anchor: str | None) -> None:
        self.node = node
        self.anchor = anchor
        self.key: Scalar | None = None
        self.seen: dict[str, Scalar] = {}
        self.size = 1
        self.height = 1


class TreeBuilder:
    """Builds a tree from what a reader meets, in order. Raises DefinitionError past the bounds."""

    def __init__(self, source: Source) -> None:
        self.root: Node | None = None
        self._source = source
        self._open: list[_Frame] = []
        self._anchors: dict[str, tuple[Node, int, int] | None] = {}
        self._total = 0

    @property
    def depth(self) -> int:
        return len(self._open)

    @property
    def expects_key(self) -> bool:
        """Whether the next thing is the key of a mapping."""
        return bool(self._open) and isinstance(self._open[-1].node, Mapping) and self._open[-1].key is None

    def open_mapping(self, start: int, anchor: str | None = None) -> None:
        self._push(Mapping(start, []), anchor)

    def open_sequence(self, start: int, anchor: str | None = None) -> None:
        self._push(Sequence(start, []), anchor)

    def close(self) -> None:
        """End the innermost open container."""
        frame = self._open.pop()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.node, frame.size, frame.height)
        if self._open:
            outer = self._open[-1]
            outer.size += frame.size
            outer.height = max(outer.height, frame.height + 1)

    def scalar(self, scalar: Scalar, anchor: str | None = None) -> None:
        self._count(1, scalar.start)
        if anchor is not None:
            self._anchors[anchor] = (scalar, 1, 0)
        self._attach(scalar)
        if self._open:
            self._open[-1].size += 1

    def alias(self, start: int, name: str) -> None:
        """Put what `&name` marked here once more."""
        anchored = self._anchors.get(name)
        if anchored is None:
            reason = "stands inside what it names" if name in self._anchors else "names no anchor before it"
            raise self._source.fail(start, f"the alias `*{name}` {reason}", f"write the value out instead of `*{name}`")
        node, size, height = anchored
        if len(self._open) + height > MAX_DEPTH:
            raise self._too_deep(start)
        self._count(size, start)
        self._attach(node)
        if self._open:
            outer = self._open[-1]
            outer.size += size
            outer.height = max(outer.height, height + 1)

    def _push(self, node: Sequence | Mapping, anchor: str | None) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise self._too_deep(node.start)
        self._count(1, node.start)
        if anchor is not None:
            self._anchors[anchor] = None
        self._attach(node)
        self._open.append(_Frame(node, anchor))

    def _attach(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        frame = self._open[-1]
        if isinstance(frame.node, Sequence):
            frame.node.items.append(node)
        elif frame.key is None:
            frame.key = self._as_key(node)
        else:
            self._add_entry(frame, frame.node, frame.key, node)
            frame.key = None

    def _as_key(self, node: Node) -> Scalar:
        if isinstance(node, Scalar):
            return node
        self._source.report(node, "a key must be text, not a list or a mapping", "write a plain name before the `:`")
        return Scalar(node.start, node.start, None, f"?{node.start}")

    def _add_entry(self, frame: _Frame, mapping: Mapping, key: Scalar, value: Node) -> None:
        first = frame.seen.setdefault(key.text, key)
        if first is key:
            mapping.entries.append(Entry(key, value))
            return
        self._source.report(
            key,
            f"duplicate key `{key.text}`; the first one is at {self._source.place(first.start)}",
            "remove or rename one of the two",
        )

    def _count(self, size: int, start: int) -> None:
        self._total += size
        if self._total > MAX_VALUES:
            raise self._source.fail(
                start,
                f"the file holds more than {MAX_VALUES} values, aliases expanded",
                "keep data out of the file: pass it as a param, or read it in a step",
            )

    def _too_deep(self, start: int) -> DefinitionError:
        return too_deep(self._source, start)


def too_deep(source: Source, start: int) -> DefinitionError:
    """The error for nesting that nobody wrote by hand."""
    return source.fail(start, f"nested deeper than {MAX_DEPTH} levels", "flatten the value, or pass it as JSON text")
