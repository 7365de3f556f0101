"""The keys of a mapping, told apart: known, known but not supported yet, misspelt.

snake_case is canonical; the camelCase spelling of any known key is accepted, and so are the few names that an older
JSON form used for the same thing. Nothing a person wrote is ever passed over in silence, apart from `x-` keys.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field

from hooks.definition.other_words import our_words
from hooks.definition.tree import Entry, Mapping, Node, Scalar, Sequence, Source

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_COMPARED = 2_000
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class Keys:
    """What may stand in one kind of mapping; `elsewhere` explains keys that belong to another kind of it.

    `supported` may say of each key what it means, with its default: that is what the reference prints.
    """

    what: str
    supported: Collection[str]
    later: frozenset[str] = frozenset()
    synonyms: AbstractMapping[str, str] = field(default_factory=dict)
    elsewhere: AbstractMapping[str, str] = field(default_factory=dict)

    def meaning(self, key: str) -> str:
        """What a key means; empty where nothing is said of it."""
        return self.supported.get(key, "") if isinstance(self.supported, AbstractMapping) else ""

    def canonical(self, key: str) -> str:
        """The canonical spelling of `key`; an unknown key is returned as it is."""
        known = {*self.supported} | self.later | self.synonyms.keys() | self.elsewhere.keys()
        if key not in known:
            snake = _snake(key)
            if snake not in known or key == snake:
                return key
            key = snake
        return self.synonyms.get(key, key)


def _snake(key: str) -> str:
    return _HUMP.sub("_", key).replace("-", "_").lower()


class Fields:
    """The supported fields of one mapping by canonical key; `label` names the mapping in messages."""

    def __init__(self, source: Source, mapping: Mapping, label: str, entries: dict[str, Entry]) -> None:
        self.source = source
        self.mapping = mapping
        self.label = label
        self._entries = entries

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def value(self, key: str) -> Node | None:
        entry = self._entries.get(key)
        return entry.value if entry else None

    def key_place(self, key: str) -> int:
        """Where the key stands; the mapping itself if it does not."""
        entry = self._entries.get(key)
        return entry.key.start if entry else self.mapping.start

    def require(self, key: str, fix: str, *, at: int | None = None) -> Node | None:
        """The value of a key that has to be there; a missing one is reported."""
        if key not in self._entries:
            self.source.report(self.mapping.start if at is None else at, f"{self.label} has no `{key}`", fix)
        return self.value(key)


def read_fields(source: Source, node: Node, keys: Keys, label: str) -> Fields | None:
    """The fields of `node`, with every misplaced key reported; None (and a problem) if it is no mapping."""
    if not isinstance(node, Mapping):
        source.report(
            node, f"{label} must be a mapping, but is {describe(node)}", f"its keys: {listed(keys.supported)}"
        )
        return None
    entries: dict[str, Entry] = {}
    for entry in node.entries:
        written = entry.key.text
        if written.startswith("x-"):
            continue
        key = keys.canonical(written)
        if key in keys.supported:
            first = entries.setdefault(key, entry)
            if first is not entry:
                _report_both_spellings(source, entry.key, first.key)
        else:
            _report_misplaced(source, entry.key, key, keys, label)
    return Fields(source, node, label, entries)


def describe(node: Node | None) -> str:
    """What a value is, for messages: the value itself where it is short."""
    if node is None:
        return "missing"
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    if node.value is None:
        return "empty (null)"
    text = node.text if len(node.text) <= 40 else node.text[:40] + "…"
    kind = {bool: "boolean", int: "number", float: "number"}.get(type(node.value), "text")
    return f"the {kind} `{text}`" if kind != "text" else f"the text {text!r}"


def listed(names: Collection[str]) -> str:
    """Names for a message, in order, a long list cut."""
    ordered = sorted(names)
    shown = ", ".join(f"`{name}`" for name in ordered[:_MOST_LISTED])
    return (shown + (", …" if len(ordered) > _MOST_LISTED else "")) or "none"


def did_you_mean(name: str, known: Collection[str], later: Collection[str] = ()) -> str | None:
    """The fix for a misspelt name, if a known one is similar; one of `later` is named as not supported yet."""
    similar = _most_similar(name, [*known, *later])
    if similar is None:
        return None
    return f"did you mean `{similar}`?" + (" It is not supported yet." if similar in later else "")


def _most_similar(name: str, known: Collection[str]) -> str | None:
    """Comparing is bounded."""
    candidates = list(known)
    if len(candidates) > _MOST_COMPARED:
        candidates = [other for other in candidates if other[:1] == name[:1] and abs(len(other) - len(name)) <= 1]
    similar = difflib.get_close_matches(name, candidates[:_MOST_COMPARED], n=1)
    return similar[0] if similar else None


def _report_both_spellings(source: Source, key: Scalar, first: Scalar) -> None:
    source.report(
        key,
        f"`{key.text}` and `{first.text}` say the same thing twice; the first one is at {source.place(first.start)}",
        "remove one of the two",
    )


def _report_misplaced(source: Source, key: Scalar, canonical: str, keys: Keys, label: str) -> None:
    if canonical in keys.later:
        source.report(key, f"`{key.text}` is not supported yet", f"remove it from {label}")
    elif canonical in keys.elsewhere:
        source.report(key, f"`{key.text}` does not belong into {label}", keys.elsewhere[canonical])
    else:
        fix = (
            likeliest(key.text, keys) or f"{keys.what} takes {listed(keys.supported)}; own data goes under an `x-` key"
        )
        source.report(key, f"unknown key `{key.text}` in {label}", fix)


def likeliest(word: str, keys: Keys) -> str | None:
    """The fix for an unknown key: what other tools call by that word, or else what it looks like."""
    for meant in our_words(_snake(word)):
        if meant in keys.supported:
            return f"here it is `{meant}`"
        if meant in keys.later:
            return f"here it is `{meant}`, which is not supported yet"
        if meant in keys.elsewhere:
            return f"here it is `{meant}`: {keys.elsewhere[meant]}"
    return did_you_mean(word, keys.supported, keys.later)
