# ruff: noqa: E501  (a row of a table is one line)
"""`sampling`, `continue_from` and `tool_calls_enabled` of an agent step."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.definition.given_sampling import sampling_problem
from hooks.definition.model import LoopNode, Sampling, SubagentNode
from hooks.definition.requirement_values import sampling_from_json, sampling_to_json
from hooks.errors import Place
from tests.definition.builders import HEAD, load, node, problem, problems, warnings

AGENTS = "agents: {w: {kind: command, argv: [w], options: {tool_calls_enabled: [-t]}}, once: {kind: command, argv: [w], repeatable: false}}\n"


def step(fields: str) -> str:
    """A workflow whose only step has these further fields, the first of them from column 28 of line 4."""
    return node(f"{{agent: w, prompt: x, {fields}}}", head=AGENTS)


def only(text: str) -> SubagentNode:
    [found] = load(text).nodes
    assert isinstance(found, SubagentNode)
    return found


@pytest.mark.parametrize(
    ("written", "sampling"),
    [
        ("null", None),
        ("{}", Sampling()),
        ("{loop_budget: 3}", Sampling(loop_budget=3)),
        ("{strategy: repair_template, loopBudget: 4, onExhausted: use_best}", Sampling(strategy="repair_template", loop_budget=4, on_exhausted="use_best")),
        ("{strategy: multi_turn, loop_budget: 64, parallel: 1}", Sampling(strategy="multi_turn", loop_budget=64)),
        ("{strategy: best_of, loop_budget: 8, parallel: 4}", Sampling(strategy="best_of", loop_budget=8, parallel=4)),
        ("{strategy: majority, loop_budget: 5, key: output.answer}", Sampling(strategy="majority", loop_budget=5, key="output.answer")),
    ],
)  # fmt: skip
def test_sampling_is_what_is_written_and_the_rest_is_usual(written: str, sampling: Sampling | None) -> None:
    assert only(step(f"sampling: {written}")).sampling == sampling
    if sampling is not None:
        value = sampling_to_json(sampling)
        assert list(value) == ["strategy", "loop_budget", "on_exhausted", "parallel", "key"]
        assert sampling_from_json(value) == sampling
        assert sampling_problem(value) is None


@pytest.mark.parametrize(
    ("written", "column", "message", "fix"),
    [
        ("best_of", 38, "`sampling` must be a mapping, but is the text 'best_of'", "write {strategy: best_of, loop_budget: 3}"),
        ("{strategy: repair}", 49, "there is no strategy `repair`", "there is: `best_of`, `majority`, `multi_turn`, `rejection`, `repair_template`; others are registered under `hooks.strategies`"),
        ("{strategy: bestOf}", 49, "there is no strategy `bestOf`", "did you mean `best_of`?"),
        ("{loop_budget: 65}", 52, "`loop_budget` is 65", "write a whole number from 1 to 64"),
        ("{loop_budget: 0}", 52, "`loop_budget` is 0", "write a whole number from 1 to 64"),
        ("{on_exhausted: stop}", 53, "`on_exhausted` must be one of `fail`, `use_best`, but is the text 'stop'", None),
        ("{loop_budget: 3, parallel: 2}", 55, "`parallel` is 2, but `rejection` draws again only when it has seen what failed", "remove `parallel`, or use `strategy: best_of` or `strategy: majority`"),
        ("{strategy: best_of, loop_budget: 3, key: output}", 74, "`key` says what answers are voted by, and `best_of` takes no vote", "remove `key`, or use `strategy: majority`"),
        ("{strategy: majority, loop_budget: 3, key: outptu.a}", 80, "`key`: there is no `outptu` here", "did you mean `output`?"),
        ("{strategy: majority, loop_budget: 3, key: '${output.a}'}", 81, "`key`: `${…}` does not belong into CEL", "name the answer itself: `output.category`"),
        ("{loop_budgt: 3}", 39, "unknown key `loop_budgt` in `sampling`", "did you mean `loop_budget`?"),
        ("{draws: 3}", 39, "`draws` does not belong into `sampling`", "here it is `loop_budget`"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place_and_its_fix(
    written: str, column: int, message: str, fix: str | None
) -> None:
    found = problem(step(f"sampling: {written}"))

    assert (found.place, found.message, found.fix) == (Place("w.yaml", 4, column), message, fix)


def test_a_strategy_that_draws_once_is_warned_about() -> None:
    [warning] = warnings(step("sampling: {strategy: best_of}"))

    assert warning.message == "`best_of` with a `loop_budget` of 1 draws once and is done"
    assert warnings(step("sampling: {loop_budget: 1}")) == []


def test_an_agent_with_consequences_is_drawn_once() -> None:
    text = step("sampling: {loopBudget: 3}").replace("agent: w,", "agent: once,")
    found = problem(text)

    assert found.place == Place("w.yaml", 4, 54)
    assert found.message == (
        "`a` draws up to 3 answers of the agent `once`, which is not repeatable: each draw would have its consequences again"
    )
    assert found.fix == "write `loop_budget: 1`, or `repeatable: true` for `once` if asking it again does no harm"
    assert only(text.replace("3}", "1}")).sampling == Sampling()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"strategy": "best_of", "loop_budget": 100, "parallel": 1, "key": None}, "`loop_budget` is 100"),
        ({"strategy": "none"}, "there is no strategy `none`"),
        ({"loop_budget": "3"}, "`loop_budget` must be a whole number, but is the text '3'"),
        ({"loop_budget": 3, "parallel": 2}, "`parallel` is 2"),
        ({"budgt": 3}, "unknown key `budgt` in `sampling`"),
        ({"loopBudget": 3}, "Object contains unknown field `loopBudget`"),
    ],
)
def test_what_a_hook_gives_is_judged_alike(given: dict[str, Any], said: str) -> None:
    problem = sampling_problem(given)

    assert problem is not None
    assert problem.startswith(said), problem


# ---- conversations -------------------------------------------------------------------------------------------------

STEPS = f"""{HEAD}{AGENTS}nodes:
  first: {{agent: w, prompt: x, toolCallsEnabled: true}}
  many: {{agent: w, prompt: x, for_each: [1, 2]}}
  call: {{executor: shell, input: {{argv: [x]}}}}
  rounds: {{body: [draft, ok], max_iterations: 2, depends: [first], terminate: {{node: ok, via: human_gate}}}}
  draft: {{agent: w, prompt: x, continue_from: first}}
  ok: {{type: decision, depends: [draft], human_gate: Fine?}}
  last: {{agent: w, prompt: x, depends: [first, many, call, rounds], continueFrom: WHOM}}
"""


def test_a_step_goes_on_with_the_conversation_of_one_upstream_also_from_within_a_loop() -> None:
    nodes = {node.id: node for node in load(STEPS.replace("WHOM", "first")).nodes}
    first, last, rounds = nodes["first"], nodes["last"], nodes["rounds"]

    assert isinstance(first, SubagentNode)
    assert isinstance(last, SubagentNode)
    assert isinstance(rounds, LoopNode)
    assert isinstance(rounds.body[0], SubagentNode)
    assert first.tool_calls_enabled
    assert (last.continue_from, last.tool_calls_enabled) == ("first", False)
    assert rounds.body[0].continue_from == "first"


@pytest.mark.parametrize(
    ("whom", "message", "fix"),
    [
        ("frist", "`last` continues from `frist`, which is no node", "did you mean `first`?"),
        ("last", "`last` continues from itself", "name the agent step before it; `${NODE.previous.output}` is what a node of a loop gave a round ago"),
        ("call", "`last` continues from `call`, which is an executor call and has no conversation", "the other agent steps: `draft`, `first`, `many`"),
        ("rounds", "`last` continues from `rounds`, which is a loop and has no conversation", "the other agent steps: `draft`, `first`, `many`"),
        ("many", "`last` continues from `many`, which has a conversation for each item of its `for_each`", 'put what it gave into the prompt: "${many.output}"'),
        ("draft", "`last` continues from `draft`, which is in the body of the loop `rounds`", 'put what the loop gave into the prompt: "${rounds.output}"'),
        ("[first]", "`continue_from` must be text, but is a list", "write the text, in quotes if in doubt"),
    ],
)  # fmt: skip
def test_what_has_no_one_conversation_upstream_is_refused(whom: str, message: str, fix: str) -> None:
    found = problem(STEPS.replace("WHOM", whom))

    assert (found.message, found.fix) == (message, fix)
    assert found.place is not None
    assert found.place.line == 10


def test_a_conversation_comes_from_upstream() -> None:
    text = STEPS.replace("WHOM", "first").replace("depends: [first, many, call, rounds], ", "")

    assert (problem(text).message, problem(text).fix) == (
        "`last` continues from `first`, on which `last` does not depend",
        "add `first` to depends of `last`",
    )
    [inner] = problems(STEPS.replace("WHOM", "first").replace("depends: [first], ", ""))
    assert (inner.message, inner.fix) == (
        "`draft` continues from `first`, on which the loop `rounds` does not depend",
        "add `first` to depends of `rounds`",
    )
