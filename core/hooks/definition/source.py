"""A file a person wrote, YAML or JSON, as a tree with positions; whatever its bytes, the answer is a tree or a message.

`.json` files, and text that begins with `{` or `[` and is valid JSON, are read as JSON; everything else as YAML.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from hooks.definition.json_reader import read_json
from hooks.definition.tree import Node, Source
from hooks.definition.yaml_reader import read_yaml
from hooks.errors import DefinitionError, Place, Problem

MAX_BYTES = 16 * 1024 * 1024
_MOST_NAMED = 5

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_TYPED_SUFFIXES = {".yaml", ".yml", ".json"}


def read_file(path: Path) -> bytes:
    """The bytes of a definition file. Raises DefinitionError if it is not there, not readable, or huge."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise _unreadable(path, "there is no such file", _similar_file(path)) from error
    except IsADirectoryError as error:
        raise _unreadable(path, "this is a directory", "name the file inside it") from error
    except (OSError, ValueError) as error:
        raise _unreadable(path, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return data


def read_source(data: bytes, file: str, fix_of_empty: str | None = None) -> tuple[Source, Node]:
    """The tree of `data`, and the source that problems are reported to; `file` is its name in messages.

    Raises DefinitionError for what cannot be read at all; the problems of the rest are collected in the source.
    """
    source, root = read_source_if_any(data, file)
    if root is None:
        raise source.fail(0, "the file is empty", fix_of_empty)
    return source, root


def read_source_if_any(data: bytes, file: str) -> tuple[Source, Node | None]:
    """As `read_source`; no tree if there is nothing in `data`, or only comments."""
    source = Source(file, _decode(data, file))
    return source, _read_any(source)


def _read_any(source: Source) -> Node | None:
    if source.file.endswith(".json") and source.text.strip():
        return read_json(source)
    if source.text.lstrip()[:1] in ("{", "["):
        try:
            attempt = Source(source.file, source.text)
            root = read_json(attempt)
        except DefinitionError:
            return read_yaml(source)  # YAML in flow style begins alike
        source.problems.extend(attempt.problems)
        return root
    return read_yaml(source)


def _decode(data: bytes, file: str) -> str:
    start = Place(file, 1, 1)
    if len(data) > MAX_BYTES:
        raise DefinitionError(
            [
                Problem(
                    f"the file is larger than {MAX_BYTES // 1024**2} MiB",
                    start,
                    "keep data out of it: pass a param, or read it in a step",
                )
            ]
        )
    if data.startswith(_UTF16_MARKS):
        raise DefinitionError([Problem("the file is UTF-16", start, "save it as UTF-8")])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise _bad_byte(file, before, data[error.start], "is not UTF-8") from error
    text = text.removeprefix("\ufeff")
    control = _CONTROL.search(text)
    if control is not None:
        raise _bad_byte(file, text[: control.start()], ord(control.group()), "does not belong into text")
    return text


def _bad_byte(file: str, before: str, byte: int, what: str) -> DefinitionError:
    place = Source(file, before).place(len(before))
    return DefinitionError(
        [Problem(f"the byte 0x{byte:02x} {what}", place, "is this the right file? save it as UTF-8 text")]
    )


def _unreadable(path: Path, reason: str, fix: str | None = None) -> DefinitionError:
    return DefinitionError([Problem(reason, Place(str(path)), fix)])


def _similar_file(path: Path) -> str | None:
    if not path.parent.is_dir():
        return f"correct the path; there is no directory {path.parent}"
    try:
        names = [name for name in os.listdir(path.parent) if Path(name).suffix in _TYPED_SUFFIXES]
    except OSError:
        return None
    similar = difflib.get_close_matches(path.name, names, n=1)
    if similar:
        return f"did you mean `{path.parent / similar[0]}`?"
    there = ", ".join(f"`{name}`" for name in sorted(names)[:_MOST_NAMED])
    return f"correct the path; {path.parent.absolute()} has {there or 'no YAML or JSON file'}"
