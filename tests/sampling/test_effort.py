"""Which checks are made where they can be ended."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.definition.model import Requirement
from hooks.sampling.answers import Answer
from hooks.sampling.effort import may_take_long


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"n": value}
    return value


DEEP = Answer("", nested(60))
TWICE = {
    "$defs": {
        "a": {
            "anyOf": [
                {"required": ["x"], "properties": {"n": {"$ref": "#/$defs/a"}}},
                {"required": ["y"], "properties": {"n": {"$ref": "#/$defs/a"}}},
            ]
        }
    },
    "$ref": "#/$defs/a",
}
"""A schema that looks at what lies n levels deep in 2^n ways."""
SHORT, LONG = Answer("x" * 100), Answer("x" * 100_000)


@pytest.mark.parametrize(
    ("check", "answer", "is_long"),
    [
        ({"check": "size(output) > 1 && output.matches('^(a+)+$')"}, LONG, False),
        ({"check": "output.all(x, x > 1)"}, SHORT, False),
        ({"check": "output.all(x, x > 1)"}, LONG, True),
        ({"check": "output.all(x, output.existsOne(y, x == y && output.map(z, z) == []))"}, SHORT, True),
        ({"schema": {"pattern": "^(a+)+$"}}, LONG, False),
        (
            {
                "schema": {
                    "$defs": {"a": {"properties": {"n": {"$ref": "#/$defs/a"}}}},
                    "properties": {"n": {"type": "string"}},
                }
            },
            DEEP,
            False,
        ),
        ({"schema": TWICE}, LONG, False),
        ({"schema": TWICE}, Answer("", {"n": {"n": {}}}), False),
        ({"schema": TWICE}, DEEP, True),
        ({"schema": TWICE}, Answer('{"n": ' * 60 + "1" + "}" * 60), True),
        ({"regex": "TODO|FIXME"}, LONG, False),
        ({"regex": "^# .+$"}, SHORT, False),
        ({"regex": "^# .+$"}, LONG, True),
        ({"regex": "(a|a)*b"}, SHORT, True),
        ({"regex": "(?x) (a|a) *b"}, SHORT, True),
        ({"regex": ".*.*.*.*b"}, SHORT, True),
        ({"regex": ".*.*.*.*b"}, Answer("x"), False),
    ],
)
def test_what_may_take_long(check: dict[str, Any], answer: Answer, is_long: bool) -> None:
    assert may_take_long(Requirement(name="r", **check), answer) is is_long
