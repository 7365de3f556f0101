"""YAML text as a tree with positions, from the parser's events: nothing recurses, and no constructor ever runs.

Scalars follow the core schema of YAML 1.2 (scalars.py), not the parser library's 1.1. Merge keys, tags outside the
core schema and a second document are refused rather than half understood.
"""

from __future__ import annotations

from typing import Any

from hooks.definition.scalars import ScalarError, resolve_plain, resolve_tagged
from hooks.definition.tree import Node, Plain, Scalar, Source, TreeBuilder, too_deep
from hooks.errors import DefinitionError

_CONTAINER_TAGS = {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", "!", None}


def read_yaml(source: Source) -> Node | None:
    """The tree of a YAML document, None if it is empty.

    Raises DefinitionError; problems that let reading go on are left in `source`.
    """
    import yaml

    reader = _YamlReader(source)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(source.text, Loader=loader):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(source, error, reader.last) from error
    except yaml.YAMLError as error:
        position = getattr(error, "position", reader.last)
        raise source.fail(position, f"not valid YAML: {getattr(error, 'reason', error)}") from error
    return reader.root


class _YamlReader:
    def __init__(self, source: Source) -> None:
        self.last = 0
        self._source = source
        self._builder = TreeBuilder(source)
        self._documents = 0

    @property
    def root(self) -> Node | None:
        return self._builder.root

    def take(self, event: Any) -> None:
        """Add one event of the parser to the tree."""
        start = self.last = event.start_mark.index
        match type(event).__name__:
            case "ScalarEvent":
                self._scalar(event, start)
            case "MappingStartEvent":
                self._check_container_tag(event, start)
                self._builder.open_mapping(start, event.anchor)
            case "SequenceStartEvent":
                self._check_container_tag(event, start)
                self._builder.open_sequence(start, event.anchor)
            case "MappingEndEvent" | "SequenceEndEvent":
                self._builder.close()
            case "AliasEvent":
                self._builder.alias(start, event.anchor)
            case "DocumentStartEvent":
                self._document(start)

    def _document(self, start: int) -> None:
        self._documents += 1
        if self._documents > 1:
            raise self._source.fail(
                start, "a second document begins here; a file holds one", "move it into a file of its own"
            )

    def _scalar(self, event: Any, start: int) -> None:
        text: str = event.value
        is_plain: bool = event.implicit[0] and event.tag is None
        if is_plain and text == "<<" and self._builder.expects_key:
            self._source.report(start, "merge keys (`<<`) are not supported", "write the keys out, or use an alias")
        value = self._resolve(text, event, start, is_plain=is_plain)
        self._builder.scalar(Scalar(start, event.end_mark.index, value, text), event.anchor)

    def _resolve(self, text: str, event: Any, start: int, *, is_plain: bool) -> Plain:
        try:
            if event.tag is not None:
                return resolve_tagged(text, event.tag)
            return resolve_plain(text) if is_plain else text
        except ScalarError as error:
            fix = "remove the tag" if event.tag is not None else "write it as text, in quotes"
            self._source.report(start, str(error), fix)
            return None

    def _check_container_tag(self, event: Any, start: int) -> None:
        if event.tag not in _CONTAINER_TAGS:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._source.report(start, f"the tag `{tag}` is not supported", "remove the tag")


def _syntax_error(source: Source, error: Any, last: int) -> DefinitionError:
    mark = error.problem_mark or error.context_mark
    offset = mark.index if mark else last
    problem: str = error.problem or error.context or "it cannot be read"
    if "maximum nesting depth" in problem:
        return too_deep(source, offset)
    if source.text[offset : offset + 1] == "\t":
        return source.fail(offset, "not valid YAML: a tab cannot indent", "indent with spaces")
    context = f" {error.context}" if error.context and error.problem else ""
    line = source.text[source.text.rfind("\n", 0, offset) + 1 : offset + 1]
    return source.fail(offset, f"not valid YAML{context}: {problem}", _syntax_fix(problem, line))


def _syntax_fix(problem: str, line: str) -> str | None:
    if "${" in line:
        return "put text with `${…}` in quotes"
    if "mapping values are not allowed" in problem:
        return "put the value in quotes if it contains `: `, or check the indentation"
    if "cannot start any token" in problem:
        return "put the value in quotes"
    if "escape" in problem:
        return "use single quotes where backslashes are meant literally, and write characters beyond U+FFFF themselves"
    if "did not find expected" in problem or "but got" in problem:
        return "check the brackets, quotes and indentation just before this place"
    return None
