# ruff: noqa: E501  (a row of a table is one line)
"""Loading a workflow: what is accepted, and each mistake with its place and its fix."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from hooks.definition.config import Config
from hooks.definition.defaults_section import Defaults
from hooks.definition.executor_inputs import bind_input
from hooks.definition.load import load_workflow
from hooks.definition.model import (
    CommandAgent,
    DecisionNode,
    EntryPointAgent,
    ExecutorDeclaration,
    Gate,
    HookEntry,
    HookMatch,
    HostExecutorNode,
    LoopNode,
    OpenAIAgent,
    Param,
    PythonAgent,
    Retry,
    SubagentNode,
    Workflow,
    workflow_from_json,
    workflow_to_json,
)
from hooks.definition.source import read_source
from hooks.definition.tree import to_value
from hooks.errors import DefinitionError, Place, Problem
from hooks.expressions.scope import RunScope
from tests.definition.builders import HEAD, ONE_NODE, load, node, problem, problems

RELEASE_NOTES = """\
# yaml-language-server: $schema=.hooks/workflow.schema.json
workflow_id: release-notes
version: 2
description: Writes release notes.
x-owner: docs
params:
  since: {type: string, required: true}
  depth: {type: integer, default: 010, min: 1}
agents:
  writer: {kind: command, argv: [claude, -p], output: json, extract: result, options: {seed: [--seed, "{value}"]}}
  local: {kind: python, callable: "agents/local.py:answer", model_options: [seed], timeout: 1m}
defaults: {timeout: 10m, max_concurrency: 8}
hooks:
  - {on: component_pre_execute, match: {executor: file}, argv: [./policies/no-friday.sh], timeout: 5s}
  - {on: [component_post_success], python: "policies/budget.py:cap_budget", priority: 10, on_error: ignore}
metadata: {team: docs}
nodes:
  commits:
    executor: shell
    read_only: true
    input: {argv: [git, log, -n, 1.50, "${params.since}..HEAD"]}
  draft:
    agent: writer
    depends: [commits]
    model_options: {seed: 3}
    prompt: "Write release notes for:\\n${commits.output.stdout}"
    output_schema: {type: object, required: [title]}
  publish:
    executor: file
    depends: [draft]
    timeout_ms: 500
    max_output_bytes: 1000
    input: {path: NOTES.md, mode: append, content: "${draft.output.title} of ${run.id}, ${commits.status}"}
    hooks:
      - {on: component_post_error, argv: [python3, notify.py]}
"""


def test_a_workflow_becomes_the_model_the_runtime_trusts() -> None:
    declared_in = str(Path("w.yaml").absolute())

    assert load(RELEASE_NOTES) == Workflow(
        workflow_id="release-notes",
        version=2,
        description="Writes release notes.",
        params=[
            Param(name="since", required=True),
            Param(name="depth", type="integer", default=10, min=1),
        ],
        agents=[
            CommandAgent(
                name="writer",
                argv=["claude", "-p"],
                output="json",
                extract="result",
                options={"seed": ["--seed", "{value}"]},
            ),
            PythonAgent(name="local", callable="agents/local.py:answer", model_options=["seed"], timeout_ms=60_000),
        ],
        hooks=[
            HookEntry(
                name="no-friday",
                on=["component_pre_execute"],
                argv=["./policies/no-friday.sh"],
                timeout_ms=5_000,
                match=HookMatch(executor=["file"]),
                declared_in=declared_in,
            ),
            HookEntry(
                name="cap_budget",
                on=["component_post_success"],
                python="policies/budget.py:cap_budget",
                priority=10,
                on_error="ignore",
                declared_in=declared_in,
            ),
            HookEntry(
                name="notify",
                on=["component_post_error"],
                argv=["python3", "notify.py"],
                declared_in=declared_in,
                origin="node",
                node_id="publish",
            ),
        ],
        metadata={"team": "docs"},
        max_concurrency=8,
        timeout_ms=600_000,
        nodes=[
            HostExecutorNode(
                id="commits",
                executor="shell",
                read_only=True,
                input={"argv": ["git", "log", "-n", "1.50", "${params.since}..HEAD"]},
            ),
            SubagentNode(
                id="draft",
                agent="writer",
                depends=["commits"],
                model_options={"seed": 3},
                prompt="Write release notes for:\n${commits.output.stdout}",
                output_schema={"type": "object", "required": ["title"]},
            ),
            HostExecutorNode(
                id="publish",
                executor="file",
                depends=["draft"],
                timeout_ms=500,
                max_output_bytes=1_000,
                input={
                    "path": "NOTES.md",
                    "mode": "append",
                    "content": "${draft.output.title} of ${run.id}, ${commits.status}",
                },
            ),
        ],
    )


def test_ten_different_mistakes_are_ten_messages_with_line_and_column() -> None:
    text = """\
workflow_id: "release notes"
verison: 1
params:
  count: {type: integer, default: many}
agents:
  writer: {kind: command, argv: [./writer]}
nodes:
  read:
    executor: shell
    timeout: 90
    input: {argv: [cat, "${params.fiel}"]}
  draft:
    agent: writter
    prompt: "Shorten: ${read.output.stdout}"
  check:
    executor: shel
    input: {argv: [check]}
  send:
    executor: shell
    depends: [chek]
    retry: {max_attempts: 0}
    input: {script: "mail ${params.count}"}
"""

    assert [str(found) for found in problems(text)] == [
        "w.yaml:1:14: the workflow id 'release notes' cannot stand in the name of a run directory\n"
        "    fix: use up to 64 letters, digits, `_`, `-` and `.`, not beginning with a dot",
        "w.yaml:2:1: unknown key `verison` in the workflow\n    fix: did you mean `version`?",
        "w.yaml:4:35: the default of `count` must be an integer, but is 'many'\n    fix: write a whole number",
        "w.yaml:10:14: `timeout` must be a duration such as 90s, but is the number `90`\n"
        "    fix: write `90s` for seconds",
        "w.yaml:11:26: unknown param `fiel`\n    fix: the params of this workflow: `count`; declare it under `params`",
        "w.yaml:13:12: `draft` asks the agent `writter`, which is not declared\n"
        "    fix: did you mean `writer`? Otherwise declare it under `agents` here "
        "or as `agents.writter` in .hooks/config.yaml",
        "w.yaml:14:23: `draft` reads from `read`, which it does not depend on\n"
        "    fix: add `read` to depends of `draft`",
        "w.yaml:16:15: `check` calls the executor `shel`, which is not declared\n"
        "    fix: did you mean `shell`? Otherwise declare it as `executors.shel` in .hooks/config.yaml",
        "w.yaml:20:15: `send` depends on `chek`, which is no node\n    fix: did you mean `check`?",
        "w.yaml:21:27: `max_attempts` is 0\n    fix: write a whole number from 1 to 10000",
        "w.yaml:22:27: `${params.count}` in `script` would be run as code\n"
        '    fix: give it a name under `env:` of the node, and write "$NAME" here',
    ]


SEED_FORM = """{
  "workflowId": "w", "version": 1,
  "agents": {"b": {"kind": "command", "argv": ["./b"], "options": {"t": ["-t", "{value}"]}}},
  "nodes": [
    {"id": "one", "type": "hostExecutor", "executor": "shell", "readOnly": true, "timeoutMs": 10,
     "input": {"argv": ["true"]}, "maxOutputBytes": 5},
    {"id": "two", "type": "subagent", "bot": "b", "depends": ["one"], "modelOverrides": {"t": 1},
     "prompt": "${one.output.stdout}", "outputSchema": {"type": "string"}}
  ]
}"""


def test_camel_case_and_the_list_form_mean_the_same() -> None:
    snake = """
workflow_id: w
agents: {b: {kind: command, argv: [./b], options: {t: [-t, "{value}"]}}}
nodes:
  one: {executor: shell, read_only: true, timeout_ms: 10, input: {argv: ["true"]}, max_output_bytes: 5}
  two:
    agent: b
    depends: [one]
    model_options: {t: 1}
    prompt: "${one.output.stdout}"
    output_schema: {type: string}
"""

    assert load(SEED_FORM, file="w.json") == load(snake)


def test_both_spellings_of_a_key_are_a_duplicate() -> None:
    """B53"""
    assert problem(node("{executor: shell, timeout_ms: 5, timeoutMs: 6, input: {argv: [a]}}")) == Problem(
        "`timeoutMs` and `timeout_ms` say the same thing twice; the first one is at w.yaml:3:24",
        Place("w.yaml", 3, 39),
        "remove one of the two",
    )


def test_two_nodes_of_one_id_are_told_with_both_places() -> None:
    """B53"""
    text = (
        HEAD
        + "nodes:\n  - {id: a, executor: shell, input: {argv: [x]}}\n  - {id: a, executor: shell, input: {argv: [y]}}\n"
    )

    assert problem(text) == Problem(
        "duplicate node id `a`; the first one is at w.yaml:3:10", Place("w.yaml", 4, 10), "rename one of the two"
    )


@pytest.mark.parametrize(
    "key", ['""', ".", "..", ".hidden", "a/b", "a b", '"a\\tb"', '"a\\nb"', '"a\\u2028b"', "é", "x" * 65]
)
def test_a_bad_node_id_is_refused(key: str) -> None:
    """B31"""
    found = problem(f"{HEAD}nodes:\n  ? {key}\n  : {{executor: shell, input: {{argv: [x]}}}}\n")

    assert found.place == Place("w.yaml", 3, 5)
    assert "node id" in found.message
    assert "\t" not in found.message
    assert "\u2028" not in found.message


@pytest.mark.parametrize("key", ["params", "run", "item", "secrets.x", "index", "previous"])
def test_a_node_id_that_hides_a_reference_is_refused(key: str) -> None:
    assert "in references" in problem(f"{HEAD}nodes:\n  {key}: {{executor: shell, input: {{argv: [x]}}}}\n").message


@pytest.mark.parametrize("workflow_id", ["a b", "a/b", ".x", '""', "..", "x" * 65, "[a]"])
def test_a_workflow_id_must_fit_into_a_run_id(workflow_id: str) -> None:
    assert problem(f"workflow_id: {workflow_id}\n{ONE_NODE}").place == Place("w.yaml", 1, 14)


@pytest.mark.parametrize(
    ("field", "fix"),
    [
        ("strategy: x", "it belongs into `sampling`: `sampling: {strategy: repair_template, loop_budget: 3}`"),
        ("loopBudget: 3", "it belongs into `sampling`: `sampling: {loop_budget: 3}`"),
        ("format: {}", "the form of an answer is `output_schema`"),
        ("requirments: []", "did you mean `requirements`?"),
    ],
)
def test_a_sampling_field_beside_its_place_is_told_where_it_belongs(field: str, fix: str) -> None:
    text = node(f"{{agent: w, prompt: x, {field}}}", head="agents: {w: {kind: command, argv: [w]}}\n")

    assert problem(text).fix == fix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "agents: {a: {kind: command, argv: [x], provider: y}}\n" + ONE_NODE, "`provider` is not supported yet"),
        (HEAD + "defaults: {max_output_bytes: 5}\n" + ONE_NODE, "`max_output_bytes` is not supported yet"),
    ],
)  # fmt: skip
def test_not_supported_yet_is_said_everywhere(text: str, message: str) -> None:
    assert problem(text).message == message


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("[1]", "the workflow must be a mapping, but is a list", None),
        ("just text", "the workflow must be a mapping, but is the text 'just text'", None),
        (ONE_NODE, "the workflow has no `workflow_id`", "add `workflow_id: my-workflow`"),
        (HEAD, "the workflow has no `nodes`", "add `nodes:` with at least one node"),
        (HEAD + "nodes: {}\n", "the workflow has no nodes", "add at least one node"),
        (HEAD + "nodes: 3\n", "`nodes` must be a mapping of ids to nodes, but is the number `3`", None),
        (node("null"), "the node `a` must be a mapping, but is empty (null)", None),
        (node("{}"), "the node `a` has neither `agent` nor `executor`", "add `agent: NAME` or `executor: shell`"),
        (node("{executor: shell}"), "the node `a` has no `input`", "add `input:`, such as input: {argv: [echo, hello]}"),
        (node("{executor: shell, input: {}}"), "the input of `shell` has neither `argv` nor `script`", None),
        (node("{executor: shell, input: {argv: [x], script: x}}"), "the input of `shell` has both `argv` and `script`", None),
        (node("{executor: shell, input: {argv: []}}"), "`argv` is an empty list", None),
        (node("{executor: shell, input: {argv: ls}}"), "`argv` must be a list of texts, but is the text 'ls'", None),
        (node("{executor: shell, input: {argv: [ls, [a]]}}"), "`argv[1]` must be text, but is a list", None),
        (node("{executor: shell, input: {argv: [x], idempotent: maybe}}"), "`idempotent` must be true or false, but is the text 'maybe'", None),
        (node("{executor: shell, input: {argv: [x], settle: soon}}"), "`settle`: `soon` is not a duration such as 500ms, 90s, 15m, 2h or 1d", None),
        (node("{executor: shell, input: {agrv: [x], argv: [x]}}"), "unknown key `agrv` in the input of `shell`", "did you mean `argv`?"),
        (node("{executor: file, input: {content: x}}"), "the input of `file` has no `path`", "add `path:`"),
        (node("{executor: file, input: {path: x, content: y, mode: apend}}"), "`mode` must be one of `append`, `replace`, `write`, but is the text 'apend'", "did you mean `append`?"),
        (node("{executor: python, input: {callable: nonsense}}"), "`callable` is 'nonsense'", "write `module:function` or `file.py:function`"),
        (node("{executor: python, input: {callable: 'a:b', args: [1]}}"), "`args` must be a mapping of names to values, but is a list", "write {name: value}"),
        (node("{executor: shell, prompt: x, input: {argv: [x]}}"), "`prompt` does not belong into the node `a`", None),
        (node("{executor: shell, depends: b, input: {argv: [x]}}"), "`depends` must be a list of node ids, but is the text 'b'", "write [b]"),
        (node("{executor: shell, depends: [a], input: {argv: [x]}}"), "the node `a` depends on itself", "remove it from depends"),
        (node("{executor: shell, timeout: 1s, timeout_ms: 5, input: {argv: [x]}}"), "`timeout` and `timeout_ms` say the same thing twice", "remove one"),
        (node("{executor: shell, max_output_bytes: 0, input: {argv: [x]}}"), "`max_output_bytes` is 0", None),
        (node("{executor: shell, output_schema: {type: objekt}, input: {argv: [x]}}"), "`output_schema` is no JSON Schema: \"objekt\" is not valid under any of the schemas listed in the 'anyOf' keyword", None),
        (node("{executor: shell, output_schema: {$ref: 'http://127.0.0.1:9/x'}, input: {argv: [x]}}"), None, "correct the schema (JSON Schema 2020-12)"),
        (node("{executor: shell, output_schema: {$schema: 'http://json-schema.org/draft-07/schema#'}, input: {argv: [x]}}"), "`$schema` is the text 'http://json-schema.org/draft-07/schema#'", "remove it; a schema is read as https://json-schema.org/draft/2020-12/schema"),
        (node("{agent: w, prompt: ' '}", head="agents: {w: {kind: command, argv: [w]}}\n"), "the node `a`: `prompt` is blank", None),
        (node("{agent: w}", head="agents: {w: {kind: command, argv: [w]}}\n"), "the node `a` has no `prompt`", None),
        (node("{agent: w, prompt: x, model_options: {temp: 1}}", head="agents: {w: {kind: command, argv: [w], options: {temperature: [-t]}}}\n"), "the agent `w` does not honour the option `temp`", None),
        (node("{agent: w, prompt: x, model_options: {t: 1}}", head="agents: {w: {kind: command, argv: [w], options: {t: --temp}}}\n"), "the agent `w` would not hear this value: its option `t` has no \"{value}\"", 'write `t: [--temp, "{value}"]` under `options` of the agent'),
        (f"{HEAD}agents: {{w: {{kind: command, argv: [w], options: {{t: 0.1}}}}}}\n{ONE_NODE}", "`options.t` must be the arguments the option becomes, but is the number `0.1`", None),
        (node("{agent: w, prompt: x, model_options: {seed: 1}}", head="agents: {w: {kind: python, callable: 'a:b', model_options: [sed]}}\n"), "the agent `w` does not honour the option `seed`", "did you mean `sed`?"),
        (HEAD + "agents: {w: {argv: [x]}}\n" + ONE_NODE, "the agent `w` has no `kind`", "add `kind: command`, `kind: openai` or `kind: python`"),
        (HEAD + "agents: {w: {kind: command}}\n" + ONE_NODE, "the agent `w` has no `argv`", "add the command: argv: [./agent.sh]; or one of `claude`, `codex`, `gemini`, `llm` as `preset`"),
        (HEAD + "agents: {w: {kind: command, argv: [x], extract: a}}\n" + ONE_NODE, "`extract` needs a JSON answer", "add `output: json`"),
        (HEAD + "agents: {w: {kind: command, argv: [x], output: json, extract: 'a..b'}}\n" + ONE_NODE, "`extract`: 'a..b' is no path into a JSON document", None),
        (HEAD + "agents: {w: {kind: command, argv: [x, '${params.y}']}}\n" + ONE_NODE, "references do not work in an agent's `argv`", None),
        (HEAD + "defaults: {max_concurrency: 0}\n" + ONE_NODE, "`max_concurrency` is 0", None),
        (HEAD + "hooks: [{on: component_pre_execute}]\n" + ONE_NODE, "hooks[0] has neither `argv` nor `python`", "give exactly one of the two"),
        (HEAD + "hooks: [{argv: [x]}]\n" + ONE_NODE, "hooks[0] has no `on`", None),
        (HEAD + "hooks: [{on: component_pre_exec, argv: [x]}]\n" + ONE_NODE, "unknown hook point `component_pre_exec`", "did you mean `component_pre_execute`?"),
        (HEAD + "hooks: [{on: component_pre_execute, argv: [x], match: {nod: a}}]\n" + ONE_NODE, "unknown key `nod` in hooks[0]: `match`", "did you mean `node`?"),
        (HEAD + "hooks: [{on: component_pre_execute, argv: [x], match: {node: 'b*'}}]\n" + ONE_NODE, "`match.node`: `b*` matches nothing in this workflow", "there is: `a`"),
        (HEAD + "hooks: [{on: component_pre_execute, argv: [x], match: {component_type: AgentStep}}]\n" + ONE_NODE, "`match.component_type`: `AgentStep` matches nothing in this workflow", None),
    ],
)  # fmt: skip
def test_one_mistake_is_one_message(text: str, message: str | None, fix: str | None) -> None:
    found = problem(text)

    assert found.place is not None
    assert message is None or found.message == message
    assert fix is None or found.fix == fix


def test_a_reference_is_placed_inside_its_string() -> None:
    text = """\
workflow_id: w
nodes:
  a:
    executor: shell
    input:
      argv: [echo, 'it''s $${fine} ${params.x}', "caf\\u00e9 ${params.y}"]
      stdin: |
        first
        ${params.z}
"""

    def at(marked: str) -> Place:
        before = text[: text.index(marked)]
        return Place("w.yaml", before.count("\n") + 1, len(before) - before.rfind("\n"))

    assert [(found.place, found.message) for found in problems(text)] == [
        (at("${params.x"), "unknown param `x`"),
        (at("${params.y"), "unknown param `y`"),
        (at("${params.z"), "unknown param `z`"),
    ]


@pytest.mark.parametrize(
    ("reference", "message", "fix"),
    [
        ("params.dri", "unknown param `dri`", "did you mean `dir`?"),
        ("params.dir.x", "the param `dir` is of type string and has no parts", "write `${params.dir}`"),
        ("params", "`${params}` names no param", "write `${params.NAME}`"),
        ("run.name", "`${run.name}`: of a run only `id` can be referred to", "write `${run.id}`"),
        ("fist.output", "`${fist.output}`: there is no node `fist`", "did you mean `first`?"),
        ("first.outptu", "`${first.outptu}`: of a node only `output`, `status` and `previous` can be referred to", "write `${first.output}`"),
        ("first.output.stdot", "the output of `first` has no `stdot`", "did you mean `stdout`?"),
        ("first.status.x", "`${first.status.x}`: a status is text and has no parts", "write `${first.status}`"),
        ("last.output", "the node `last` refers to itself", "refer to a node that it depends on"),
        ("HOME", "`${HOME}`: there is no node `HOME`", None),
        ("other.output", "`last` reads from `other`, which it does not depend on", "add `other` to depends of `last`"),
    ],
)  # fmt: skip
def test_an_unknown_reference_never_becomes_empty(reference: str, message: str, fix: str | None) -> None:
    """B50"""
    text = f"""\
workflow_id: w
params: {{dir: {{}}}}
nodes:
  first: {{executor: shell, input: {{argv: [x]}}}}
  other: {{executor: shell, input: {{argv: [x]}}}}
  last: {{executor: shell, depends: [first], input: {{argv: [rm, -rf, "${{{reference}}}/x"]}}}}
"""
    found = problem(text)

    assert (found.message, found.place) == (message, Place("w.yaml", 6, text.splitlines()[5].index("${") + 1))
    assert fix is None or found.fix == fix


def test_a_reference_to_a_node_further_upstream_is_fine() -> None:
    lines = [
        f'  n{i}: {{executor: shell, depends: [n{i - 1}], input: {{argv: ["${{n0.status}}"]}}}}' for i in range(1, 50)
    ]

    assert len(load(HEAD + "nodes:\n  n0: {executor: shell, input: {argv: [x]}}\n" + "\n".join(lines)).nodes) == 50


@pytest.mark.parametrize(
    "argv",
    [
        '[bash, -c, "echo ${params.x}"]',
        '[/bin/sh, -ec, "echo ${params.x}"]',
        '[bash, -eo, pipefail, -c, "echo ${params.x}"]',
        '[env, sh, -c, "echo ${params.x}"]',
    ],
)
def test_no_value_is_pasted_into_the_text_of_a_shell(argv: str) -> None:
    """B48"""
    text = node(f"{{executor: shell, input: {{argv: {argv}}}}}", head="params: {x: {}}\n")

    assert problem(text).message == "a reference in the text of a shell script would be run as code"


def test_a_value_beside_the_text_of_a_shell_is_fine() -> None:
    """B48"""
    text = node(
        '{executor: shell, input: {argv: [bash, -c, \'echo "$1"\', x, "${params.x}"]}}', head="params: {x: {}}\n"
    )

    assert len(load(text).nodes) == 1


def test_a_prompt_is_not_pasted_into_the_text_of_a_shell() -> None:
    """B48"""
    text = HEAD + "agents: {w: {kind: command, argv: [sh, -c, 'llm ${prompt}']}}\n" + ONE_NODE

    assert problem(text).message == "`${prompt}` in the text of a shell script would be run as code"


@pytest.mark.parametrize("reference", ["${params.x}", "${a.output.stdout}", "${my-node.output}", "${ typo.thing }"])
def test_a_reference_in_a_script_is_refused(reference: str) -> None:
    """B48"""
    text = node(f'{{executor: shell, input: {{script: "rm {reference}"}}}}', head="params: {x: {}}\n")
    found = problem(text)

    assert found.message == f"`{reference}` in `script` would be run as code"
    assert found.place == Place("w.yaml", 4, text.splitlines()[3].index("${") + 1)


def test_what_an_input_binds_to() -> None:
    """Text where only text fits, a script as it was written, everything else with its type."""
    text = """\
workflow_id: w
params: {n: {type: integer}, o: {type: object}}
nodes:
  s: {executor: shell, input: {script: "echo ${HOME}", stdin: "${params.o}", settleMs: 10, idempotencyTtl: 1h}}
  f: {executor: file, input: {path: 1.50, content: {$ref: params.o}}}
  p: {executor: python, input: {callable: "m:f", args: {n: "${params.n}"}}}
"""
    scope = RunScope("r", {"n": 1, "o": {"k": [1]}}, set(), lambda _: None, lambda _: None)

    bound = [bind_input(node, scope).input for node in load(text).nodes if isinstance(node, HostExecutorNode)]
    assert bound == [
        {"script": "echo ${HOME}", "stdin": '{"k":[1]}', "settle": 10, "idempotency_ttl": "1h"},
        {"path": "1.50", "content": '{"k":[1]}'},
        {"callable": "m:f", "args": {"n": 1}},
    ]


def test_expansions_of_the_shell_in_a_script_are_kept_escaped() -> None:
    script = "echo ${HOME} ${x%.txt} ${x:-a.b} ${list[0]} $${y} $$"
    text = node(f"{{executor: shell, input: {{script: '{script}'}}}}")

    [only] = load(text).nodes
    assert isinstance(only, HostExecutorNode)
    assert only.input == {"script": script.replace("${", "$${")}


def chain(length: int, *, first_depends: str = "") -> bytes:
    lines = [
        f'  n{i}: {{executor: shell, depends: [n{i - 1}], input: {{argv: [echo, "${{n{i - 1}.status}} ${{n0.status}}"]}}}}\n'
        for i in range(1, length)
    ]
    first = f"  n0: {{executor: shell, depends: [{first_depends}], input: {{argv: [x]}}}}\n"
    return (HEAD + "nodes:\n" + first + "".join(lines)).encode()


def test_a_chain_of_ten_thousand_nodes_is_no_cycle() -> None:
    """B54"""
    assert len(load(chain(10_000)).nodes) == 10_000


def test_a_cycle_of_ten_thousand_nodes_is_one_with_a_short_path() -> None:
    """B54"""
    found = problem(chain(10_000, first_depends="n9999"))

    assert found == Problem(
        "the nodes depend on one another in a cycle of 10000: "
        "n0 -> n9999 -> n9998 -> n9997 -> n9996 -> n9995 -> … -> n1 -> n0",
        Place("w.yaml", 3, 3),
        "remove `n9999` from depends of `n0`, or break the cycle elsewhere",
    )


def test_agents_and_defaults_come_from_the_config_where_the_workflow_has_none() -> None:
    config = Config(
        agents={"w": CommandAgent(name="w", argv=["w"]), "unused": CommandAgent(name="unused", argv=["u"])},
        defaults=Defaults(timeout_ms=1_000, max_concurrency=2),
    )
    workflow = load(node("{agent: w, prompt: x}", head="defaults: {timeout: 5s}\n"), config=config)

    assert workflow.agents == [CommandAgent(name="w", argv=["w"])]
    assert (workflow.timeout_ms, workflow.max_concurrency) == (5_000, 2)


def test_an_agent_of_the_workflow_wins_over_the_config() -> None:
    config = Config(agents={"w": CommandAgent(name="w", argv=["theirs"])})
    text = node("{agent: w, prompt: x}", head="agents: {w: {kind: command, argv: [ours]}}\n")

    assert load(text, config=config).agents == [CommandAgent(name="w", argv=["ours"])]


def test_a_file_is_read_from_disk_and_named_in_messages(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("workflow_id: 1 2\n" + ONE_NODE)

    with pytest.raises(DefinitionError) as caught:
        load_workflow(file)
    assert caught.value.place == Place(str(file), 1, 14)


def test_what_nobody_wrote_is_not_in_the_json() -> None:
    """So that a later release, with more fields, gives an old file the revision it had."""
    assert workflow_to_json(load(HEAD + ONE_NODE)) == (
        b'{"nodes":[{"executor":"shell","id":"a","input":{"argv":["echo","hello"]},"type":"host_executor"}],'
        b'"version":1,"workflow_id":"w"}'
    )


def test_a_workflow_reads_back_from_its_json() -> None:
    workflow = load(RELEASE_NOTES)

    assert workflow_from_json(workflow_to_json(workflow)) == workflow


def test_the_whole_engine_is_loaded() -> None:
    assert [node.id for node in load(WHOLE_ENGINE).nodes] == ["read", "rounds", "send"]


def places_in(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths to all values inside `value`."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in children:
        yield (*path, step)
        yield from places_in(child, (*path, step))


WHOLE_ENGINE = """\
workflow_id: w
on_failure: continue
require_gates: true
defaults: {grace: 1s, retry: {max_attempts: 3, on: [timeout]}}
agents: {w: {kind: command, argv: [w], repeatable: false}}
nodes:
  read: {executor: shell, read_only: true, for_each: [a, b], cwd: "/${item}", input: {argv: [cat, "${index}"]}}
  rounds: {body: [draft, ok], max_iterations: 3, depends: [read], terminate: {node: ok, via: human_gate}, output: {from: draft}}
  draft:
    agent: w
    prompt: "${read.output[0].stdout} ${ok.previous.comment}"
    human_gate: {prompt: x, stage: before, approvers: [a], deadline: 1h, on_timeout: fail}
    retry: {max_attempts: 2, backoff: fixed, base: 1s, factor: 2, max_delay: 1m, jitter: 0.5}
  ok: {type: decision, depends: [draft], if: "draft.output != ''", human_gate: {prompt: "${draft.output}"}}
  send:
    executor: http
    depends: [rounds]
    if: "rounds.status == 'succeeded' && always()"
    secrets: [KEY]
    input: {method: POST, url: "https://x/${run.id}", headers: {k: "${secrets.KEY}"}, json: {t: "${rounds.output}"}, lookup: {url: "https://x"}}
    human_gate: true
"""
documents = [to_value(read_source(text.encode(), "w.yaml")[1]) for text in (RELEASE_NOTES, WHOLE_ENGINE)]
document_places = [(index, place) for index, document in enumerate(documents) for place in places_in(document)]
wrong_values: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        -1,
        2**64,
        1.5,
        "",
        " ",
        "x",
        "\0\t",
        "${",
        "${x.output}",
        [],
        [[]],
        ["x", 1, None],
        {},
        {"$ref": 1},
        {"": {}},
    ]
)


@given(st.sampled_from(document_places), wrong_values)
@settings(max_examples=600, deadline=None)
def test_no_wrong_value_anywhere_raises_anything_else(place: tuple[int, tuple[str | int, ...]], wrong: Any) -> None:
    index, path = place
    document = deepcopy(documents[index])
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = wrong

    with suppress(DefinitionError):
        load(json.dumps(document), file="w.json")


plain_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


optional = st.none() | plain_text
gates = st.builds(
    Gate,
    prompt=plain_text,
    stage=st.sampled_from(["before", "after"]),
    approvers=st.lists(plain_text, max_size=2),
    deadline_ms=st.none() | st.integers(1, 10**12),
    on_timeout=st.sampled_from(["fail", "success"]),
)
retries = st.builds(
    Retry,
    max_attempts=st.integers(1, 10_000),
    backoff=st.sampled_from(["fixed", "exponential"]),
    base_ms=st.integers(1, 10**12),
    factor=st.floats(1, 1_000),
    max_delay_ms=st.integers(1, 10**12),
    jitter=st.floats(0, 1),
    on=st.lists(st.sampled_from(["retryable", "timeout", "fatal"]), max_size=3).map(tuple),
)
every = {
    "depends": st.lists(plain_text, max_size=2),
    "condition": st.none() | st.booleans() | plain_text,
    "metadata": st.dictionaries(plain_text, st.none() | plain_text, max_size=2),
    "description": optional,
}
work = {
    **every,
    "for_each": st.none() | plain_text | st.lists(st.none() | plain_text, max_size=2),
    "human_gate": st.none() | gates,
    "retry": st.none() | retries,
    "allow_failure": st.booleans(),
    "timeout_ms": st.none() | st.integers(1, 10**12),
    "output_schema": st.none() | st.booleans() | st.just({"type": "object"}),
    "env": st.dictionaries(plain_text, plain_text, max_size=2),
    "cwd": optional,
    "secrets": st.lists(plain_text, max_size=2),
    "unsafe_allow_ungated": st.booleans(),
}
steps = st.builds(SubagentNode, id=plain_text, agent=plain_text, prompt=plain_text, **work)
calls = st.builds(
    HostExecutorNode,
    id=plain_text,
    executor=plain_text,
    input=st.dictionaries(plain_text, st.none() | plain_text | st.lists(plain_text, max_size=2), max_size=2),
    read_only=st.booleans(),
    **work,
)
decisions = st.builds(DecisionNode, id=plain_text, human_gate=gates, **every)
loops = st.builds(
    LoopNode,
    id=plain_text,
    body=st.lists(steps | calls | decisions, min_size=1, max_size=3),
    decision=plain_text,
    max_iterations=st.integers(1, 100),
    output_from=optional,
    allow_failure=st.booleans(),
    **every,
)
defaults = st.none(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False)
workflows = st.builds(
    Workflow,
    workflow_id=plain_text,
    version=st.integers(0, 2**53),
    description=optional,
    params=st.lists(st.builds(Param, name=plain_text, default=st.one_of(*defaults, st.just(UNSET))), max_size=2),
    agents=st.lists(
        st.builds(CommandAgent, name=plain_text, argv=st.lists(plain_text, min_size=1), repeatable=st.booleans())
        | st.builds(PythonAgent, name=plain_text, callable=plain_text)
        | st.builds(
            OpenAIAgent,
            name=plain_text,
            model=plain_text,
            base_url=plain_text,
            api_key_env=optional,
            model_options=st.dictionaries(plain_text, st.none() | plain_text | st.floats(0, 1), max_size=2),
        )
        | st.builds(
            EntryPointAgent,
            name=plain_text,
            entry_point=plain_text,
            settings=st.dictionaries(plain_text, st.none() | plain_text, max_size=2),
        ),
        max_size=2,
    ),
    executors=st.lists(
        st.builds(ExecutorDeclaration, name=plain_text, argv=st.lists(plain_text, min_size=1), lookup=st.none())
        | st.builds(ExecutorDeclaration, name=plain_text, callable=plain_text, idempotent=st.booleans()),
        max_size=2,
    ),
    retry=retries,
    on_failure=st.sampled_from(["stop", "continue"]),
    require_gates=st.booleans(),
    nodes=st.lists(steps | calls | loops, max_size=3),
)


@given(workflows)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_workflow_reads_back_from_its_json(workflow: Workflow) -> None:
    assert workflow_from_json(workflow_to_json(workflow)) == workflow
