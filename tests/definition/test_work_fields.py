# ruff: noqa: E501  (a row of a table is one line)
"""Conditions, fan-out, gates, retries, env and secrets of a node: what they become, and each mistake."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.definition.config import Config
from hooks.definition.defaults_section import Defaults
from hooks.definition.model import Gate, HostExecutorNode, Retry, Workflow
from hooks.errors import Place, Problem
from tests.definition.builders import HEAD, ONE_NODE, load, node, problem, warnings


def only(text: str, *, config: Config | None = None) -> HostExecutorNode:
    """The one node of a workflow."""
    [found] = load(text, config=config).nodes
    assert isinstance(found, HostExecutorNode)
    return found


def call(fields: str, *, head: str = "") -> str:
    """A workflow whose only node is an executor call with these further fields."""
    return node(f"{{executor: shell, input: {{argv: [x]}}, {fields}}}", head=head)


@pytest.mark.parametrize(
    ("written", "gate"),
    [
        ("true", Gate()),
        ("{}", Gate()),
        ("false", None),
        ("Go?", Gate(prompt="Go?")),
        ("{prompt: Go?, stage: after, approvers: [dana, kim], deadline: 2h, on_timeout: success}",
         Gate(prompt="Go?", stage="after", approvers=["dana", "kim"], deadline_ms=7_200_000, on_timeout="success")),
        ("{approvers: dana, deadlineMs: 5}", Gate(approvers=["dana"], deadline_ms=5)),
    ],
)  # fmt: skip
def test_a_gate_in_all_its_forms(written: str, gate: Gate | None) -> None:
    assert only(call(f"human_gate: {written}")).human_gate == gate


RETRY = "{max_attempts: 4, backoff: fixed, base: 2s, factor: 3, max_delay: 1m, jitter: 0.25, on: [timeout, userFault]}"


@pytest.mark.parametrize(
    ("fields", "retry"),
    [
        ("allow_failure: false", None),
        ("retry: {}", Retry()),
        (f"retry: {RETRY}", Retry(max_attempts=4, backoff="fixed", base_ms=2_000, factor=3, max_delay_ms=60_000, jitter=0.25, on=("timeout", "userFault"))),
        ("retryPolicy: {maxAttempts: 2, backoff: exponential, baseMs: 100, factor: 1.5, jitter: true}", Retry(max_attempts=2, base_ms=100, factor=1.5, jitter=0.1)),
        ("retry: {on: fatal, jitter: false}", Retry(on=("fatal",))),
        ("retry: {on: []}", Retry(on=())),
    ],
)  # fmt: skip
def test_a_retry_is_what_is_written_and_the_rest_is_usual(fields: str, retry: Retry | None) -> None:
    assert only(call(fields)).retry == retry


def test_what_a_retry_leaves_out_comes_from_the_defaults_around_it() -> None:
    config = Config(defaults=Defaults(retry={"base_ms": 7, "max_attempts": 2, "jitter": 0.5}, grace_ms=4))
    text = call("retry: {backoff: fixed}", head="defaults: {retry: {maxAttempts: 9}, grace: 3s}\n")

    assert load(text, config=config).retry == Retry(max_attempts=9, base_ms=7, jitter=0.5)
    assert only(text, config=config).retry == Retry(max_attempts=9, base_ms=7, jitter=0.5, backoff="fixed")
    assert load(text, config=config).grace_ms == 3_000
    assert load(call("grace: 1s"), config=config).grace_ms == 4


def test_a_retry_that_waits_for_months_is_warned_of() -> None:
    """B45"""
    text = call("retry: {max_attempts: 5000, base: 300s, factor: 2, max_delay: 1h}")

    assert warnings(text) == [
        Problem("5000 attempts wait 208 days in all", Place("w.yaml", 3, 44), "lower `max_attempts` or `max_delay`")
    ]
    assert warnings(HEAD + "defaults: {retry: {max_attempts: 10000, base: 1d, max_delay: 1d}}\n" + ONE_NODE)
    assert warnings(call(f"retry: {RETRY}")) == []


def test_the_common_fields_of_work() -> None:
    fields = (
        "if: true, for_each: [1, '${params.p}'], allow_failure: true, timeout: 5s, grace: 2s, cwd: '${params.p}', "
        "env: {A: '${params.p}', B: 1.50, C: 'Bearer ${secrets.TOKEN}'}, secrets: [TOKEN, OTHER], "
        "unsafe_allow_ungated: true, tool_policy: {deny: [x]}, metadata: {k: 1}"
    )

    assert only(call(fields, head="params: {p: {}}\n")) == HostExecutorNode(
        id="a",
        executor="shell",
        input={"argv": ["x"]},
        condition=True,
        for_each=[1, "${params.p}"],
        allow_failure=True,
        timeout_ms=5_000,
        grace_ms=2_000,
        cwd="${params.p}",
        env={"A": "${params.p}", "B": "1.50", "C": "Bearer ${secrets.TOKEN}"},
        secrets=["TOKEN", "OTHER"],
        unsafe_allow_ungated=True,
        metadata={"k": 1, "tool_policy": {"deny": ["x"]}},
    )


def test_what_a_workflow_says_of_itself() -> None:
    head = "on_failure: continue\nrequireGates: true\ntoolPolicy: {allow: []}\n"
    workflow = load(node("{executor: shell, read_only: true, input: {argv: [x]}}", head=head))

    assert (workflow.on_failure, workflow.require_gates) == ("continue", True)
    assert workflow.metadata == {"tool_policy": {"allow": []}}


@pytest.mark.parametrize(
    "for_each", ["[]", "[a, [b], {c: 1}]", '"${params.p}"', "{$ref: params.p}", "{$ref: params.p, default: []}"]
)
def test_a_fan_out_is_over_a_list_or_what_a_reference_gives(for_each: str) -> None:
    text = call(f"for_each: {for_each}", head="params: {p: {type: array}}\n")

    assert only(text).for_each is not None


@pytest.mark.parametrize(
    ("fields", "message", "fix"),
    [
        ("if: 3", "`if` must be true, false or CEL, but is the number `3`", "write it like `size(draft.output) > 0`"),
        ("if: [true]", "`if` must be true, false or CEL, but is a list", None),
        ("if: ''", None, "write CEL, such as `size(draft.output) > 0`"),
        ("if: '${params.p} > 1'", "`if`: `${…}` does not belong into CEL; name the value itself, as in `params.x`", None),
        ("for_each: null", "`for_each` must be a list or one reference, but is empty (null)", 'write [a, b] or "${params.files}"'),
        ("for_each: 'a, ${run.id}'", "`for_each` must be a list or one reference, but is the text 'a, ${run.id}'", None),
        ("for_each: {a: 1}", "`for_each` must be a list or one reference, but is a mapping", None),
        ("human_gate: null", "`human_gate` must be a mapping, but is empty (null)", None),
        ("human_gate: 3", "`human_gate` must be a mapping, but is the number `3`", None),
        ("human_gate: {promt: x}", "unknown key `promt` in `human_gate`", "did you mean `prompt`?"),
        ("human_gate: {stage: before_}", "`stage` must be one of `after`, `before`, but is the text 'before_'", "did you mean `before`?"),
        ("human_gate: {deadline: 5}", "`deadline` must be a duration such as 90s, but is the number `5`", "write `5s` for seconds"),
        ("human_gate: {on_timeout: retry}", "`on_timeout` must be one of `fail`, `success`, but is the text 'retry'", None),
        ("human_gate: {approvers: []}", "`approvers` is an empty list", None),
        ("deadline_ms: 5", "`deadline_ms` does not belong into the node `a`", "it belongs into `human_gate`"),
        ("retry: 3", "`retry` must be a mapping, but is the number `3`", None),
        ("retry: {attempts: 3}", "unknown key `attempts` in `retry`", "did you mean `max_attempts`?"),
        ("retry: {max_attempts: 0}", "`max_attempts` is 0", "write a whole number from 1 to 10000"),
        ("retry: {backoff: linear}", "`backoff` must be one of `exponential`, `fixed`, but is the text 'linear'", None),
        ("retry: {factor: 0.5}", "`factor` is 0.5", "write a number from 1 to 1000"),
        ("retry: {factor: fast}", "`factor` must be a number, but is the text 'fast'", "write one from 1 to 1000"),
        ("retry: {jitter: 2}", "`jitter` is 2", "write a number from 0 to 1"),
        ("retry: {base: 1s, base_ms: 5}", "`base` and `base_ms` say the same thing twice", "remove one"),
        ("retry: {on: [timeuot]}", "`on` must be one of `fatal`, `hook_error`, `manual`, `policy`, `retryable`, `timeout`, `userFault`, but is the text 'timeuot'", "did you mean `timeout`?"),
        ("env: [A=1]", "`env` must be a mapping of names to texts, but is a list", None),
        ("env: {A-B: x}", "'A-B' is no name of a variable", "use letters, digits and `_`"),
        ("env: {HOOKS_ATTEMPT: x}", "`HOOKS_ATTEMPT` is set by hooks itself", "choose a name that does not begin with HOOKS_"),
        ("env: {A: [x]}", "`env`.A must be text, but is a list", None),
        ('env: {A: "x\\0y"}', "`env.A` holds a NUL character, which no variable can", "remove it"),
        ("cwd: ''", "`cwd` is blank", None),
        ("secrets: TOKEN", "`secrets` must be a list of texts, but is the text 'TOKEN'", None),
        ("secrets: [a=b]", "'a=b' is no name of a variable", "list the names, not the values: [API_KEY]"),
        ("grace: 0s", "`grace`: `0s` is out of range: a duration is longer than 0 and at most 3650d", None),
        ("allow_failure: yes", "`allow_failure` must be true or false, but is the text 'yes'", None),
        ("unsafe_allow_ungated: 1", "`unsafe_allow_ungated` must be true or false, but is the number `1`", None),
        ("tool_policy: none", "`tool_policy` must be a mapping, but is the text 'none'", None),
        ("on_failure: stop", "`on_failure` does not belong into the node `a`", "it belongs to the workflow, beside `nodes`"),
        ("isolate: true", "`isolate` does not belong into the node `a`", "it belongs into the `input` of `python`"),
        ("repeatable: false", "`repeatable` does not belong into the node `a`", "it belongs to the agent, under `agents`"),
        ("body: [a]", "`body` does not belong into the node `a`", "it belongs to a loop (`body: […]`); this is an executor call"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_field_is_one_message(fields: str, message: str | None, fix: str | None) -> None:
    found = problem(call(fields))

    assert found.place is not None
    assert message is None or found.message == message
    assert fix is None or found.fix == fix


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("on_failure: retry\n", "`on_failure` must be one of `continue`, `stop`, but is the text 'retry'"),
        ("require_gates: on\n", "`require_gates` must be true or false, but is the text 'on'"),
        ("executors: {}\n", "`executors` does not belong into the workflow"),
        ("retry: {}\n", "`retry` does not belong into the workflow"),
        ("defaults: {retry: {max_attempts: x}}\n", "`max_attempts` must be a whole number, but is the text 'x'"),
        ("defaults: {grace: 1}\n", "`grace` must be a duration such as 90s, but is the number `1`"),
    ],
)
def test_a_mistake_in_the_head_is_one_message(head: str, message: str) -> None:
    assert problem(HEAD + head + ONE_NODE).message == message


@pytest.mark.parametrize(
    ("condition", "marked"),
    [
        ("size(params.p >", ">"),
        ("'params.p == ''x'' + '", None),
        ('"params.p +"', "+"),
    ],
)
def test_a_condition_that_does_not_compile_is_placed_inside_it(condition: str, marked: str | None) -> None:
    found = problem(
        node(f"\n    executor: shell\n    input: {{argv: [x]}}\n    if: {condition}", head="params: {p: {}}\n")
    )

    assert found.place is not None
    assert found.place.line == 7
    assert marked is None or (found.place.column or 0) >= 9


def test_a_deadline_that_is_missing_is_warned_of() -> None:
    assert [found.message for found in warnings(call("human_gate: {on_timeout: fail}"))] == [
        "`on_timeout` does nothing without a deadline"
    ]


REQUIRED = (
    "require_gates: true\nagents: {w: {kind: command, argv: [w], repeatable: false}, r: {kind: command, argv: [r]}}\n"
)


@pytest.mark.parametrize(
    "body",
    [
        "{executor: shell, input: {argv: [x]}, human_gate: true}",
        "{executor: shell, input: {argv: [x]}, unsafe_allow_ungated: true}",
        "{executor: shell, input: {argv: [x]}, read_only: true}",
        "{agent: r, prompt: x}",
        "{agent: w, prompt: x, human_gate: 'Go?'}",
    ],
)
def test_with_required_gates_every_effect_has_one_or_says_why_not(body: str) -> None:
    assert isinstance(load(node(body, head=REQUIRED)), Workflow)


@pytest.mark.parametrize(
    "body",
    [
        "{executor: shell, input: {argv: [x]}}",
        "{executor: file, input: {path: x, content: y}, human_gate: {stage: after}}",
        "{executor: file, input: {path: x, content: y}, human_gate: false}",
        "{agent: w, prompt: x}",
    ],
)
def test_an_effect_without_its_required_gate_is_refused(body: str) -> None:
    found = problem(node(body, head=REQUIRED))

    assert found.message == "`a` has an effect and no gate before it, which `require_gates` demands"
    assert found.place == Place("w.yaml", 5, 3)


def test_an_effect_in_a_body_needs_its_gate_as_well() -> None:
    text = """\
workflow_id: w
require_gates: true
nodes:
  rounds: {body: [a, ok], max_iterations: 3, terminate: {node: ok}}
  a: {executor: shell, input: {argv: [x]}}
  ok: {type: decision, depends: [a], human_gate: true}
"""

    assert problem(text).place == Place("w.yaml", 5, 3)


def test_a_fan_out_of_too_many_items_is_refused() -> None:
    items: Any = ", ".join(map(str, range(10_001)))

    assert problem(call(f"for_each: [{items}]")).message == "`for_each` has 10001 items; at most 10000 are allowed"
