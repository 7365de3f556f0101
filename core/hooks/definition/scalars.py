"""What a plain (unquoted) scalar means, by the core schema of YAML 1.2; the rules of JSON are a part of it.

`on`, `no`, `22:22`, `1_000` and dates are text; `010` is ten; `0o10` and `0x10` are octal and hexadecimal. Numbers
that JSON cannot carry (.inf, .nan, integers beyond 64 bit) are refused instead of bent.
"""

from __future__ import annotations

import math
import re

from hooks.definition.tree import Plain

INT_MIN, INT_MAX = -(2**63), 2**64 - 1

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_STARTS_A_NUMBER = frozenset("+-.0123456789")
_INT = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_TAG = "tag:yaml.org,2002:"
_MOST_DIGITS = 40


class ScalarError(ValueError):
    """A scalar that no JSON value stands for."""


def resolve_plain(text: str) -> Plain:
    """The value of a plain scalar. Raises ScalarError."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _STARTS_A_NUMBER:
        return text
    if _INT.match(text):
        return _integer(text, 10, text)
    if _OCTAL.match(text):
        return _integer(text[2:], 8, text)
    if _HEX.match(text):
        return _integer(text[2:], 16, text)
    if _FLOAT.match(text):
        return _float(text)
    if _NOT_FINITE.match(text):
        raise ScalarError(f"{text} is not a number that JSON can carry")
    return text


def resolve_tagged(text: str, tag: str) -> Plain:
    """The value of a scalar with an explicit tag. Raises ScalarError for a tag outside the core schema."""
    kind = tag.removeprefix(_TAG)
    if tag == "!" or kind == "str":
        return text
    wanted = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}.get(kind)
    if wanted is None or kind == tag:
        raise ScalarError(f"the tag `{tag.replace(_TAG, '!!')}` is not supported")
    value = resolve_plain(text)
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind != "bool"):
        raise ScalarError(f"`{text}` is not what its tag `!!{kind}` says")
    return float(value) if kind == "float" and value is not None else value


def _integer(digits: str, base: int, text: str) -> int:
    # The limit on length keeps int() from quadratic work; leading zeros do not count.
    value = int(digits, base) if len(digits.lstrip("+-0")) <= _MOST_DIGITS else INT_MAX + 1
    if not INT_MIN <= value <= INT_MAX:
        raise ScalarError(f"{_shorten(text)} does not fit into 64 bit")
    return value


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ScalarError(f"{_shorten(text)} is too large for a number")
    return value


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_DIGITS else f"{text[:_MOST_DIGITS]}…"
