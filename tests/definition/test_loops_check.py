# ruff: noqa: E501  (a row of a table is one line)
"""Loops: what a body becomes, and each mistake with its place and its fix."""

from __future__ import annotations

import pytest

from hooks.definition.model import DecisionNode, Gate, HostExecutorNode, LoopNode, SubagentNode
from hooks.errors import Place
from tests.definition.builders import load, problem, problems

REVIEW_LOOP = """\
workflow_id: review-loop
params: {files: {type: array, required: true}}
agents: {writer: {kind: command, argv: [w]}}
nodes:
  read:   {executor: shell, read_only: true, for_each: "${params.files}", input: {argv: [cat, "${item}"]}}
  rounds: {body: [draft, ok], max_iterations: 3, depends: [read], terminate: {node: ok, via: human_gate}, output: {from: draft}}
  draft:
    agent: writer
    prompt: "Review:\\n${read.output}\\nThe last comment was: ${ok.previous.comment}, the last draft ${draft.previous.output}"
  ok:     {type: decision, depends: [draft], human_gate: {prompt: "${draft.output}"}}
  send:   {executor: shell, depends: [rounds], if: "size(rounds.output) > 0", input: {argv: [send], stdin: "${rounds.output}"}}
"""


def test_the_nodes_of_a_body_stand_inside_their_loop() -> None:
    """B14: a step in a loop is a step of its loop, and has no life of its own."""
    read, rounds, send = load(REVIEW_LOOP).nodes

    assert isinstance(read, HostExecutorNode)
    assert read.for_each == "${params.files}"
    assert rounds == LoopNode(
        id="rounds",
        body=[
            SubagentNode(
                id="draft",
                agent="writer",
                prompt="Review:\n${read.output}\nThe last comment was: ${ok.previous.comment}, "
                "the last draft ${draft.previous.output}",
            ),
            DecisionNode(id="ok", depends=["draft"], human_gate=Gate(prompt="${draft.output}")),
        ],
        decision="ok",
        max_iterations=3,
        output_from="draft",
        depends=["read"],
    )
    assert send.condition == "size(rounds.output) > 0"


def test_a_body_keeps_the_order_of_the_file() -> None:
    text = REVIEW_LOOP.replace("body: [draft, ok]", "body: [ok, draft]")

    assert load(text) == load(REVIEW_LOOP)


def loop(*, rounds: str = "", draft: str = "", ok: str = "", more: str = "") -> str:
    """A loop of `draft` and `ok` between `before` and `after`, with further keys where they are given."""
    return f"""\
workflow_id: w
nodes:
  before: {{executor: shell, input: {{argv: [x]}}}}
  aside: {{executor: shell, input: {{argv: [x]}}}}
  rounds: {{depends: [before], body: [draft, ok], max_iterations: 3, terminate: {{node: ok}}{rounds}}}
  draft: {{executor: shell, input: {{argv: [x{draft}]}}}}
  ok: {{type: decision, depends: [draft], human_gate: {{prompt: "?{ok}"}}}}
  after: {{executor: shell, depends: [rounds], input: {{argv: [x]}}}}
{more}"""


def test_the_loop_of_these_tests_is_fine() -> None:
    assert [node.id for node in load(loop()).nodes] == ["before", "aside", "rounds", "after"]


@pytest.mark.parametrize(
    ("old", "new", "message", "fix"),
    [
        ("max_iterations: 3, ", "", "the node `rounds` has no `max_iterations`", "add `max_iterations: 5`: how many rounds at most"),
        ("max_iterations: 3", "max_iterations: 0", "`max_iterations` is 0", "write a whole number from 1 to 10000"),
        (", terminate: {node: ok}", "", "the node `rounds` has no `terminate`", "add `terminate: {node: ok, via: human_gate}`: what ends it"),
        ("terminate: {node: ok}", "terminate: {node: okk}", "`rounds` is ended by `okk`, which is not in its body", "did you mean `ok`?"),
        ("terminate: {node: ok}", "terminate: {node: after}", "`rounds` is ended by `after`, which is not in its body", None),
        ("terminate: {node: ok}", "terminate: {node: ok, via: vote}", "`terminate.via` must be one of `human_gate`, but is the text 'vote'", None),
        ("terminate: {node: ok}", "terminate: {via: human_gate}", "`terminate` has no `node`", None),
        ("body: [draft, ok]", "body: [draft, okk, ok]", "the body of `rounds` names `okk`, which is no node", "did you mean `ok`?"),
        ("body: [draft, ok]", "body: [draft, ok, rounds]", "the body of `rounds` holds the loop `rounds`; loops cannot be nested", None),
        ("terminate: {node: ok}", "terminate: {node: ok}, output: {from: after}", "`rounds` takes its output from `after`, which is not in its body", None),
        ("terminate: {node: ok}", "terminate: {node: ok}, output: draft", "the `output` of a loop must be a mapping, but is the text 'draft'", "its keys: `from`"),
        ("terminate: {node: ok}", "terminate: {node: ok}, prompt: x", "`prompt` does not belong into the node `rounds`", "it belongs to an agent step (`agent: …`); this is a loop"),
        ("terminate: {node: ok}", "terminate: {node: ok}, for_each: [1]", "`for_each` does not belong into the node `rounds`", "it belongs to an agent step or an executor call; this is a loop"),
        ("terminate: {node: ok}", "terminate: {node: ok}, human_gate: true", "`human_gate` does not belong into the node `rounds`", None),
        ('human_gate: {prompt: "?"}', "human_gate: false", "a decision without a gate decides nothing", "write `human_gate: {prompt: …}`"),
        ('human_gate: {prompt: "?"}', "human_gate: {stage: after}", "`stage` does not belong into `human_gate`", None),
        ('{type: decision, depends: [draft], human_gate: {prompt: "?"}}', "{type: decision, depends: [draft]}", "the node `ok` has no `human_gate`", None),
        ('{type: decision, depends: [draft], human_gate', "{type: decision, human_gate", "the decision `ok` depends on nothing", None),
        ('{type: decision, depends: [draft], human_gate: {prompt: "?"}}', "{executor: shell, input: {argv: [x]}}", "`ok`, which ends `rounds`, is no decision", "give it `type: decision`"),
        ('{type: decision, depends', "{type: decision, retry: {}, depends", "`retry` does not belong into the node `ok`", None),
    ],
)  # fmt: skip
def test_a_loop_without_an_end_is_refused(old: str, new: str, message: str, fix: str | None) -> None:
    text = loop()
    assert old in text
    found = problem(text.replace(old, new))

    assert found.message == message
    assert found.place is not None
    assert fix is None or found.fix == fix


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("  lone: {type: decision, depends: [after], human_gate: true}\n", "the decision `lone` is in no loop"),
        ("  deep: {body: [rounds, ok2], max_iterations: 2, terminate: {node: ok2}}\n  ok2: {type: decision, depends: [draft2], human_gate: true}\n", "the body of `deep` holds the loop `rounds`; loops cannot be nested"),
        ("  two: {body: [draft, ok2], max_iterations: 2, terminate: {node: ok2}}\n  ok2: {type: decision, depends: [draft], human_gate: true}\n", "`draft` is in the body of `rounds` and of `two`"),
    ],
)  # fmt: skip
def test_a_node_belongs_to_one_loop_and_a_decision_to_a_loop(more: str, message: str) -> None:
    assert message in [found.message for found in problems(loop(more=more))]


def test_a_second_decision_is_refused() -> None:
    text = (
        loop().replace("[draft, ok]", "[draft, ok, ok2]")
        + "  ok2: {type: decision, depends: [draft], human_gate: true}\n"
    )

    assert problem(text).message == "the body of `rounds` has a second decision, `ok2`; `ok` ends it"


@pytest.mark.parametrize(
    ("old", "new", "message", "fix"),
    [
        ("draft: {executor", "draft: {depends: [before], executor", "`draft` is in the body of the loop `rounds` and depends on `before`, which is outside", "add `before` to depends of `rounds`, and remove it here"),
        ("draft: {executor", "draft: {depends: [rounds], executor", "`draft` depends on `rounds`, the loop it stands in", "remove it from depends"),
        ("after: {executor: shell, depends: [rounds]", "after: {executor: shell, depends: [draft]", "`after` depends on `draft`, which is in the body of the loop `rounds`", "depend on `rounds`"),
        ("rounds: {depends: [before]", "rounds: {depends: [draft]", "the loop `rounds` depends on `draft` of its own body", "remove it from depends"),
        ("draft: {executor", "draft: {depends: [ok], executor", "the nodes depend on one another in a cycle of 2: draft -> ok -> draft", "remove `ok` from depends of `draft`, or break the cycle elsewhere"),
        ("rounds: {depends: [before]", "rounds: {depends: [after]", "the nodes depend on one another in a cycle of 2: rounds -> after -> rounds", None),
    ],
)  # fmt: skip
def test_dependencies_stay_inside_or_stand_on_the_loop(old: str, new: str, message: str, fix: str | None) -> None:
    text = loop()
    assert old in text
    found = problem(text.replace(old, new))

    assert found.message == message
    assert fix is None or found.fix == fix


def test_a_body_may_not_depend_on_the_body_of_another_loop() -> None:
    more = """\
  other: {body: [d2, ok2], max_iterations: 2, terminate: {node: ok2}}
  d2: {executor: shell, depends: [draft], input: {argv: [x]}}
  ok2: {type: decision, depends: [d2], human_gate: true}
"""

    assert problem(loop(more=more)).fix == "add `rounds` to depends of `other`, and remove it here"


@pytest.mark.parametrize(
    "text",
    [
        loop(draft=', "${before.output.stdout} ${before.status} ${params.p} ${run.id}"').replace("nodes:", "params: {p: {}}\nnodes:"),
        loop(draft=', "${draft.previous.output.stdout} ${ok.previous.comment} ${ok.previous.output.by} ${draft.previous.status}"'),
        loop(ok="${draft.output.stdout} ${ok.previous.comment} ${before.output.stdout}"),
        loop().replace("[rounds], input: {argv: [x]}", '[rounds], input: {argv: ["${rounds.output.draft.stdout}"]}'),
        loop(rounds=", output: {from: draft}").replace("[rounds], input: {argv: [x]}", '[rounds], input: {argv: ["${rounds.output.stdout}"]}'),
        loop(rounds=", if: before.output.exit_code == 0"),
    ],
)  # fmt: skip
def test_a_body_reads_what_is_upstream_of_it_and_what_was_a_round_ago(text: str) -> None:
    assert len(load(text).nodes) == 4


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (loop(draft=', "${aside.output}"'), "`draft` reads from `aside`, which its loop `rounds` does not depend on", "add `aside` to depends of `rounds`"),
        (loop(draft=', "${rounds.output}"'), "`draft` reads from `rounds`, the loop it stands in", "what a node of the body gave a round ago is `${NODE.previous.output}`"),
        (loop(draft=', "${ok.output.comment}"'), "`draft` reads from `ok`, which it does not depend on", "add `ok` to depends of `draft`"),
        (loop(draft=', "${before.previous.output}"'), "`before` is not in the body of `rounds`: it has no previous round", "write `${before.output}`"),
        (loop(ok="${draft.output.stdot}"), "the output of `draft` has no `stdot`", "did you mean `stdout`?"),
        (loop(draft=', "${ok.previous.output.coment}"'), "the output of `ok` has no `coment`", "did you mean `comment`?"),
        (loop().replace("[rounds], input: {argv: [x]}", '[rounds], input: {argv: ["${draft.output}"]}'), "`after` reads from `draft`, which is in the body of the loop `rounds`", "write `${rounds.output}`; a loop's `output: {from: draft}` says which output that is"),
        (loop().replace("[rounds], input: {argv: [x]}", '[rounds], input: {argv: ["${draft.previous.output}"]}'), "`after` is in no loop: there is no previous round", None),
        (loop().replace("[rounds], input: {argv: [x]}", '[rounds], input: {argv: ["${rounds.output.ok}"]}'), "the output of `rounds` has no `ok`", "it has draft"),
        (loop(rounds=", output: {from: ok}").replace("[rounds], input: {argv: [x]}", '[rounds], input: {argv: ["${rounds.output.stdout}"]}'), "the output of `rounds` has no `stdout`", "it has approved, comment, by"),
        (loop(rounds=", if: aside.output == null"), "`rounds` reads from `aside`, which it does not depend on", "add `aside` to depends of `rounds`"),
        (loop(rounds=", if: draft.output == null"), "`rounds` reads from `draft`, which is in the body of the loop `rounds`", None),
    ],
)  # fmt: skip
def test_what_a_body_cannot_see_is_refused(text: str, message: str, fix: str | None) -> None:
    """B50"""
    found = problem(text)

    assert found.message == message
    assert fix is None or found.fix == fix


def test_a_mistake_in_a_body_has_its_place() -> None:
    text = loop(draft=', "${aside.output}"')

    assert problem(text).place == Place("w.yaml", 6, text.splitlines()[5].index("${") + 1)


def test_camel_case_loops_mean_the_same() -> None:
    camel = """{"workflowId": "w", "version": 1, "nodes": [
      {"id": "rounds", "type": "loop", "body": ["a", "ok"], "maxIterations": 2, "allowFailure": true,
       "terminate": {"node": "ok", "via": "humanGate"}, "output": {"from": "a"}},
      {"id": "a", "type": "hostExecutor", "executor": "shell", "input": {"argv": ["x"]}},
      {"id": "ok", "type": "decision", "depends": ["a"], "humanGate": {"deadlineMs": 1000, "onTimeout": "success"}}]}"""
    snake = """
workflow_id: w
nodes:
  rounds: {body: [a, ok], max_iterations: 2, allow_failure: true, terminate: {node: ok}, output: {from: a}}
  a: {executor: shell, input: {argv: [x]}}
  ok: {type: decision, depends: [a], human_gate: {deadline: 1s, on_timeout: success}}
"""

    assert load(camel, file="w.json") == load(snake)
