# ruff: noqa: E501  (a row of a table is one line)
"""References where they stand: items, secrets, the parts of outputs, and the names in conditions."""

from __future__ import annotations

import pytest

from hooks.errors import Place
from tests.definition.builders import load, problem, problems


def workflow(fields: str) -> str:
    """`last` with these fields, behind a plain call `first`, a fan-out `fan`, a call with a dashed name, and an agent step."""
    return f"""\
workflow_id: w
params: {{dir: {{}}, files: {{type: array}}}}
agents: {{w: {{kind: command, argv: [w]}}}}
nodes:
  first: {{executor: shell, input: {{argv: [x]}}}}
  fan: {{executor: shell, for_each: "${{params.files}}", input: {{argv: [x, "${{item}}"]}}}}
  my-node: {{executor: http, depends: [first], input: {{url: "http://x"}}}}
  other: {{agent: w, prompt: x}}
  last: {{depends: [fan, my-node], {fields}}}
"""


ARGV = "executor: shell, input: {argv: [x]}"


@pytest.mark.parametrize(
    "fields",
    [
        'executor: shell, input: {argv: ["${fan.output[0].stdout}", "all: ${fan.output}", "${fan.status}", "${my-node.output.json.x}"]}',
        'executor: shell, for_each: [1], input: {argv: ["${item}", "${index}"], stdin: "${item.x}"}, env: {A: "${index}"}, cwd: "/${item}"',
        'agent: w, for_each: "${fan.output}", prompt: "${item} ${index}"',
        'executor: shell, secrets: [A, B], env: {A: "${secrets.A}"}, input: {argv: [x], stdin: "Bearer ${secrets.B}"}',
        'executor: http, secrets: [A], input: {url: "https://x/${secrets.A}", headers: {k: "${secrets.A}"}, lookup: {url: "https://x/${secrets.A}"}}',
        'executor: file, secrets: [A], input: {path: x, content: {$ref: secrets.A}}',
        'executor: shell, input: {argv: [x]}, human_gate: {stage: after, prompt: "${last.output.stdout}?"}',
        f'{ARGV}, human_gate: "${{my-node.output.status}}?"',
        f"{ARGV}, if: \"first.output.stdout != '' && first.status == 'succeeded'\"",
        f"{ARGV}, if: 'nodes[\"my-node\"].output.status == 200 && fan.output.size() > 0'",
        f"{ARGV}, if: \"fan.output.exists(o, o.stdout == params.dir) && 'dir' in params && run.id != ''\"",
        f"{ARGV}, if: always()",
        f"{ARGV}, if: 'fan.output[0].stdout.startsWith(\"x\") || has(first.output.stdout)'",
    ],
)  # fmt: skip
def test_what_is_upstream_may_be_read(fields: str) -> None:
    assert len(load(workflow(fields)).nodes) == 5


@pytest.mark.parametrize(
    ("fields", "marked", "message", "fix"),
    [
        ('executor: shell, input: {argv: ["${item}"]}', "${item", "`last` has no `for_each`: there is no `item`", "add `for_each:` with a list"),
        ('executor: shell, input: {argv: ["${index}"]}', "${index", "`last` has no `for_each`: there is no `index`", None),
        ('executor: shell, for_each: ["${item}"], input: {argv: [x]}', "${item", "`${item}` does not work in `for_each`, which is there once for all items", "use it in the prompt, input, env or cwd"),
        ('executor: shell, for_each: [1], human_gate: "${index}", input: {argv: [x]}', "${index", "`${index}` does not work in the prompt of a gate, which is there once for all items", None),
        ('executor: shell, input: {argv: ["${fan.output.stdout}"]}', "${fan", "the output of `fan` is a list, one for each item, and has no `stdout`", "write `${fan.output[0].stdout}`"),
        ('executor: shell, input: {argv: ["${fan.output[0].stdot}"]}', "${fan", "the output of `fan` has no `stdot`", "did you mean `stdout`?"),
        ('executor: shell, input: {argv: ["${my-node.output.stat}"]}', "${my", "the output of `my-node` has no `stat`", "did you mean `status`?"),
        ('executor: shell, input: {argv: ["${last.output}"]}', "${last", "the node `last` refers to itself", None),
        ('executor: shell, input: {argv: [x]}, human_gate: "${last.output}"', "${last", "the node `last` refers to itself", None),
        ('executor: shell, input: {argv: [x]}, human_gate: {prompt: "${other.output}"}', "${other", "`last` reads from `other`, which it does not depend on", "add `other` to depends of `last`"),
        ('executor: shell, input: {argv: [x]}, cwd: "${other.output}"', "${other", "`last` reads from `other`, which it does not depend on", None),
        ('executor: shell, input: {argv: [x]}, env: {A: "${params.dri}"}', "${params.dri", "unknown param `dri`", "did you mean `dir`?"),
        ('executor: shell, input: {argv: [x]}, for_each: "${params.dri}"', "${params.dri", "unknown param `dri`", "did you mean `dir`?"),
        ('executor: shell, input: {argv: ["${first.previous.output}"]}', "${first", "`last` is in no loop: there is no previous round", "write `${first.output}`"),
        ('executor: shell, secrets: [A], input: {argv: ["${secrets.A}"]}', "${secrets", "a secret in `argv` would be seen by others", "put it into `env:` of the node, or into input that is not recorded, such as headers or stdin"),
        ('executor: shell, secrets: [A], input: {argv: [x], lookup: [x, "${secrets.A}"]}', "${secrets", "a secret in `lookup` would be seen by others", None),
        ('executor: file, secrets: [A], input: {path: "${secrets.A}", content: x}', "${secrets", "a secret in `path` would be seen by others", None),
        ('executor: shell, secrets: [A], input: {argv: [x]}, cwd: "${secrets.A}"', "${secrets", "a secret in `cwd` would be seen by others", None),
        ('agent: w, secrets: [A], prompt: "${secrets.A}"', "${secrets", "a secret in `prompt` would be seen by others", None),
        ('executor: shell, secrets: [A], input: {argv: [x]}, human_gate: "${secrets.A}"', "${secrets", "a secret in the prompt of a gate would be seen by others", None),
        ('executor: shell, secrets: [TOKEN], input: {argv: [x]}, env: {A: "${secrets.TOKE}"}', "${secrets", "the secret `TOKE` is not listed in `secrets` of `last`", "did you mean `TOKEN`?"),
        ('executor: shell, input: {argv: [x], stdin: "${secrets.A}"}', "${secrets", "the secret `A` is not listed in `secrets` of `last`", "add `secrets: [A]`"),
        ('executor: shell, input: {argv: [x], stdin: "${secrets.A.b}"}', "${secrets", "`${secrets.A.b}` names no secret", "write `${secrets.NAME}`"),
    ],
)  # fmt: skip
def test_a_reference_where_it_does_not_work_is_refused(fields: str, marked: str, message: str, fix: str | None) -> None:
    """B50"""
    text = workflow(fields)
    found = problem(text)

    assert found.message == message
    assert found.place == Place("w.yaml", 9, text.splitlines()[8].rindex(marked) + 1)
    assert fix is None or found.fix == fix


@pytest.mark.parametrize(
    ("condition", "marked", "message", "fix"),
    [
        ("fist.output == null", "fist", "`if`: there is no node `fist`", "did you mean `first`?"),
        ("dir == 'x'", "dir", "`if`: there is no node `dir`", None),
        ("params.dri == 'x'", "params", "unknown param `dri`", "did you mean `dir`?"),
        ("params.dir.x == 'x'", "params", "the param `dir` is of type string and has no parts", None),
        ("run.name == 'x'", "run", "`${run.name}`: of a run only `id` can be referred to", "write `${run.id}`"),
        ("other.output == null", "other", "`last` reads from `other`, which it does not depend on", "add `other` to depends of `last`"),
        ("last.output == null", "last", "the node `last` refers to itself", None),
        ("first.outptu == 1", "first", "`${first.outptu}`: of a node only `output`, `status` and `previous` can be referred to", None),
        ("first == null", "first", "`${first}`: of a node only `output`, `status` and `previous` can be referred to", None),
        ("first.output.stdot == ''", "first", "the output of `first` has no `stdot`", "did you mean `stdout`?"),
        ("fan.output.stdout == ''", "fan", "the output of `fan` is a list, one for each item, and has no `stdout`", None),
        ("my-node.output.status == 200", "my", "`my-node` is no name in CEL", 'write `nodes["my-node"].output`'),
        ("nodes['my-nod'].status == ''", "nodes", "`if`: there is no node `my-nod`", "did you mean `my-node`?"),
        ("nodes.size() > 0", "nodes", "`nodes` stands for all nodes", 'name one: `nodes["NAME"].output`'),
        ("alway()", "alway", "`if`: there is no function `alway`", "did you mean `always`?"),
        ("first.previous.comment == ''", "first", "`last` is in no loop: there is no previous round", None),
        ("true && (size(first.output", None, None, None),
        ("${first.output} == 1", "${first", "`if`: `${…}` does not belong into CEL; name the value itself, as in `params.x`", None),
    ],
)  # fmt: skip
def test_a_condition_that_reads_what_it_cannot_is_refused(
    condition: str, marked: str | None, message: str | None, fix: str | None
) -> None:
    """B50"""
    text = workflow(f'executor: shell, input: {{argv: [x]}}, if: "{condition}"')
    found = problem(text)

    assert message is None or found.message == message
    if marked is not None:
        assert found.place == Place("w.yaml", 9, text.splitlines()[8].rindex(marked) + 1)
    assert fix is None or found.fix == fix


def test_all_mistakes_of_a_condition_come_at_once() -> None:
    text = workflow(f'{ARGV}, if: "fist.output == 1 || params.dri == 2 || nodez[0]"')

    assert [found.message for found in problems(text)] == [
        "`if`: there is no node `fist`",
        "unknown param `dri`",
        "`if`: there is no node `nodez`",
    ]


def test_references_work_in_camel_case_input_as_well() -> None:
    text = workflow('executor: shell, input: {argv: [x], idempotencyTtl: "${params.nothing}"}')

    assert problem(text).message == "unknown param `nothing`"
