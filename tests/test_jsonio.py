"""JSON at the border: what cannot go through unchanged is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.errors import JsonBorderError
from hooks.jsonio import check, parse, parse_strict


class Unspeakable:
    """An object that nothing can be said of."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"a": float("nan")}, r"\$\.a: nan is not a JSON number"),
        ([10**5000], r"\$\[0\]: an integer of 16610 bits does not fit into 64 bit"),
        ({Unspeakable(): 1}, r"\$: a key is of type Unspeakable, not a string"),
        ({"a": [Unspeakable()]}, r"\$\.a\[0\]: a Unspeakable is not a JSON value"),
        ("\ud800", r"\$: a lone surrogate"),
    ],
)
def test_a_value_that_json_cannot_carry_is_refused_with_its_place(value: Any, reason: str) -> None:
    with pytest.raises(JsonBorderError, match=reason):
        check(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": 1, "\\u0061": 2}',
        '[{"x": {"a": [], "b": 1, "a": []}}]',
        # The colon that the first key lost comes back where the second value is written out.
        '{"a": 1, "a": "\\u003a"}',
        '{"a" : ":", "a" : 1}',
    ],
)
def test_a_key_that_stands_twice_is_refused_in_what_a_child_wrote(text: str) -> None:
    parse(text.encode())
    with pytest.raises(JsonBorderError, match="the key 'a' stands twice in one object"):
        parse_strict(text.encode())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": {"a": 1}, "b": {"a": 1}}', {"a": {"a": 1}, "b": {"a": 1}}),
        ('{ "a:" : ":\\":" , "b" :[ ":" ] }', {"a:": ':":', "b": [":"]}),
        ('{"a": "\\u003a\\u00e9"}', {"a": ":é"}),
        ("[]", []),
        ('"a: b"', "a: b"),
    ],
)
def test_everything_else_a_child_wrote_is_read_as_it_is(text: str, value: Any) -> None:
    assert parse_strict(text.encode()) == value


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "1e999", '{"a": 1', "[" * 5_000 + "]" * 5_000, "123456789012345678901"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(JsonBorderError):
        parse_strict(text.encode())
