# ruff: noqa: E501  (a row of a table is one line)
"""Templates: binding keeps types where it can, and never looks twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.expressions.references import (
    BadReferenceError,
    MissingValueError,
    OutputReference,
    ParamReference,
    StatusReference,
    UnresolvedReferenceError,
)
from hooks.expressions.scope import Previous, RunScope
from hooks.expressions.templates import bind, bind_text, bind_word, escape, references_in

OUTPUTS: dict[str, Any] = {
    "a": {"stdout": "hello\n", "list": [1, 2.5, None], "flag": True},
    "b.c": "just ${params.n} text",
}
SCOPE = RunScope(
    run_id="w-1",
    params={"n": 3, "s": "x'; touch /tmp/pwned; echo '", "none": None},
    node_ids={"a", "b.c", "late"},
    output_of=OUTPUTS.__getitem__,
    status_of=lambda node_id: "succeeded" if node_id in OUTPUTS else None,
)


@pytest.mark.parametrize(
    ("template", "bound"),
    [
        ("plain", "plain"),
        ("", ""),
        ("${params.n}", 3),
        ("${params.none}", None),
        ("${a.output.list}", [1, 2.5, None]),
        ("${a.output.list[1]}", 2.5),
        (" ${params.n}", " 3"),
        ("${params.n}${params.n}", "33"),
        ("${a.output.list}!", "[1,2.5,null]!"),
        ("${a.output.flag} ${params.none}", "true null"),
        ("$${params.n}", "${params.n}"),
        ("$$${params.n}", "$${params.n}"),
        ("$ {x} $x }", "$ {x} $x }"),
        ("${b.c.output}", "just ${params.n} text"),
        ("${b.c.output}.", "just ${params.n} text."),
        ("${run.id}/${a.status}", "w-1/succeeded"),
        ("${params.s}", "x'; touch /tmp/pwned; echo '"),
        ({"$ref": "a.output.list"}, [1, 2.5, None]),
        ({"$ref": "a.output.nothing", "default": {"k": "${params.n}"}}, {"k": "${params.n}"}),
        ({"$ref": "params.missing", "default": None}, None),
        ({"$ref": "late.output", "default": 0}, 0),
        ({"${params.n}": ["${params.n}", 7, {"k": "${params.n}"}]}, {"${params.n}": [3, 7, {"k": 3}]}),
    ],
)
def test_binding_replaces_references_once(template: Any, bound: Any) -> None:
    """B48: what was bound is data."""
    assert bind(template, SCOPE) == bound


def test_in_a_place_for_text_any_value_becomes_text() -> None:
    assert bind_text("${a.output}", SCOPE) == '{"flag":true,"list":[1,2.5,null],"stdout":"hello\\n"}'
    assert bind_text("${params.n}", SCOPE) == "3"
    assert bind_text({"$ref": "a.output.flag"}, SCOPE) == "true"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("${params.missing}", "`params.missing` has no value: this param was not given and has no default (given: n, s, none)"),
        ("${a.output.stdot}", "`a.output.stdot` has no value: `a.output` has no key `stdot`; it has stdout, list, flag"),
        ("${late.output}", "`late.output` has no value: the node has no output"),
        ("${late.status}", "`late.status` has no value: the node has not ended yet"),
        ({"$ref": "a.output.x"}, "`a.output.x` has no value: `a.output` has no key `x`; it has stdout, list, flag"),
    ],
)  # fmt: skip
def test_what_cannot_be_resolved_is_an_error_that_says_why(template: Any, message: str) -> None:
    """B50"""
    with pytest.raises(UnresolvedReferenceError) as caught:
        bind(template, SCOPE)
    assert str(caught.value) == message


@pytest.mark.parametrize("template", ["${", "x ${params.n", "${a.output.${params.n}}", "${}"])
def test_what_is_no_reference_is_refused(template: str) -> None:
    with pytest.raises(BadReferenceError):
        bind(template, SCOPE)


def test_references_are_found_wherever_they_stand() -> None:
    template = {
        "x": ["${params.n} and ${a.status}", {"$ref": "b.c.output", "default": "${params.s}"}],
        "$${y}": "$${z}",
    }

    assert references_in(template, SCOPE.node_ids) == [
        ParamReference("n"),
        StatusReference("a"),
        OutputReference("b.c"),
    ]


def at_item(item: Any, index: int) -> RunScope:
    return RunScope("w-1", {}, {"a"}, OUTPUTS.__getitem__, lambda _: None, item=item, index=index)


@pytest.mark.parametrize(
    ("template", "item", "bound"),
    [
        ("${item}", {"a": [1]}, {"a": [1]}),
        ("${item}", None, None),
        ("${item.a[0]} of ${index}", {"a": [1]}, "1 of 7"),
        ("${item[1]}", ["x", "y"], "y"),
        ("${index}", "x", 7),
    ],
)
def test_a_fan_out_has_an_item_and_its_index(template: str, item: Any, bound: Any) -> None:
    assert bind(template, at_item(item, 7)) == bound


@pytest.mark.parametrize("template", ["${item}", "${index}", "${secrets.KEY}"])
def test_what_the_scope_does_not_have_is_an_error(template: str) -> None:
    with pytest.raises(UnresolvedReferenceError):
        bind(template, SCOPE)


def in_round(previous: Previous | None) -> RunScope:
    return RunScope("w-1", {}, {"ok", "draft"}, OUTPUTS.__getitem__, lambda _: None, previous_of=lambda _: previous)


SECOND_ROUND = in_round(Previous(output={"title": "t", "note": None}, status="succeeded", comment="shorter"))


@pytest.mark.parametrize(
    ("template", "first", "second"),
    [
        ("${draft.previous.output.title}", None, "t"),
        ("${draft.previous.output}", None, {"title": "t", "note": None}),
        ("<${draft.previous.output.title}>", "<>", "<t>"),
        ("<${draft.previous.output.note}>", "<>", "<>"),
        ("${ok.previous.comment}", "", "shorter"),
        ("${ok.previous.status}", "", "succeeded"),
        ({"$ref": "draft.previous.output.title"}, None, "t"),
        ({"$ref": "draft.previous.output.title", "default": "none yet"}, "none yet", "t"),
    ],
)
def test_the_first_round_has_nothing_before_it(template: Any, first: Any, second: Any) -> None:
    assert bind(template, in_round(None)) == first
    assert bind(template, SECOND_ROUND) == second


@pytest.mark.parametrize("template", ["${draft.previous.output.title}", {"$ref": "draft.previous.output.title"}])
def test_nothing_before_is_empty_in_a_place_for_text(template: Any) -> None:
    assert bind_text(template, in_round(None)) == ""
    assert bind_word(template, in_round(None)) == ""
    assert bind_word(template, SECOND_ROUND) == "t"


def test_a_word_keeps_every_other_type() -> None:
    assert bind_word("${params.none}", SCOPE) is None
    assert bind_word("${params.n}", SCOPE) == 3


def test_a_part_that_a_previous_output_lacks_is_an_error() -> None:
    with pytest.raises(MissingValueError, match=r"it has title, note"):
        bind("${draft.previous.output.titel}", SECOND_ROUND)


def test_an_error_of_the_scope_is_not_hidden_by_a_default() -> None:
    """A value that is there but cannot be had (an output that was cut) is no missing value."""

    def output_of(node_id: str) -> Any:
        raise UnresolvedReferenceError(f"{node_id}.output", "it was cut")

    scope = RunScope("w-1", {}, {"a"}, output_of, lambda _: None)

    with pytest.raises(UnresolvedReferenceError, match="it was cut"):
        bind({"$ref": "a.output", "default": 1}, scope)


@given(st.text(alphabet="${}ab."))
@settings(max_examples=300, deadline=None)
def test_escaped_text_binds_to_itself(text: str) -> None:
    assert bind(escape(text), SCOPE) == text
