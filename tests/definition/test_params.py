# ruff: noqa: E501  (a row of a table is one line)
"""Params: one typed value, whichever way it comes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hooks.definition.params import load_params_file, resolve_params
from hooks.errors import DefinitionError, Place, Problem
from tests.definition.builders import HEAD, ONE_NODE, load, problem


def resolve(
    declarations: str,
    *,
    flags: Sequence[str] = (),
    file: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    workflow = load(f"{HEAD}params: {declarations}\n{ONE_NODE}")
    return resolve_params(workflow, flags=flags, file_values=file, environ=environ or {})


def refused(declarations: str, **given: Any) -> list[Problem]:
    with pytest.raises(DefinitionError) as caught:
        resolve(declarations, **given)
    return caught.value.problems


@pytest.mark.parametrize(
    ("type_", "text", "in_file", "value"),
    [
        ("string", "1.10", "1.10", "1.10"),
        ("string", "010", "010", "010"),
        ("string", "no", "no", "no"),
        ("string", "22:22", "22:22", "22:22"),
        ("string", "a\nb", '"a\\nb"', "a\nb"),
        ("string", "1e3", "1e3", "1e3"),
        ("integer", "010", "010", 10),
        ("integer", "-3", "-3", -3),
        ("number", "1e3", "1e3", 1000.0),
        ("number", "5", "5", 5),
        ("boolean", "true", "true", True),
        ("boolean", "false", "false", False),
        ("array", '["a", 1]', "[a, 1]", ["a", 1]),
        ("object", '{"a": [1.5]}', "{a: [1.5]}", {"a": [1.5]}),
    ],
)
def test_a_value_is_the_same_whichever_way_it_comes(
    tmp_path: Path, type_: str, text: str, in_file: str, value: Any
) -> None:
    """B52"""
    declarations = f"{{x: {{type: {type_}}}}}"
    file = tmp_path / "params.yaml"
    file.write_text(f"x: {in_file}\n")
    with_default = f"{{x: {{type: {type_}, default: {in_file}}}}}"

    ways = [
        resolve(declarations, flags=[f"x={text}"]),
        resolve(declarations, file=load_params_file(file)),
        resolve(declarations, file={"x": value}),
        resolve(declarations, environ={"HOOKS_PARAM_X": text}),
        resolve(with_default),
    ]

    assert [(json.dumps(way), type(way["x"])) for way in ways] == [(json.dumps({"x": value}), type(value))] * 5


def test_a_flag_wins_over_the_file_over_the_environment_over_the_default(tmp_path: Path) -> None:
    declarations = "{a-b: {default: d}, c: {default: d}, d: {default: d}, e: {default: d}}"
    file = tmp_path / "params.json"
    file.write_text('{"a-b": "file", "c": "file"}')
    environ = {"HOOKS_PARAM_A_B": "env", "HOOKS_PARAM_C": "env", "HOOKS_PARAM_D": "env"}

    assert resolve(declarations, flags=["a-b=flag"], file=load_params_file(file), environ=environ) == {
        "a-b": "flag",
        "c": "file",
        "d": "env",
        "e": "d",
    }


def test_a_param_that_is_not_given_and_has_no_default_is_absent() -> None:
    assert resolve("{x: {}, y: {type: integer}}") == {}


def test_values_may_hold_equals_signs_and_be_empty() -> None:
    assert resolve("{x: {}, y: {}}", flags=["x=a=b", "y="]) == {"x": "a=b", "y": ""}


def test_every_problem_is_told_at_once() -> None:
    declarations = "{dir: {required: true}, n: {type: integer}, s: {required: true}}"

    assert refused(declarations, flags=["dri=x", "n=many", "s= ", "novalue", "n=2"]) == [
        Problem("`-p novalue` has no value", fix="write `-p novalue=VALUE`"),
        Problem("`-p n=…` is given twice", fix="remove one of the two"),
        Problem("unknown param `dri`", fix="did you mean `dir`?"),
        Problem(
            "the param `dir` (string) is required and is missing",
            fix="give it: `-p dir=VALUE`, a params file, or HOOKS_PARAM_DIR",
        ),
        Problem("`-p n` must be an integer, but is 'many'", fix="write a whole number"),
        Problem(
            "the param `s` (string) is required, so it may not be empty or blank",
            fix="give it: `-p s=VALUE`, a params file, or HOOKS_PARAM_S; one that may be empty is not `required`",
        ),
    ]


def test_unknown_params_list_the_known_ones() -> None:
    assert refused("{dir: {}, depth: {}}", flags=["zzz=1"]) == [
        Problem("unknown param `zzz`", fix="the params of this workflow: `depth`, `dir`")
    ]


def test_a_problem_of_a_params_file_has_a_place(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text("n: many\nother: 1\n")

    assert [found.place for found in refused("{n: {type: integer}}", file=load_params_file(file))] == [
        Place(str(file), 2, 8),
        Place(str(file), 1, 4),
    ]


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        ("{type: integer}", "1.0"),
        ("{type: integer}", "1_000"),
        ("{type: integer}", "18446744073709551616"),
        ("{type: integer, required: true}", " "),
        ("{type: number}", "nan"),
        ("{type: number}", ".inf"),
        ("{type: number}", "1e999"),
        ("{type: boolean}", "yes"),
        ("{type: boolean}", "1"),
        ("{type: array}", "a,b"),
        ("{type: array}", "{}"),
        ("{type: object}", '{"a": 1, "a": 2}'),
        ("{type: object}", '{"a": NaN}'),
        ("{type: array}", "[" * 5_000),
        ("{type: string}", "\udcff"),
        ("{type: integer, min: 1}", "0"),
        ("{type: number, max: 1.5}", "1.6"),
        ("{enum: [a, b]}", "c"),
        ("{type: integer, enum: [1, 2]}", "3"),
        ("{format: date}", "2026-02-30"),
        ("{format: date}", "20260201"),
        ("{format: date-time}", "2026-02-01 12:00"),
        ("{format: date-time}", "2026-02-01T25:00:00Z"),
        ("{format: email}", "nobody"),
        ("{format: email}", "a b@example.org"),
    ],
)
def test_a_value_that_breaks_its_declaration_is_refused(declaration: str, text: str) -> None:
    assert len(refused(f"{{x: {declaration}}}", flags=[f"x={text}"])) == 1


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        ("{format: date}", "2026-02-28"),
        ("{format: date-time}", "2026-02-01T12:00:00.5+01:00"),
        ("{format: date-time}", "2026-02-01t12:00:00z"),
        ("{format: email}", "first.last@mail.example.org"),
        ("{enum: [a, 1.10]}", "1.10"),
        ("{type: number, min: 0, max: 0.5}", "0.5"),
    ],
)
def test_a_value_that_keeps_its_declaration_is_taken(declaration: str, text: str) -> None:
    assert resolve(f"{{x: {declaration}}}", flags=[f"x={text}"]).keys() == {"x"}


@pytest.mark.parametrize(
    ("declaration", "line_column", "message"),
    [
        ("x: 3", (2, 14), "the param `x` must be a mapping, but is the number `3`"),
        ("x: {type: text}", (2, 21), "the param `x`: `type` must be one of `array`, `boolean`, `integer`, `number`, `object`, `string`, but is the text 'text'"),
        ("x: {type: integer, default: 1.5}", (2, 39), "the default of `x` must be an integer, but is 1.5"),
        ("x: {type: boolean, default: no}", (2, 39), "the default of `x` must be a boolean, but is 'no'"),
        ("x: {default: true}", (2, 24), "the default of `x` must be a string, but is true"),
        ("x: {default: null}", (2, 24), "the default of `x` must be a string, but is null"),
        ("x: {min: 1}", (2, 15), "`min` does not fit the type string of `x`"),
        ("x: {type: integer, min: 3, max: 1}", (2, 38), "`max` 1 is less than `min` 3"),
        ("x: {type: integer, format: date}", (2, 30), "`format` does not fit the type integer of `x`"),
        ("x: {enum: []}", (2, 21), "`enum` must be a list of values, but is a list"),
        ("x: {enum: [a], default: b}", (2, 35), "the default of `x` is 'b'"),
        ("x: {secret: true}", (2, 15), "`secret` does not belong into the param `x`"),
        ("x y: {}", (2, 11), "'x y' is no name for a param"),
        ("a-b: {}, a_b: {}", (2, 20), "the params `a-b` and `a_b` would share HOOKS_PARAM_A_B"),
        ("x: {}, x: {}", (2, 18), "duplicate key `x`; the first one is at w.yaml:2:11"),
    ],
)  # fmt: skip
def test_a_faulty_declaration_is_refused_with_its_place(
    declaration: str, line_column: tuple[int, int], message: str
) -> None:
    """B52, B53"""
    found = problem(f"{HEAD}params: {{ {declaration} }}\n{ONE_NODE}")

    assert found.message == message
    assert found.place is not None
    assert (found.place.line, found.place.column) == line_column


@pytest.mark.parametrize(("text", "message"), [("- a\n", "must be a mapping"), ("# later\n", "the file is empty")])
def test_a_params_file_must_be_a_mapping(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(text)

    with pytest.raises(DefinitionError, match=message) as caught:
        load_params_file(file)
    assert caught.value.problems[0].fix == "write `name: value` lines"
