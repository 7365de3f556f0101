"""How long a check may take, told before it is made: one that may take long is made where it can be ended.

CEL without a macro takes time in proportion to the answer. A macro (`all`, `map`, …) goes through a list, one within
another through pairs, and so on. A JSON Schema that refers to itself in two places may look at a value of depth n in
2^n ways (the backtracking of a `pattern` its library bounds itself). In a regular expression whose repeats stand on
single characters, each adds a factor of the length of the text at most; a repeated group, or anything that `(?` begins,
is not looked into: it may be exponential.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from hooks.definition.model import Requirement
from hooks.expressions.conditions import MACROS
from hooks.jsonio import canonical
from hooks.sampling.answers import Answer, parse_answer

Json: TypeAlias = Any

MOST_STEPS_AT_ONCE = 10_000_000
"""What is thought to take no more is done on the spot; ten million steps take well below a second."""

_MACRO = re.compile(rf"\.\s*(?:{'|'.join(MACROS)})\s*\(")
_REFERENCES = frozenset({"$ref", "$dynamicRef"})
_REPEATED_GROUP = re.compile(r"\)[*+?{]")
_REPEAT = re.compile(r"[*+?{]")


def may_take_long(requirement: Requirement, answer: Answer) -> bool:
    """Whether a `check`, `schema` or `regex` may hold everything up."""
    if requirement.check is not None:
        macros = len(_MACRO.findall(requirement.check))
        return macros > 0 and _is_beyond(_size(answer), macros + 1)
    if requirement.regex is not None:
        regex = requirement.regex
        if "(?" in regex or _REPEATED_GROUP.search(regex):
            return True
        return _is_beyond(len(answer.text), len(_REPEAT.findall(regex)) + 1)
    references = _references_in(requirement.schema)
    if references < 2:
        return False
    value = parse_answer(answer.text).value if answer.value is None else answer.value
    steps: int = _size(answer) * references ** min(_depth(value), 32)
    return steps > MOST_STEPS_AT_ONCE


def _references_in(schema: Json) -> int:
    found = 0
    for item, _ in _walk(schema):
        if isinstance(item, dict):
            found += len(_REFERENCES & item.keys())
    return found


def _depth(value: Json) -> int:
    return max(depth for _, depth in _walk(value))


def _walk(value: Json) -> Iterator[tuple[Json, int]]:
    """Everything in a value, with how deep it lies."""
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        yield item, depth
        if isinstance(item, dict | list):
            pending += [(each, depth + 1) for each in (item.values() if isinstance(item, dict) else item)]


def _is_beyond(size: int, power: int) -> bool:
    # An answer of a character or two is as cheap as it looks, whatever the power.
    return size > 1 and size ** min(power, 32) > MOST_STEPS_AT_ONCE


def _size(answer: Answer) -> int:
    return len(answer.text if answer.value is None else canonical(answer.value))
