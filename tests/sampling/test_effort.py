"""Which checks are made where they can be ended."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.definition.model import Requirement
from hooks.sampling.answers import Answer
from hooks.sampling.effort import may_take_long

SHORT, LONG = Answer("x" * 100), Answer("x" * 100_000)


@pytest.mark.parametrize(
    ("check", "answer", "is_long"),
    [
        ({"check": "size(output) > 1 && output.matches('^(a+)+$')"}, LONG, False),
        ({"check": "output.all(x, x > 1)"}, SHORT, False),
        ({"check": "output.all(x, x > 1)"}, LONG, True),
        ({"check": "output.all(x, output.existsOne(y, x == y && output.map(z, z) == []))"}, SHORT, True),
        ({"schema": {"pattern": "^(a+)+$"}}, LONG, False),
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
