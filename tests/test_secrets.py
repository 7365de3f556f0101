"""A secret value is found in every form in which a command may print it, and nothing else is changed."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hooks.secrets import READ_BYTES, Masker

# Without the characters of a mark, so that a mark is never mistaken for a value.
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="[]"), min_size=8, max_size=200)
BYTES = st.binary(max_size=300)


def masker(value: str) -> Masker:
    return Masker({"TOKEN": value})


@given(value=VALUES, before=BYTES, after=BYTES)
def test_a_value_is_masked_wherever_it_stands(value: str, before: bytes, after: bytes) -> None:
    masked = masker(value).mask_bytes(before + value.encode() + after)

    assert value.encode() not in masked
    assert b"[secret TOKEN]" in masked


@given(value=VALUES, before=BYTES, after=BYTES)
def test_a_value_is_masked_in_base64_whatever_stands_around_it(value: str, before: bytes, after: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(before + value.encode() + after)

        masked = masker(value).mask_bytes(encoded)

        # At each border one character holds bits of a neighbour as well; it may stay, and one or two beside it.
        assert masked.count(b"[secret TOKEN]") >= 1
        rest = masked.split(b"[secret TOKEN]", 1)
        start = len(before) * 4 // 3
        assert len(rest[0]) <= start + 3


@given(value=VALUES)
def test_a_value_is_masked_in_json(value: str) -> None:
    for ensure_ascii in (True, False):
        document = json.dumps({"a": [value, f"x{value}y"]}, ensure_ascii=ensure_ascii)

        assert json.loads(masker(value).mask(document)) == {"a": ["[secret TOKEN]", "x[secret TOKEN]y"]}


def escaped(value: str, ways: list[int]) -> str:
    """The value in JSON, each character in one of the ways in which it may be written."""

    def written(number: int, character: str) -> str:
        if ways[number % len(ways)] == 0:
            return json.dumps(character, ensure_ascii=False)[1:-1]
        if ways[number % len(ways)] == 1 and character == "/":
            return "\\/"
        units = character.encode("utf-16-be").hex()
        return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

    return "".join(written(number, character) for number, character in enumerate(value))


@example(value="00000000", ways=[2])
@given(value=VALUES, ways=st.lists(st.integers(0, 2), min_size=1, max_size=9))
def test_a_value_is_masked_in_json_whatever_is_escaped(value: str, ways: list[int]) -> None:
    document = f'{{"a": "x{escaped(value, ways)}y"}}'
    assert json.loads(document) == {"a": f"x{value}y"}

    assert masker(value).mask(document) == '{"a": "x[secret TOKEN]y"}'


@pytest.mark.parametrize("document", [r'"p\u0026ss\u003Cw/rd"', r'"p&ss<w\/rd"', r'C:\"p\u0026ss<w\/rd"'])
def test_what_go_and_php_escape_is_masked(document: str) -> None:
    masked = masker("p&ss<w/rd").mask(document)

    assert masked == document[: document.index("p")] + '[secret TOKEN]"'


@given(value=VALUES)
def test_a_value_is_masked_in_json_values_and_their_keys(value: str) -> None:
    document = {"a": [1, None, True, 0.5, {"b": value}], value: "c"}

    assert masker(value).mask_value(document) == {
        "a": [1, None, True, 0.5, {"b": "[secret TOKEN]"}],
        "[secret TOKEN]": "c",
    }


def test_each_line_of_a_value_is_masked_alone() -> None:
    value = "-----BEGIN KEY-----\nAAAABBBBCCCC\nshort\n-----END KEY-----"

    assert masker(value).mask("x AAAABBBBCCCC\r\nshort") == "x [secret TOKEN]\r\nshort"
    assert masker(value).mask(value) == "[secret TOKEN]"


def test_wrapped_base64_is_masked() -> None:
    value = "".join(f"{number:03d}" for number in range(100))

    for printed in (value, f"{value}\n"):
        lines = base64.encodebytes(printed.encode()).decode().splitlines()
        assert [masker(value).mask(line)[:14] for line in lines] == ["[secret TOKEN]"] * len(lines)


@given(
    value=st.text(st.characters(codec="utf-8", exclude_characters="[]"), min_size=8, max_size=90),
    before=BYTES,
    after=BYTES,
    width=st.integers(4, 90),
    line_end=st.sampled_from(["\n", "\r\n", "\n    ", "\\n", "\\r\\n"]),
)
def test_base64_is_masked_wherever_it_is_broken(
    value: str, before: bytes, after: bytes, width: int, line_end: str
) -> None:
    encoded = base64.b64encode(before + value.encode() + after).decode()
    broken = line_end.join(encoded[at : at + width] for at in range(0, len(encoded), width))

    masked = masker(value).mask(broken)

    assert "[secret TOKEN]" in masked
    start = len(before) * 4 // 3
    assert len(masked.split("[secret TOKEN]", 1)[0]) <= start + 3 + (start // width + 1) * len(line_end)


@given(value=VALUES, noise=BYTES, sizes=st.lists(st.integers(1, 400), max_size=12))
@settings(max_examples=50)
def test_a_file_is_masked_in_all_forms_wherever_the_reading_is_cut(value: str, noise: bytes, sizes: list[int]) -> None:
    printed = (
        noise + base64.encodebytes(noise + value.encode()) + json.dumps(value).replace("/", "\\/").encode() + noise
    )
    parts, rest = [], printed
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    replacement = masker(value)._in_bytes

    assert b"".join(replacement.replace_parts([*parts, rest])) == replacement.replace(printed)
    assert replacement.is_found_in([*parts, rest])


def test_of_two_values_the_longer_one_wins() -> None:
    both = Masker({"SHORT": "12345678", "LONG": "12345678-and-more"})

    assert both.mask("12345678-and-more, 12345678") == "[secret LONG], [secret SHORT]"


def test_a_short_value_is_told_and_left_alone() -> None:
    short = Masker({"PIN": "1234567", "EMPTY": "", "TOKEN": "12345678"})

    assert short.unmasked_names == ("PIN",)
    assert short.mask("1234567 x 12345678") == "1234567 x [secret TOKEN]"


def test_a_value_that_is_no_text_is_masked_in_bytes() -> None:
    assert masker("\udcff" * 8).mask_bytes(b"a" + b"\xff" * 8) == b"a[secret TOKEN]"


def test_text_with_a_lone_surrogate_is_no_obstacle() -> None:
    assert masker("12345678").mask("\ud800 12345678") == "\ud800 [secret TOKEN]"


def test_nothing_shows_a_value() -> None:
    assert repr(masker("12345678")) == "Masker(TOKEN)"


@pytest.mark.parametrize("before", range(READ_BYTES - 26, READ_BYTES + 2))
def test_a_value_in_a_file_is_masked_wherever_the_reading_is_cut(tmp_path: Path, before: int) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"x" * before + b"12345678\n12345678 and 12345678")

    assert Masker({"TOKEN": "12345678", "LONG": "12345678\n12345678"}).mask_file(path)

    assert path.read_bytes() == b"x" * before + b"[secret LONG] and [secret TOKEN]"


def test_a_masked_file_keeps_its_mode_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"12345678")
    path.chmod(0o640)
    (tmp_path / ".stdout.masked").write_bytes(b"left by one that was killed")

    assert masker("12345678").mask_file(path)

    assert [(file.name, file.stat().st_mode & 0o777) for file in tmp_path.iterdir()] == [("stdout", 0o640)]


def test_a_file_without_a_value_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"innocent")
    before = path.stat()

    assert not masker("12345678").mask_file(path)
    assert not masker("12345678").mask_file(tmp_path / "missing")

    assert path.stat() == before
