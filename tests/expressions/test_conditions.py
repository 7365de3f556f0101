"""Conditions: what they read, and what they come to."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from hooks.expressions.cel import CelError
from hooks.expressions.conditions import CallUse, NameUse, evaluate_condition, tolerates_failure, uses_in
from hooks.expressions.references import UnresolvedReferenceError
from hooks.expressions.scope import Previous, RunScope

OUTPUTS: dict[str, Any] = {"a": {"n": 3, "list": ["x", "y"], "status": 200}, "my-node": "text"}
STATUSES = {"a": "succeeded", "my-node": "succeeded", "gone": "skipped"}
SCOPE = RunScope(
    "w-1",
    {"n": 3, "list": [1, 2]},
    {"a", "my-node", "gone", "ok", "huge"},
    OUTPUTS.__getitem__,
    STATUSES.get,
    previous_of=lambda _: Previous(output={"k": 1}, status="succeeded", comment="again"),
)


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (True, True),
        (False, False),
        ("true", True),
        ("a.output.n == params.n", True),
        ("size(a.output.list) > 2", False),
        ("a.output.list.exists(i, i == 'y')", True),
        ('nodes["my-node"].output == "text"', True),
        ("nodes['my-node'].output.size() == 4 && nodes['my-node'].status == 'succeeded'", True),
        ("gone.output == null && gone.status == 'skipped'", True),
        ("always()", True),
        ("!always() || run.id == 'w-1'", True),
        ("ok.previous.comment == 'again' && ok.previous.output.k == 1", True),
        ("params.list.all(n, n > 0)", True),
        ("a.output.status == 200", True),
    ],
)
def test_a_condition_is_true_or_false(condition: str | bool, value: bool) -> None:
    assert evaluate_condition(condition, SCOPE) is value


@pytest.mark.parametrize(
    "condition", ["a.output.n", "a.output.nothing", "b.output == 1", "1 +", "'true'", "a.output > 1"]
)
def test_what_is_neither_is_an_error(condition: str) -> None:
    with pytest.raises(CelError):
        evaluate_condition(condition, SCOPE)


def test_the_first_round_reads_nothing_before_it() -> None:
    scope = RunScope("w-1", {}, {"ok"}, OUTPUTS.__getitem__, STATUSES.get)

    assert evaluate_condition("ok.previous.comment == '' && ok.previous.output == null", scope)


def test_only_the_outputs_that_are_read_are_loaded() -> None:
    asked = []

    def output_of(node_id: str) -> Any:
        asked.append(node_id)
        return 1

    scope = RunScope("w-1", {}, {"a", "b", "c"}, output_of, lambda _: "succeeded")
    assert evaluate_condition('a.output == 1 && b.status == "succeeded" && nodes["c"].status != ""', scope)
    assert asked == ["a"]


def test_a_part_that_was_cut_is_an_error() -> None:
    class Cut(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise UnresolvedReferenceError(f"output.{key}", "it was cut")

    scope = RunScope("w-1", {}, {"a"}, lambda _: Cut(stdout="beginn"), STATUSES.get)

    with pytest.raises(UnresolvedReferenceError, match="it was cut"):
        evaluate_condition("size(a.output.stdout) > 3", scope)


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("a.output.k > b", [NameUse("a", ("output", "k"), 0), NameUse("b", (), 13)]),
        ("a . output.size()", [NameUse("a", ("output",), 0)]),
        ('nodes [ "x.y" ].status', [NameUse("x.y", ("status",), 0, is_quoted=True)]),
        ("f(a)", [CallUse("f", 0), NameUse("a", (), 2)]),
        ("'a.b' + \"c\" + r'd' + '''e'f'''", []),
        (r"'it\'s a' == x", [NameUse("x", (), 13)]),
        ("a.map(v, v.output)", [NameUse("a", (), 0)]),
        ("true && 1.5 in [null] // b.output", []),
        ("params.nodes['x']", [NameUse("params", ("nodes",), 0)]),
        ('{"k": a}.k', [NameUse("a", (), 6)]),
    ],
)
def test_the_names_of_a_condition_are_read_from_its_text(text: str, uses: list[NameUse | CallUse]) -> None:
    assert list(uses_in(text)) == uses


@pytest.mark.parametrize(
    ("condition", "tolerates"),
    [
        ("a.status == 'failed'", True),
        ('nodes["a"].status != ""', True),
        ("always() && params.x", True),
        ("a.output.status == 200", False),
        ("params.status == 'x'", False),
        ("a.output == 'b.status'", False),
        ("ok.previous.status == ''", False),
        ("'always()' == a.output", False),
        ("true", False),
        (True, False),
        (None, False),
    ],
)
def test_a_condition_that_asks_how_something_ended_tolerates_its_failure(
    condition: str | bool | None, tolerates: bool
) -> None:
    assert tolerates_failure(condition) is tolerates


def test_names_are_told_without_the_library() -> None:
    code = (
        "import sys; from hooks.expressions.conditions import tolerates_failure;"
        "print(tolerates_failure('a.status'), 'cel' in sys.modules, 'cel.cel' in sys.modules)"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True False False\n"
