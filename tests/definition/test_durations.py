"""Durations as people write them."""

from __future__ import annotations

import pytest

from hooks.definition.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("500ms", 500), ("90s", 90_000), ("15m", 900_000), ("2h", 7_200_000), ("1d", 86_400_000), ("1.5s", 1_500)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    "text", ["", "90", "s", "-1s", "0s", "0.0001ms", "1h30m", "1 s", "5 min", "99999999d", "1e3s", "١s"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration"):
        parse_duration(text)
