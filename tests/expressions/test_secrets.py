"""Secrets: named where they belong, filled in there and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.expressions.references import MissingValueError
from hooks.expressions.scope import RunScope
from hooks.expressions.secrets import BoundInput, MissingSecretError, bind_around_secrets, fill_secrets, secrets_named
from hooks.expressions.templates import bind_text


def scope(**params: Any) -> RunScope:
    return RunScope("w-1", params, {"a"}, lambda _: None, lambda _: None)


ENVIRON = {"KEY": "s3cr3t ${KEY} $", "B": "bee"}


@pytest.mark.parametrize(
    ("template", "text", "filled"),
    [
        ("${secrets.KEY}", "${KEY}", "s3cr3t ${KEY} $"),
        ("Bearer ${secrets.B}", "Bearer ${B}", "Bearer bee"),
        ("${secrets.B}${secrets.B}", "${B}${B}", "beebee"),
        ("${params.n}-${secrets.B}", "3-${B}", "3-bee"),
        ("$${B} ${secrets.B}", "$${B} ${B}", "${B} bee"),
        ("${params.mark}${secrets.B}", "$${B}${B}", "${B}bee"),
        ("${params.dollars}${secrets.B}", "${$}${$}${B}", "$$bee"),
        ("${params.dollars}{B}${secrets.B}", "$$${B}${B}", "$${B}bee"),
        ({"$ref": "secrets.B"}, "${B}", "bee"),
    ],
)
def test_a_text_with_a_secret_becomes_an_object_that_is_filled_later(template: Any, text: str, filled: str) -> None:
    bound = bind_around_secrets({"x": template}, scope(n=3, mark="${B}", dollars="$$"))

    assert bound == BoundInput({"x": {"$secret": text}}, ("/x",))
    assert fill_secrets(bound.input, bound.secret_pointers, ENVIRON) == {"x": filled}


def test_pointers_lead_to_secrets_wherever_they_stand() -> None:
    template = {"a/b": [{"~": "${secrets.B}"}, "plain", "${params.n}"], "": "${secrets.KEY}"}
    bound = bind_around_secrets(template, scope(n=3))

    assert bound.secret_pointers == ("/a~1b/0/~0", "/")
    assert secrets_named(bound.input, bound.secret_pointers) == ["B", "KEY"]
    assert fill_secrets(bound.input, bound.secret_pointers, ENVIRON) == {
        "a/b": [{"~": "bee"}, "plain", 3],
        "": ENVIRON["KEY"],
    }


def test_data_that_looks_like_a_secret_is_never_filled() -> None:
    look_alike = {"$secret": "${KEY}"}
    bound = bind_around_secrets({"data": "${params.x}", "literal": {"$secret": "$${KEY}"}}, scope(x=look_alike))

    assert bound == BoundInput({"data": look_alike, "literal": look_alike})
    assert fill_secrets(bound.input, bound.secret_pointers, ENVIRON) == bound.input


def test_filling_leaves_the_value_it_was_given() -> None:
    bound = bind_around_secrets({"x": ["${secrets.B}"]}, scope())
    fill_secrets(bound.input, bound.secret_pointers, ENVIRON)

    assert bound.input == {"x": [{"$secret": "${B}"}]}


def test_a_missing_secret_is_named() -> None:
    bound = bind_around_secrets({"x": "${secrets.B} ${secrets.GONE}"}, scope())

    with pytest.raises(MissingSecretError) as caught:
        fill_secrets(bound.input, bound.secret_pointers, ENVIRON)
    assert caught.value.name == "GONE"
    assert "bee" not in str(caught.value)


@pytest.mark.parametrize("pointer", ["/y", "/x/0", "/x", "", "/list/9", "/list/0"])
def test_a_pointer_that_leads_to_no_secret_is_refused(pointer: str) -> None:
    value = {"x": {"$secret": "${B}", "more": 1}, "list": ["${B}"]}

    with pytest.raises(ValueError, match="`"):
        fill_secrets(value, [pointer], ENVIRON)


def test_an_unresolved_reference_beside_a_secret_is_an_error() -> None:
    with pytest.raises(MissingValueError):
        bind_around_secrets({"x": "${secrets.B} ${params.nothing}"}, scope())


@given(before=st.text(alphabet="${}AB"), after=st.text(alphabet="${}AB"))
@settings(max_examples=300, deadline=None)
def test_whatever_stands_around_a_secret_is_kept(before: str, after: str) -> None:
    bound = bind_around_secrets(["${params.before}${secrets.A}${params.after}"], scope(before=before, after=after))

    assert fill_secrets(bound.input, bound.secret_pointers, {"A": "xyz"}) == [f"{before}xyz{after}"]


def test_in_a_place_for_text_everything_else_becomes_text() -> None:
    bound = bind_around_secrets({"A": "${params.n}", "B": "${secrets.B}"}, scope(n=3), bind_text)

    assert bound == BoundInput({"A": "3", "B": {"$secret": "${B}"}}, ("/B",))
