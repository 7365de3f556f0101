"""`hooks:` entries: everything that may stand in one, and what is said of those that would never do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.definition.config import load_hooks_file
from hooks.definition.hook_files import file_of_command
from hooks.definition.load import load_workflow
from hooks.definition.model import HookEntry, HookMatch
from hooks.errors import DefinitionError, Problem

HEAD = "workflow_id: w\n"
NODES = "nodes:\n  a: {executor: shell, input: {argv: [echo, hello]}}\n"


def entries(text: str) -> list[HookEntry]:
    return load_workflow(Path("/x/w.yaml"), text=text.encode()).hooks


def only_problem(text: str) -> Problem:
    with pytest.raises(DefinitionError) as refused:
        entries(text)
    assert len(refused.value.problems) == 1, refused.value
    return refused.value.problems[0]


def test_everything_that_may_stand_in_an_entry() -> None:
    text = """
hooks:
  - name: hours
    on: [PreToolUse, run_started]
    argv: [./hours.sh, --strict]
    mode: concurrent
    priority: 5
    timeout: 3s
    on_error: ignore
    if: payload.attempt == 1 || payload.attempt == null
    env: {ZONE: UTC}
    approvers: [ann]
    deadline: 2h
    on_timeout: success
  - {on: component_pre_execute, python: "policies/a.py:check", final: true, match: {executor: sh*, node: [a, b]}}
"""
    assert entries(HEAD + text + NODES.replace("a:", "b: {executor: shell, input: {argv: [x]}}\n  a:")) == [
        HookEntry(
            name="hours",
            on=["PreToolUse", "run_started"],
            argv=["./hours.sh", "--strict"],
            mode="concurrent",
            priority=5,
            timeout_ms=3_000,
            on_error="ignore",
            condition="payload.attempt == 1 || payload.attempt == null",
            env={"ZONE": "UTC"},
            approvers=["ann"],
            deadline_ms=7_200_000,
            on_timeout="success",
            declared_in="/x/w.yaml",
        ),
        HookEntry(
            name="check",
            on=["component_pre_execute"],
            python="policies/a.py:check",
            final=True,
            match=HookMatch(executor=["sh*"], node=["a", "b"]),
            declared_in="/x/w.yaml",
        ),
    ]


def test_a_python_hook_may_leave_its_points_to_its_declaration_or_be_an_installed_plugin() -> None:
    found = entries(HEAD + 'hooks: [{python: "a.py:Budget"}, {python: installed-one}]\n' + NODES)

    assert [(entry.name, entry.on) for entry in found] == [("Budget", []), ("installed-one", [])]


def test_a_hooks_file_is_held_to_the_same_rules(tmp_path: Path) -> None:
    path = tmp_path / "h.yaml"
    path.write_text("- {on: run_finished, argv: [x], mode: transform}\n")

    with pytest.raises(DefinitionError, match="only look on: `transform` is not possible there"):
        load_hooks_file(path)


@pytest.mark.parametrize(
    ("entry", "message", "fix"),
    [
        ("{on: run_start, argv: [x]}", "unknown hook point `run_start`", "did you mean `run_started`?"),
        ("{on: PreToolUsage, argv: [x]}", "unknown hook point `PreToolUsage`", "did you mean `PreToolUse`?"),
        ("{argv: [x]}", "hooks[0] has no `on`", "add `on:` with a hook point, such as `component_pre_execute`"),
        (
            "{on: run_finished, argv: [x], mode: sequential}",
            "hooks of `run_finished` only look on: `sequential` is not possible there",
            "use `audit`",
        ),
        (
            "{on: run_started, argv: [x], match: {component_type: Host*}}",
            "`run_started` has no `component_type` to match",
            "it has `workflow`",
        ),
        (
            "{on: [component_pre_execute, wait_created], argv: [x], match: {executor: shell}}",
            "`wait_created` has no `executor` to match",
            "it has `node`, `workflow`",
        ),
        (
            "{on: component_pre_execute, argv: [x], match: {node: b}}",
            "`match.node`: `b` matches nothing in this workflow",
            "there is: `a`",
        ),
        (
            "{on: PreToolUse, argv: [x], match: {executor: Bash|Write}}",
            "`match.executor`: `Bash|Write` is a tool of CLI agents and no executor",
            "write `executor: [shell, file]`",
        ),
        (
            "{on: PreToolUse, argv: [x], match: {node: a|b}}",
            "`match.node`: `a|b` matches nothing: it is a glob",
            "write `node: [a, b]`",
        ),
        (
            "{on: PreToolUse, argv: [x], match: {component_type: agent_step}}",
            "`match.component_type`: there is no `agent_step`",
            "there is `AgentStep`, `HostExecutorCall`",
        ),
        (
            "{on: component_pre_execute, argv: [x], final: true, mode: audit}",
            "a final hook has the last word, which `audit` never has",
            "leave `mode` out",
        ),
        (
            "{on: component_post_error, argv: [x], final: true}",
            "at `component_post_error` there is nothing left to stop",
            "remove `final`",
        ),
        (
            "{on: component_pre_execute, argv: [x], mode: fire_and_forget, on_error: fail}",
            "a fire_and_forget hook ends after what it looks at, so its failure cannot stop it",
            None,
        ),
        (
            "{on: effect_pre_attempt, argv: [x], on_timeout: success}",
            "`on_timeout` does nothing without a deadline",
            "add `deadline: 2h`",
        ),
        (
            "{on: effect_post_settle, argv: [x], approvers: ann}",
            "a hook of `effect_post_settle` cannot ask a person",
            None,
        ),
        ("{on: run_started, argv: [x], if: 'payload.'}", None, "write CEL over `payload`: payload.attempt > 1"),
        (
            "{on: run_started, argv: [x], if: 'params.a == 1'}",
            "hooks[0]: `if`: there is no `params`",
            "a hook sees `payload` and nothing else",
        ),
        (
            "{on: run_started, python: 'a b'}",
            "hooks[0]: `python` is 'a b'",
            "write `module:function`, `file.py:function`, or the name of an installed plugin",
        ),
    ],
)
def test_an_entry_that_would_never_do_what_it_says_is_refused(entry: str, message: str | None, fix: str | None) -> None:
    found = only_problem(f"{HEAD}hooks:\n  - {entry}\n{NODES}")

    assert message is None or found.message == message
    assert fix is None or found.fix == fix
    assert found.place is not None
    assert found.place.line == 3


def test_a_node_cannot_have_a_hook_of_the_run() -> None:
    text = HEAD + "nodes:\n  a: {executor: shell, input: {argv: [x]}, hooks: [{on: run_started, argv: [x]}]}\n"

    assert only_problem(text).message == "`run_started` is about the whole run, not about a node"


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        (["./a.sh"], "./a.sh"),
        (["jq", "-e", "."], None),
        (["python3", "policies/a.py"], "policies/a.py"),
        (["python3", "-u", "policies/a.py", "b.py"], "policies/a.py"),
        (["/usr/bin/python3.11", "a"], "a"),
        (["bash", "-e", "a.sh"], "a.sh"),
        (["sh", "-c", "exit 2"], None),
        (["sh", "-c", "cat x.sh"], None),
        (["python3", "-m", "policies"], None),
        (["env", "python3", "a.py"], "a.py"),
        (["env", "true"], None),
    ],
)
def test_the_file_a_command_consists_of(argv: list[str], file: str | None) -> None:
    assert file_of_command(argv) == file


@pytest.mark.parametrize(("match", "glob"), [("node: b", "b"), ("executor: file", "file")])
def test_a_hook_of_a_node_that_would_never_be_asked_about_that_node_is_refused(match: str, glob: str) -> None:
    nodes = f"""\
nodes:
  a:
    executor: shell
    input: {{argv: [x]}}
    hooks: [{{on: PreToolUse, argv: [x], match: {{{match}}}}}]
  b: {{executor: file, input: {{path: x, content: x}}}}
"""

    problem = only_problem(HEAD + nodes)

    assert problem.message == f"`match.{match.split(':')[0]}`: `{glob}` matches nothing in the node `a`"


def test_a_tool_name_of_cli_agents_is_refused_where_no_workflow_is_known_too(tmp_path: Path) -> None:
    file = tmp_path / "hooks.yaml"
    file.write_text("- {on: PreToolUse, argv: [x], match: {executor: Bash}}\n")

    with pytest.raises(DefinitionError, match="`Bash` is a tool of CLI agents and no executor"):
        load_hooks_file(file)
