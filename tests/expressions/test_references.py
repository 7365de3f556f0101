"""References: what a path names, and what is said where it names nothing."""

from __future__ import annotations

import pytest

from hooks.expressions.references import (
    BadReferenceError,
    IndexReference,
    ItemReference,
    MissingValueError,
    OutputReference,
    ParamReference,
    PreviousReference,
    Reference,
    RunIdReference,
    SecretReference,
    StatusReference,
    follow,
    parse_reference,
)

NODES = {"a", "a.b", "a.output", "my-node", "x..y", "0"}


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("params.x", ParamReference("x")),
        (" params.x.y[0] ", ParamReference("x", ("y", 0))),
        ("run.id", RunIdReference()),
        ("a.output", OutputReference("a")),
        ("a.output.k.l[12]", OutputReference("a", ("k", "l", 12))),
        ('a.output["any key"].é', OutputReference("a", ("any key", "é"))),
        ("a.status", StatusReference("a")),
        ("a.b.output.c", OutputReference("a.b", ("c",))),
        ("a.output.output", OutputReference("a.output")),
        ("a.output.outputs", OutputReference("a", ("outputs",))),
        ("a.output.status", StatusReference("a.output")),
        ("my-node.output", OutputReference("my-node")),
        ("x..y.status", StatusReference("x..y")),
        ("0.output.0", OutputReference("0", ("0",))),
        ("item", ItemReference()),
        ("item.a[0]", ItemReference(("a", 0))),
        ("item[1]", ItemReference((1,))),
        ("index", IndexReference()),
        ("secrets.API_KEY", SecretReference("API_KEY")),
        ("a.previous.output", PreviousReference("a", "output")),
        ("a.b.previous.output.c[0]", PreviousReference("a.b", "output", ("c", 0))),
        ("a.previous.status", PreviousReference("a", "status")),
        ("my-node.previous.comment", PreviousReference("my-node", "comment")),
        ("a.output.previous.status", PreviousReference("a.output", "status")),
    ],
)
def test_a_path_names_the_longest_known_node(text: str, reference: Reference) -> None:
    assert parse_reference(text, NODES) == reference


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "a",
        "a.outputs",
        "a.output.",
        "a.output[-1]",
        "a.output[x]",
        'a.output["x]',
        "a.output['x']",
        "b.output",
        "params",
        "params[0]",
        "params.",
        "run",
        "run.id.x",
        "index.x",
        "index[0]",
        "secrets",
        "secrets.A.b",
        "secrets.not-a-variable",
        "secrets[0]",
        "previous.output",
        "a.previous",
        "a.previous[0]",
        "a.previous.outputs",
        "a.previous.comment.x",
        "a.previous.status[0]",
        "b.previous.output",
        "a.output.k | upper",
        "${a.output",
        "a.status.length",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadReferenceError):
        parse_reference(text, NODES)


def test_an_unknown_node_is_named() -> None:
    with pytest.raises(BadReferenceError) as caught:
        parse_reference("c.d.output.x", NODES)
    assert caught.value.unknown_node == "c.d"


VALUE = {"k": [10, {"deep": None}], "text": "t"}


def test_following_a_path_gives_the_part() -> None:
    assert follow(VALUE, "a.output", ("k", 1, "deep")) is None
    assert follow(VALUE, "a.output", ()) == VALUE


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("q",), "`a.output.q` has no value: `a.output` has no key `q`; it has k, text"),
        (("k", 2), "`a.output.k[2]` has no value: `a.output.k` has 2 items, counted from 0"),
        (("k", "0"), "`a.output.k.0` has no value: `a.output.k` is a list; an item is `[0]`, not `.0`"),
        ((0,), "`a.output[0]` has no value: `a.output` is an object, [0] needs a list"),
        (("text", "x"), "`a.output.text.x` has no value: `a.output.text` is text and has no parts"),
        (("k", 1, "deep", "x"), "`a.output.k[1].deep.x` has no value: `a.output.k[1].deep` is null and has no parts"),
        (("a b",), '`a.output["a b"]` has no value: `a.output` has no key `a b`; it has k, text'),
    ],
)
def test_a_missing_part_says_what_is_there(path: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(MissingValueError) as caught:
        follow(VALUE, "a.output", path)
    assert str(caught.value) == message
