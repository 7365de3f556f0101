"""Workflow files that other tools take for something else: refused with the place, before anything is started."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine

HEAD = "workflow_id: w\nversion: 1\n"
STEP = "nodes:\n  a: {executor: shell, input: {argv: [echo, x]}}\n"


@pytest.mark.parametrize(
    ("text", "lines", "words"),
    [
        pytest.param(
            HEAD + 'params: {dir: {}}\nnodes:\n  a: {executor: shell, input: {argv: [rm, -rf, "${params.dri}/x"]}}\n',
            {5}, ["unknown param `dri`", "did you mean `dir`?"], id="B50 a param that does not exist",
        ),
        pytest.param(
            HEAD + 'nodes:\n  a: {executor: shell, input: {argv: [x]}}\n'
            '  b: {executor: shell, input: {argv: [rm, -rf, "${a.output.stdout}"]}}\n',
            {5}, ["`b` reads from `a`, which it does not depend on"], id="B50 a node that is not upstream",
        ),
        pytest.param(
            HEAD + "params: {answer: {type: boolean, default: no}}\n" + STEP,
            {3}, ["must be a boolean"], id="B52 no is text",
        ),
        pytest.param(
            HEAD + "params: {at: {type: integer, default: 22:22}}\n" + STEP,
            {3}, ["must be an integer"], id="B52 22:22 is text",
        ),
        pytest.param(
            HEAD + "nodes:\n  a:\n    executor: shell\n    input: {argv: [x]}\n    input: {argv: [y]}\n",
            {7}, ["duplicate key `input`", ":6:5"], id="B53 two inputs of one node",
        ),
        pytest.param(
            HEAD + STEP + "  b: {executor: shell, input: {argv: [x]}}\n  a: {executor: shell, input: {argv: [y]}}\n",
            {6}, ["duplicate key `a`", ":4:3"], id="B53 two nodes of one id",
        ),
        pytest.param(
            HEAD + "params:\n  x: {}\n  x: {}\n" + STEP, {5}, ["duplicate key `x`", ":4:3"], id="B53 two params",
        ),
        pytest.param(
            HEAD + 'nodes:\n  "a\\tb": {executor: shell, input: {argv: [x]}}\n',
            {4}, ["a\\tb"], id="B31 a tab in an id",
        ),
        pytest.param(
            HEAD + 'params: {x: {}}\nnodes:\n  a: {executor: shell, input: {script: "echo ${params.x}"}}\n',
            {5}, ["would be run as code", "env"], id="B48 a value in a script",
        ),
    ],
)  # fmt: skip
def test_it_is_refused_with_its_place_and_nothing_is_started(
    cli: CommandLine, text: str, lines: set[int], words: list[str]
) -> None:
    cli.write("w.yaml", text)

    checked, started = cli.hooks("validate", "w.yaml", "--json"), cli.hooks("run", "w.yaml")

    assert (checked.code, started.code) == (2, 2)
    (file,) = checked.document["files"]
    assert {problem["line"] for problem in file["problems"]} == lines
    for word in words:
        assert word in started.err
    assert not cli.runs.exists()


@pytest.mark.parametrize(
    ("written", "value"),
    [("no", "no"), ("on", "on"), ("22:22", "22:22"), ("1.10", "1.10"), ("yes", "yes"), ("0o17", 15), ("010", 10)],
)
def test_a_default_means_what_yaml_1_2_says(cli: CommandLine, written: str, value: object) -> None:
    """B52"""
    kind = "integer" if isinstance(value, int) else "string"
    cli.write("w.yaml", HEAD + f"params: {{x: {{type: {kind}, default: {written}}}}}\n" + STEP)

    assert cli.hooks("run", "w.yaml", "--dry-run", "--json").document["params"] == {"x": value}


def test_a_retry_beyond_all_measure_is_warned_of(cli: CommandLine) -> None:
    """B45"""
    retry = "retry: {max_attempts: 5000, backoff: exponential, base: 300s, factor: 2, max_delay: 1h}"
    cli.write("w.yaml", HEAD + f"nodes:\n  a: {{executor: shell, read_only: true, {retry}, input: {{argv: [sh]}}}}\n")

    checked = cli.hooks("validate", "w.yaml", "--json")

    assert checked.code == 0
    (warning,) = checked.document["files"][0]["warnings"]
    assert "5000 attempts wait" in warning["message"]


@pytest.mark.parametrize("first_depends", ["", "n9999"], ids=["chain", "cycle"])
def test_ten_thousand_nodes_in_a_row_are_no_recursion(cli: CommandLine, first_depends: str) -> None:
    """B54"""
    nodes = [f"  n{n}: {{executor: shell, depends: [n{n - 1}], input: {{argv: [x]}}}}\n" for n in range(1, 10_000)]
    first = f"  n0: {{executor: shell, depends: [{first_depends}], input: {{argv: [x]}}}}\n"
    cli.write("w.yaml", HEAD + "nodes:\n" + first + "".join(nodes))

    checked = cli.hooks("validate", "w.yaml")

    assert checked.code == (2 if first_depends else 0)
    assert "recursion" not in checked.err
    if first_depends:
        assert "in a cycle of 10000: n0 -> n9999 -> " in checked.err
        assert max(map(len, checked.err.splitlines())) < 300


@pytest.mark.parametrize(
    ("text", "words", "named"),
    [
        (HEAD + "params: {x: {}}\n" + STEP, ["-p", "x=2"], "x"),
        (HEAD + "params: {x: {}}\n" + STEP.replace("echo, x", "echo, y"), ["-p", "x=1"], "workflow"),
    ],
    ids=["other params", "another workflow"],
)
def test_a_run_id_stands_for_one_workflow_and_one_set_of_params(
    cli: CommandLine, text: str, words: list[str], named: str
) -> None:
    """B16"""
    cli.write("w.yaml", HEAD + "params: {x: {}}\n" + STEP)
    cli.hooks("run", "w.yaml", "--run-id", "r", "-p", "x=1")
    events = cli.log_lines("r")
    cli.write("w.yaml", text)

    ended = cli.hooks("run", "w.yaml", "--run-id", "r", *words, "--json")

    assert ended.code == 2
    assert named in ended.error["message"]
    assert cli.log_lines("r") == events
