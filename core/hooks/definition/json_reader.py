"""JSON text as a tree with positions, without recursion.

The standard library's parser gives no places, takes the last of two equal keys, and recurses; YAML's reads most of
JSON, but not surrogate pairs, long keys, or U+2028 inside strings. Numbers follow scalars.py, so that a document
means the same in both notations.
"""

from __future__ import annotations

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]

from hooks.definition.scalars import ScalarError, resolve_plain
from hooks.definition.tree import Node, Scalar, Source, TreeBuilder

_SPACE = re.compile(r"[ \t\n\r]*")
_LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![0-9.])|(?:true|false|null)\b")
_WORD = re.compile(r"[^\s,:\[\]{}\"]{1,20}|.")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(source: Source) -> Node:
    """The tree of a JSON document. Raises DefinitionError; problems that let reading go on are left in `source`."""
    return _JsonReader(source).read()


class _JsonReader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        self._builder = TreeBuilder(source)
        self._position = 0
        self._closers: list[str] = []

    def read(self) -> Node:
        self._value()
        while self._closers:
            self._continue_container()
        self._skip_space()
        if self._position < len(self._text):
            raise self._unexpected("the end of the document")
        assert self._builder.root is not None
        return self._builder.root

    def _value(self) -> None:
        """Read one value, or the opening of a container with its first key."""
        self._skip_space()
        start = self._position
        character = self._text[start : start + 1]
        if character == '"':
            self._string()
        elif character in ("{", "["):
            self._open(character, start)
        else:
            self._literal(start)

    def _open(self, bracket: str, start: int) -> None:
        self._position += 1
        if bracket == "{":
            self._builder.open_mapping(start)
            self._closers.append("}")
        else:
            self._builder.open_sequence(start)
            self._closers.append("]")
        if self._take(self._closers[-1]):
            self._close()
        else:
            self._element()

    def _continue_container(self) -> None:
        """After a value inside a container: the next one, or its end."""
        closer = self._closers[-1]
        if self._take(closer):
            self._close()
        elif self._take(","):
            self._element()
        else:
            raise self._unexpected(f"`,` or `{closer}`")

    def _element(self) -> None:
        if self._closers[-1] == "}":
            self._skip_space()
            if self._text[self._position : self._position + 1] != '"':
                raise self._unexpected("a key in double quotes")
            self._string()
            if not self._take(":"):
                raise self._unexpected("`:`")
        self._value()

    def _close(self) -> None:
        self._closers.pop()
        self._builder.close()

    def _string(self) -> None:
        start = self._position
        try:
            value, self._position = scanstring(self._text, start + 1, True)
        except JSONDecodeError as error:
            # Its own position is the place of the fault, except for a string that never ends.
            raise self._source.fail(error.pos, f"not valid JSON: {error.msg}", "correct the string") from error
        if _SURROGATE.search(value):
            self._source.report(start, "a lone surrogate is not Unicode text", "write both halves of the pair")
            value = _SURROGATE.sub("\ufffd", value)
        self._builder.scalar(Scalar(start, self._position, value, value))

    def _literal(self, start: int) -> None:
        match = _LITERAL.match(self._text, start)
        if match is None:
            raise self._unexpected("a value")
        self._position = match.end()
        text = match.group()
        try:
            value = resolve_plain(text)
        except ScalarError as error:
            self._source.report(start, str(error), "write it as text, in quotes")
            value = None
        self._builder.scalar(Scalar(start, match.end(), value, text))

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._position)
        assert match is not None
        self._position = match.end()

    def _take(self, character: str) -> bool:
        self._skip_space()
        if self._text[self._position : self._position + 1] != character:
            return False
        self._position += 1
        return True

    def _unexpected(self, wanted: str) -> Exception:
        found = _WORD.match(self._text, self._position)
        what = f"`{found.group()}`" if found else "the end of the file"
        return self._source.fail(self._position, f"not valid JSON: expected {wanted}, found {what}")
