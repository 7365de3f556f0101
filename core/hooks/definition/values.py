"""Readers of single values: each gives the typed value, or reports what is wrong with the actual one and gives None."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hooks.definition.durations import MAX_MS, parse_duration
from hooks.definition.fields import Fields, describe, did_you_mean, listed
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source, to_value


def is_text(node: Node | None) -> bool:
    """Whether `node` can be taken as text: anything but null; a plain number or boolean counts as it is written."""
    return isinstance(node, Scalar) and node.value is not None


def item_of(what: str, index: int) -> str:
    """The name of an item of a list in messages: of `argv`, `argv[0]`."""
    return f"{what[:-1]}[{index}]`" if what.endswith("`") else f"{what}[{index}]"


def read_text(source: Source, node: Node, what: str, *, blank: bool = False) -> str | None:
    """Text; a plain number or boolean counts as it is written (`1.10`). Blank text is refused unless `blank`."""
    if not isinstance(node, Scalar) or not is_text(node):
        source.report(node, f"{what} must be text, but is {describe(node)}", "write the text, in quotes if in doubt")
        return None
    if not blank and not node.text.strip():
        source.report(node, f"{what} is blank", "write some text, or remove the key")
        return None
    return node.text


def read_bool(source: Source, node: Node, what: str) -> bool | None:
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return node.value
    source.report(node, f"{what} must be true or false, but is {describe(node)}", "write `true` or `false`")
    return None


def read_int(source: Source, node: Node, what: str, *, least: int, most: int) -> int | None:
    if isinstance(node, Scalar) and isinstance(node.value, int) and not isinstance(node.value, bool):
        if least <= node.value <= most:
            return node.value
        source.report(node, f"{what} is {node.value}", f"write a whole number from {least} to {most}")
        return None
    source.report(node, f"{what} must be a whole number, but is {describe(node)}", f"write one from {least} to {most}")
    return None


def read_number(source: Source, node: Node, what: str, *, least: float, most: float) -> float | None:
    """A number, whole or not."""
    if isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        if least <= node.value <= most:
            return float(node.value)
        source.report(node, f"{what} is {node.text}", f"write a number from {least:g} to {most:g}")
        return None
    source.report(node, f"{what} must be a number, but is {describe(node)}", f"write one from {least:g} to {most:g}")
    return None


def read_choice(
    source: Source, node: Node, what: str, choices: Collection[str], later: Collection[str] = ()
) -> str | None:
    """One of a few words; those in `later` are known and refused."""
    text = node.text if isinstance(node, Scalar) and isinstance(node.value, str) else None
    if text in choices:
        return text
    if text is not None and text in later:
        source.report(node, f"{what}: `{text}` is not supported yet", f"use {listed(choices)}")
        return None
    fix = text and did_you_mean(text, choices, later)
    source.report(node, f"{what} must be one of {listed(choices)}, but is {describe(node)}", fix or None)
    return None


def read_texts(source: Source, node: Node, what: str, *, one: bool = False, empty: bool = False) -> list[str] | None:
    """A list of texts; with `one`, a single text counts as a list of it."""
    if one and is_text(node):
        node = Sequence(node.start, [node])
    if not isinstance(node, Sequence):
        source.report(node, f"{what} must be a list of texts, but is {describe(node)}", "write it as [a, b]")
        return None
    if not node.items and not empty:
        source.report(node, f"{what} is an empty list", "add an element, or remove the key")
        return None
    texts = [read_text(source, item, item_of(what, index), blank=True) for index, item in enumerate(node.items)]
    found = [text for text in texts if text is not None]
    return found if len(found) == len(texts) else None


def read_text_map(source: Source, node: Node, what: str) -> dict[str, str] | None:
    if not isinstance(node, Mapping):
        source.report(node, f"{what} must be a mapping of names to texts, but is {describe(node)}")
        return None
    found = {}
    for entry in node.entries:
        text = read_text(source, entry.value, f"{what}.{entry.key.text}", blank=True)
        if text is not None:
            found[entry.key.text] = text
    return found


def read_object(source: Source, node: Node, what: str) -> dict[str, Any] | None:
    """A mapping as it is."""
    if isinstance(node, Mapping):
        value = to_value(node)
        assert isinstance(value, dict)
        return value
    source.report(node, f"{what} must be a mapping, but is {describe(node)}")
    return None


def read_duration(fields: Fields, name: str) -> int | None:
    """The milliseconds of `name` (`90s`) or `name_ms` (an integer), None if neither is given."""
    source = fields.source
    spelt, in_ms = fields.value(name), fields.value(f"{name}_ms")
    if spelt is not None and in_ms is not None:
        source.report(
            fields.key_place(f"{name}_ms"), f"`{name}` and `{name}_ms` say the same thing twice", "remove one"
        )
        return None
    if in_ms is not None:
        return read_int(source, in_ms, f"`{name}_ms`", least=1, most=MAX_MS)
    return None if spelt is None else duration_of(source, spelt, f"`{name}`")


def duration_of(source: Source, node: Node, what: str) -> int | None:
    """The milliseconds of a spelt-out duration."""
    if isinstance(node, Scalar) and isinstance(node.value, str):
        try:
            return parse_duration(node.value)
        except ValueError as error:
            source.report(node, f"{what}: {error}", "write a number and a unit: 500ms, 90s, 15m, 2h, 1d")
            return None
    fix = f"write `{node.text}s` for seconds" if isinstance(node, Scalar) and node.value is not None else None
    source.report(node, f"{what} must be a duration such as 90s, but is {describe(node)}", fix)
    return None
