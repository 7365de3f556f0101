"""Values blotted out: nothing of any form is left, and nothing moves."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.blotting import Blotter

SECRET = 'se"cr\\et\nof two lines'


ENCODED = base64.b64encode(b"x" + SECRET.encode() + b"yz")


@pytest.mark.parametrize(
    ("written", "given_away"),
    [
        (SECRET.encode(), SECRET.encode()),
        (b"only of two lines", b"of two lines"),
        (json.dumps({"": SECRET}).encode(), json.dumps(SECRET)[1:-1].encode()),
        (base64.b64encode(SECRET.encode()), base64.b64encode(SECRET.encode())[:-4]),
        (ENCODED, ENCODED[4:-4]),
    ],
)
def test_every_form_is_blotted_byte_for_byte(written: bytes, given_away: bytes) -> None:
    blotted = Blotter({"S": SECRET}).blot(b"before " + written + b" after")

    assert given_away not in blotted
    assert len(blotted) == len(b"before " + written + b" after")
    assert blotted.startswith(b"before ")
    assert blotted.endswith(b" after")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_base64_stays_in_its_lines(line_end: str) -> None:
    encoded = base64.b64encode(b"user=admin " * 4 + b"password=open-sesame-open-sesame\nname=x\n").decode()
    broken = line_end.join(encoded[at : at + 20] for at in range(0, len(encoded), 20))
    blotter = Blotter({"S": "open-sesame-open-sesame"})

    blotted = blotter.blot_text(broken)

    assert [len(line) for line in blotted.split(line_end)] == [len(line) for line in broken.split(line_end)]
    assert blotted.replace(line_end, "").count("*") == 30
    assert blotter.is_in_json(json.dumps([{"out": broken}]).encode())
    assert not blotter.is_in_json(json.dumps([{"out": blotted}]).encode())


def test_a_document_that_escapes_more_than_it_must_is_seen_in_a_document() -> None:
    blotter = Blotter({"S": "p&ss<w/rd"})
    document = {"stdout": r'{"key": "p\u0026ss\u003cw\/rd"}'}

    assert blotter.is_in_json(json.dumps(document).encode())
    assert blotter.blot_json(document) == {"stdout": '{"key": "' + "*" * 20 + '"}'}


def test_values_that_overlap_leave_nothing_of_each_other() -> None:
    assert Blotter({"A": "abcdefgh", "B": "efghijkl"}).blot(b"abcdefghijkl") == b"*" * 12


@given(st.binary(max_size=40), st.lists(st.integers(1, 9), max_size=12), st.booleans())
def test_parts_are_blotted_as_the_whole_is(noise: bytes, sizes: list[int], twice: bool) -> None:
    blotter = Blotter({"A": "0123456789", "B": "56789abcde"})
    data = noise + b"0123456789abcde" * (2 if twice else 1) + noise
    parts, rest = [], data
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]

    assert b"".join(blotter.blot_parts([*parts, rest])) == blotter.blot(data)


@pytest.mark.parametrize(
    ("value", "blotted"),
    [
        ({"a": f"x{SECRET}y"}, {"a": "x" + "*" * len(SECRET) + "y"}),
        ([1, "\nof two lines"], [1, "\n" + "*" * 12]),
        ({"a\nof two lines": 1, "b": 2}, {"a\n" + "*" * 12: 1, "b": 2}),
    ],
)
def test_texts_and_keys_of_a_document_are_blotted(value: Any, blotted: Any) -> None:
    assert Blotter({"S": SECRET}).blot_json(value) == blotted


def test_a_document_in_a_document_is_seen() -> None:
    """What a program printed as JSON stands in the log as a text: escaped twice there."""
    blotter = Blotter({"S": 'pass"word'})
    document = {"stdout": json.dumps({"key": 'pass"word'})}

    assert blotter.is_in_json(json.dumps(document).encode())
    assert blotter.blot_json(document) == {"stdout": '{"key": "' + "*" * 10 + '"}'}


def test_what_json_writes_with_its_syntax_takes_the_smallest_part_along() -> None:
    """A number, and a key file that somebody has read as JSON."""
    blotter = Blotter({"PIN": "1234567890", "KEY": '{"id":7,"key":"k"}'})

    assert blotter.blot_json({"n": [1234567890, 5]}) == {"n": ["*" * 8, 5]}
    assert blotter.blot_json([{"id": 7, "key": "k"}, 1]) == ["*" * 16, 1]


def test_keys_that_become_the_same_stay_apart() -> None:
    blotter = Blotter({"A": "aaaaaaaa", "B": "bbbbbbbb"})

    assert blotter.blot_json({"aaaaaaaa": 1, "bbbbbbbb": 2, "c": 3}) == {"*" * 8: 1, "*" * 7 + "2": 2, "c": 3}


def test_nothing_to_find_changes_nothing() -> None:
    blotter = Blotter({"SHORT": "abc"})

    assert blotter.blot(b"abc") == b"abc"
    assert not blotter.is_in_json(b"abc")
    assert b"".join(blotter.blot_parts([b"a", b"bc"])) == b"abc"


def test_it_shows_nobody_what_it_looks_for() -> None:
    assert repr(Blotter({"S": SECRET})) == "Blotter(S)"


def _occurrences_blotted(secret: bytes, data: bytes) -> bytes:
    """Byte by byte, as it is meant."""
    blotted = bytearray(data)
    for at in range(len(data)):
        if data.startswith(secret, at):
            blotted[at : at + len(secret)] = b"*" * len(secret)
    return bytes(blotted)


@pytest.mark.parametrize("secret", ["aaaaaaaaaaaa", "abababababab", "abcabcabcab", "abcdefghijkl"])
@pytest.mark.parametrize("length", [11, 12, 13, 4_095, 4_107, 4_108, 4_109, 13_000])
def test_a_value_that_overlaps_itself_on_and_on_is_blotted_to_its_last_byte(secret: str, length: int) -> None:
    data = b"xa" + (secret.encode() * length)[:length] + b"b" + secret.encode() + b"a"

    assert Blotter({"S": secret}).blot(data) == _occurrences_blotted(secret.encode(), data)
