"""An element of argv that can only be an object or a list is refused before anything runs."""

from __future__ import annotations

import pytest

from tests.definition.builders import HEAD, load, problem

UPSTREAM = """\
params: {names: {type: array}, name: {}}
agents: {w: {kind: command, argv: [w]}}
nodes:
  c:
    agent: w
    prompt: x
    output_schema: {type: object, properties: {t: {type: string}, l: {type: array, items: {type: object}}}}
  s: {executor: shell, depends: [c], input: {argv: [echo]}}
  f: {executor: shell, for_each: [1], input: {argv: [echo]}}
"""


def workflow(element: str) -> str:
    return f'{HEAD}{UPSTREAM}  a: {{executor: shell, depends: [c, s, f], input: {{argv: [echo, "{element}"]}}}}\n'


@pytest.mark.parametrize(
    ("element", "type_"),
    [
        ("${c.output}", "object"),
        ("${c.output.l}", "array"),
        ("${c.output.l[0]}", "object"),
        ("${s.output}", "object"),
        ("${f.output}", "array"),
        ("${f.output[0]}", "object"),
        ("${params.names}", "array"),
    ],
)
def test_an_object_or_a_list_is_no_argument(element: str, type_: str) -> None:
    found = problem(workflow(element))

    assert found.message == f"`{element}` is an {type_}, and an argument is text"
    assert found.place is not None
    assert (found.place.line, found.place.column) == (11, 65)


@pytest.mark.parametrize(
    "element",
    [
        "${f.output[0].stdout}",
        "${c.output.t}",
        "${c.output.other}",
        "is ${c.output}",
        "$${c.output}",
        "${s.output.stdout}",
        "${params.name}",
    ],
)
def test_what_is_text_or_not_known_before_it_runs_is_let_through(element: str) -> None:
    load(workflow(element))


def test_the_parts_it_has_are_named() -> None:
    assert (problem(workflow("${c.output}")).fix or "").startswith("name a part of it (it has `l`, `t`), or")
