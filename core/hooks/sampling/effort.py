"""How long a check may take, told before it is made: one that may take long is made where it can be ended.

CEL without a macro, and JSON Schema (whose library bounds its own backtracking), take time in proportion to the answer.
A macro (`all`, `map`, …) goes through a list, one within another through pairs, and so on. In a regular expression
whose repeats stand on single characters, each adds a factor of the length of the text at most; a repeated group, or
anything that `(?` begins, is not looked into: it may be exponential.
"""

from __future__ import annotations

import re

from hooks.definition.model import Requirement
from hooks.expressions.conditions import MACROS
from hooks.jsonio import canonical
from hooks.sampling.answers import Answer

MOST_STEPS_AT_ONCE = 10_000_000
"""What is thought to take no more is done on the spot; ten million steps take well below a second."""

_MACRO = re.compile(rf"\.\s*(?:{'|'.join(MACROS)})\s*\(")
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
    return False


def _is_beyond(size: int, power: int) -> bool:
    # An answer of a character or two is as cheap as it looks, whatever the power.
    return size > 1 and size ** min(power, 32) > MOST_STEPS_AT_ONCE


def _size(answer: Answer) -> int:
    return len(answer.text if answer.value is None else canonical(answer.value))
