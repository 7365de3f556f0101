from __future__ import annotations

import json

import pytest

from hooks.times import iso_time
from hooks_cli.render.text import (
    cut,
    duration,
    neutralise,
    neutralise_json,
    neutralise_lines,
    one_line,
    table,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ☃", "plain ☃"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\x9b2J", "\\x9b2J"),
        ("\x00\x7f", "\\x00\\x7f"),
        ("safe\u202egnp.exe", "safe\\u202egnp.exe"),
        ("one\u2028two", "one\\u2028two"),
    ],
)
def test_no_control_character_is_left_on_a_line(text: str, shown: str) -> None:
    assert neutralise(text) == shown


def test_lines_and_tabs_are_kept_where_lines_are_wanted() -> None:
    assert neutralise_lines("a\n\tb\r\x1b]0;x\x07") == "a\n\tb\\r\\x1b]0;x\\x07"


def test_harmless_json_means_the_same() -> None:
    value = {"a": "\x7f\x9b\u202e☃"}
    text = neutralise_json(json.dumps(value, ensure_ascii=False))

    assert json.loads(text) == value
    assert "\x9b" not in text


def test_long_text_is_cut_with_a_marker() -> None:
    assert cut("short", 10) == "short"
    assert cut("x" * 100, 20) == "x" * 13 + "… (+80)"


def test_a_line_of_any_length_fits() -> None:
    shown = one_line("\x1b" * 50_000_000, 40)

    assert len(shown) == 40
    assert shown.endswith("… (+49,999,960)")


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "0ms"),
        (999, "999ms"),
        (1_500, "1.5s"),
        (59_940, "59.9s"),
        (61_000, "1m01s"),
        (3_660_000, "1h01m"),
        (90_000_000, "1d01h"),
    ],
)
def test_durations_are_read_at_a_glance(ms: int, shown: str) -> None:
    assert duration(ms) == shown


def test_times_are_iso_8601_in_utc() -> None:
    assert iso_time(1_700_000_000_007) == "2023-11-14T22:13:20.007Z"


def test_tables_are_aligned() -> None:
    assert table([["A", "B"], ["longer", "x"], ["y", ""]]) == "A       B\nlonger  x\ny\n"
