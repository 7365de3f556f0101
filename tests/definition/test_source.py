"""Whatever the bytes are, the answer is a tree or a message with a place."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.definition import source as source_module
from hooks.definition.source import read_file, read_source
from hooks.definition.tree import MAX_DEPTH, to_value
from hooks.errors import DefinitionError, Place, Problem


def value_of(text: str | bytes, file: str = "f.yaml") -> Any:
    source, root = read_source(text.encode() if isinstance(text, str) else text, file)
    source.raise_problems()
    return to_value(root)


def problems_of(text: str | bytes, file: str = "f.yaml") -> list[Problem]:
    with pytest.raises(DefinitionError) as caught:
        value_of(text, file)
    return caught.value.problems


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("on", "on"),
        ("no", "no"),
        ("yes", "yes"),
        ("22:22", "22:22"),
        ("1_000", "1_000"),
        ("2026-01-01", "2026-01-01"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("+7", 7),
        ("-0", 0),
        ("1.10", 1.1),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("~", None),
        ("", None),
        ("null", None),
        ("True", True),
        ("false", False),
        ("tRUE", "tRUE"),
        ("0b11", "0b11"),
        ("1e", "1e"),
        ("'1'", "1"),
        ('"a\\tb"', "a\tb"),
        ("!!str 010", "010"),
        ('!!int "3"', 3),
        ("!!float 3", 3.0),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_plain_scalars_mean_what_yaml_1_2_says(written: str, meant: Any) -> None:
    """B52"""
    value = value_of(f"x: {written}\n")["x"]

    assert value == meant
    assert type(value) is type(meant)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (b"", 1, 1, "empty"),
        (b"  \n\n", 1, 1, "empty"),
        (b"# only a comment\n", 1, 1, "empty"),
        (b"a: \xff\xfe\xfa", 1, 4, "0xff is not UTF-8"),
        (b"a: 1\nb: \xb2\n", 2, 4, "0xb2 is not UTF-8"),
        (b"\x7fELF\x02\x01\x01\x00\x00", 1, 5, "0x02 does not belong into text"),
        (b"a: x\n\x00", 2, 1, "0x00 does not belong into text"),
        ("workflow_id: x".encode("utf-16"), 1, 1, "UTF-16"),
        (b"a:\n\tb: 1\n", 2, 1, "a tab cannot indent"),
        (b"a: [1, 2\nb: 3\n", 2, 2, "not valid YAML"),
        (b'a: "never closed\n', 2, 1, "not valid YAML"),
        (b"a: b: c\n", 1, 5, "mapping values are not allowed"),
        (b"a: 1\n---\nb: 2\n", 2, 1, "a second document"),
        (b"<<: {a: 1}\n", 1, 1, "merge keys"),
        (b"? [1, 2]\n: x\n", 1, 3, "a key must be text"),
        (b"a: {{x}}\n", 1, 5, "a key must be text"),
        (b"a: !!python/object:os.system x\n", 1, 4, "tag `!!python/object:os.system`"),
        (b"a: !mine {b: 1}\n", 1, 4, "tag `!mine`"),
        (b"a: .nan\n", 1, 4, ".nan is not a number"),
        (b"a: -.inf\n", 1, 4, "-.inf is not a number"),
        (b"a: 1e999\n", 1, 4, "too large"),
        (b"a: 18446744073709551616\n", 1, 4, "64 bit"),
        (b"a: " + b"9" * 100_000 + b"\n", 1, 4, "64 bit"),
        (b"a: *nowhere\n", 1, 4, "names no anchor"),
        (b"a: &x [*x]\n", 1, 8, "stands inside what it names"),
        (b'a: "\\ud83d\\ude00"\n', 1, 7, "escape"),
        (b"%YAML 9.9\n---\na: 1\n", 1, 1, "not valid YAML"),
    ],
)
def test_garbage_is_answered_with_a_place_and_a_reason(text: bytes, line: int, column: int, words: str) -> None:
    found = problems_of(text)[0]

    assert found.place == Place("f.yaml", line, column)
    assert words in found.message


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "empty"),
        ("{", 1, 2, "a key in double quotes, found the end of the file"),
        ("[1, 2", 1, 6, "expected `,` or `]`"),
        ('{"a": 1,}', 1, 9, "a key in double quotes"),
        ('{"a" 1}', 1, 6, "expected `:`"),
        ("{'a': 1}", 1, 2, "a key in double quotes"),
        ('{"a": 01}', 1, 7, "a value"),
        ('{"a": NaN}', 1, 7, "expected a value, found `NaN`"),
        ('{"a": 1e999}', 1, 7, "too large"),
        ('{"a": 99999999999999999999}', 1, 7, "64 bit"),
        ('{"a": "x}', 1, 7, "Unterminated"),
        ('{"a": "\\q"}', 1, 8, "escape"),
        ('{"a": "\\ud800"}', 1, 7, "lone surrogate"),
        ('{"a": 1}\n{"b": 2}', 2, 1, "the end of the document"),
        ('{"a": 1,\n "a": 2}', 2, 2, "duplicate key `a`; the first one is at f.json:1:2"),
    ],
)
def test_json_faults_have_places_too(text: str, line: int, column: int, words: str) -> None:
    found = problems_of(text, "f.json")[0]

    assert found.place == Place("f.json", line, column)
    assert words in found.message


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", '{"a":', "[[],"])
def test_deep_nesting_is_a_message_not_a_crash(opening: str) -> None:
    found = problems_of(opening * 5_000)

    assert found[-1].message == f"nested deeper than {MAX_DEPTH} levels"
    assert found[-1].place is not None


def test_deep_json_is_a_message_too() -> None:
    assert problems_of("[" * 100_000, "f.json")[0] == Problem(
        f"nested deeper than {MAX_DEPTH} levels",
        Place("f.json", 1, MAX_DEPTH + 1),
        "flatten the value, or pass it as JSON text",
    )


def test_nesting_up_to_the_bound_is_read() -> None:
    assert value_of("[" * MAX_DEPTH + "]" * MAX_DEPTH) == json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)


def test_aliases_are_expanded() -> None:
    assert value_of("a: &x {b: [1]}\nc: *x\nd: [*x, *x]\n") == {
        "a": {"b": [1]},
        "c": {"b": [1]},
        "d": [{"b": [1]}, {"b": [1]}],
    }


def test_a_billion_laughs_are_cut_short() -> None:
    lines = ["a0: &a0 [" + "x, " * 10 + "]"] + [f"a{n}: &a{n} [" + f"*a{n - 1}, " * 10 + "]" for n in range(1, 12)]

    assert "more than 500000 values, aliases expanded" in problems_of("\n".join(lines))[0].message


def test_aliases_cannot_nest_deeper_than_the_bound() -> None:
    deep = "[" * 60 + "]" * 60
    text = f"a: &a {deep}\nb: {'[' * 60}*a{']' * 60}\n"

    assert "nested deeper" in problems_of(text)[0].message


def test_a_duplicate_key_is_told_with_both_places() -> None:
    """B53"""
    assert problems_of("a: 1\nb:\n  c: 1\n  d: 2\n  'c': 3\n") == [
        Problem(
            "duplicate key `c`; the first one is at f.yaml:3:3",
            Place("f.yaml", 5, 3),
            "remove or rename one of the two",
        )
    ]


def test_all_problems_of_a_file_come_at_once_in_order() -> None:
    found = problems_of("a: .nan\na: 1\nb: !x 1\n<<: {}\n")

    assert [str(problem.place) for problem in found] == ["f.yaml:1:4", "f.yaml:2:1", "f.yaml:3:4", "f.yaml:4:1"]


def test_a_byte_order_mark_is_passed_over() -> None:
    assert value_of("\ufeffa: 1\n".encode()) == {"a": 1}


def test_carriage_returns_count_as_one_line_end() -> None:
    assert problems_of("a: 1\r\nb: 2\r\nb: 3\r\n")[0].place == Place("f.yaml", 3, 1)


def test_json_escapes_and_separators_survive() -> None:
    text = '{"pair": "\\ud83d\\ude00", "line": "a\u2028b\u0085c", "slash": "\\/",\t"tab": "\\t", "nul": "\\u0000"}'

    assert value_of(text, "f.json") == json.loads(text)
    assert value_of(text, "f.yaml") == json.loads(text)


def test_a_huge_file_is_refused_by_its_size(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    with file.open("wb") as out:
        out.truncate(source_module.MAX_BYTES * 4)

    with pytest.raises(DefinitionError, match="larger than 16 MiB"):
        read_source(read_file(file), "huge.yaml")


def test_an_endless_file_is_refused_by_its_size() -> None:
    with pytest.raises(DefinitionError, match="larger than 16 MiB"):
        read_source(read_file(Path("/dev/zero")), "/dev/zero")


def test_a_missing_file_names_a_similar_one(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text("")

    with pytest.raises(DefinitionError) as caught:
        read_file(tmp_path / "workflwo.yaml")
    assert caught.value.problems[0].fix == f"did you mean `{tmp_path / 'workflow.yaml'}`?"


@pytest.mark.parametrize("name", ["", "below"])
def test_a_directory_or_a_path_through_a_file_is_a_message(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path if not name else tmp_path / "file" / name

    with pytest.raises(DefinitionError):
        read_file(path)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(json_values)
@settings(max_examples=60, deadline=None)
def test_a_json_document_means_the_same_under_any_name(value: Any) -> None:
    text = json.dumps(value)

    assert value_of(text, "f.json") == value
    if text[0] in "{[":
        assert value_of(text, "f.yaml") == value


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_bytes_whatever_raise_anything_else(data: bytes) -> None:
    for file in ("f.yaml", "f.json"):
        with suppress(DefinitionError):
            value_of(data, file)
