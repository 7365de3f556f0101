"""What README tells a newcomer to type works as it stands."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hooks.definition.model import Sampling, SubagentNode
from tests.cli.command import CommandLine
from tests.definition.builders import HEAD, ONE_NODE, load
from tests.documents import blocks

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
FIRST_WORKFLOW, EFFECT, AGENTS, REQUIREMENTS, HOOKS, LOOPS = blocks(README, "yaml")
[POLICY] = blocks(README, "python")


def test_the_first_workflow_runs_in_a_git_repository(tmp_path: Path) -> None:
    commit(tmp_path, "Add a door")
    cli = CommandLine(tmp_path)
    cli.write("workflow.yaml", FIRST_WORKFLOW)

    assert cli.hooks("validate", "workflow.yaml").code == 0
    ended = cli.hooks("run", "workflow.yaml")

    assert ended.code == 0, ended.err
    assert (tmp_path / "NOTES.md").read_text() == "## Changes\n\n- Add a door\n"


def test_the_test_command_is_the_one_of_continuous_integration() -> None:
    command = (Path(__file__).parents[1] / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1]

    assert command.endswith("./check")
    assert [block for block in blocks(README, "sh") if "./check" in block] == [f"{command}\n"]


def test_the_agents_and_hooks_it_shows_are_well_formed() -> None:
    agents = {agent.name for agent in load(HEAD + AGENTS + ONE_NODE).agents}
    asked = "agents: {w: {kind: command, argv: [w]}}\nnodes:\n  a: {agent: w, prompt: x}\n"
    file_step = "  b: {executor: file, input: {path: x, content: y}}\n"

    assert agents == {"small", "coder", "judge", "tool", "local"}
    assert [hook.name for hook in load(HEAD + HOOKS + asked + file_step).hooks] == ["no-friday", "guard", "Budget"]


def test_the_requirements_it_shows_are_well_formed() -> None:
    head = (
        "params: {version: {required: true}, language: {default: en}}\n"
        "agents: {writer: {kind: command, argv: [w]}, critic: {kind: command, argv: [c]}}\nnodes:\n"
    )
    [draft] = load(HEAD + head + REQUIREMENTS).nodes

    assert isinstance(draft, SubagentNode)
    assert [requirement.name for requirement in draft.requirements] == [
        "short-title",
        "schema-2",
        "regex-3",
        "command-4",
        "python-5",
        "useful",
    ]
    assert draft.sampling == Sampling(strategy="repair_template", loop_budget=4)


def test_the_effect_it_shows_is_well_formed() -> None:
    draft = "agents: {w: {kind: command, argv: [w]}}\nnodes:\n  draft: {agent: w, prompt: x}\n"

    assert [node.id for node in load(HEAD + draft + EFFECT).nodes] == ["draft", "ticket"]
    assert load(HEAD + draft + EFFECT.replace("# idem", "idem")).nodes


@pytest.mark.parametrize(("steps", "code"), [(100, 0), (0, 3)])
def test_the_python_hook_it_shows_does_what_it_says(tmp_path: Path, steps: int, code: int) -> None:
    cli = CommandLine(tmp_path)
    cli.write("budget.py", POLICY.replace("> 100", f"> {steps}"))
    cli.write(
        "w.yaml",
        "workflow_id: w\nversion: 1\n"
        "agents: {a: {kind: command, argv: [printf, '%s'], options: {temperature: ['t={value}']}}}\n"
        "hooks: [{python: './budget.py:Budget'}]\n"
        "nodes:\n"
        "  read: {executor: shell, read_only: true, input: {argv: ['true']}}\n"
        "  a: {agent: a, prompt: plain, depends: [read]}\n",
    )

    ended = cli.hooks("run", "w.yaml")

    assert ended.code == code, ended.err
    assert code or ended.document == {"a": "t=0"}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("", 0),
        ("echo deny", 0),
        ("""echo '{"systemMessage": "look"}'""", 0),
        ("""echo '{"decision": "block", "reason": "not on a Friday", "code": "E1"}'""", 3),
        ("""echo '{"decision": "ask", "reason": "costly"}'""", 4),
        ("""echo '{"hookSpecificOutput": {"permissionDecision": "deny"}}'""", 3),
        ("echo no >&2; exit 2", 3),
        ("exit 1", 3),
        ("""echo '{"blok": true}'""", 3),
    ],
)
def test_the_answers_of_a_hook_command_mean_what_the_table_says(tmp_path: Path, answer: str, code: int) -> None:
    cli = CommandLine(tmp_path)
    (tmp_path / "policy.sh").write_text(f"#!/bin/sh\ncat > payload.json\n{answer}\n")
    (tmp_path / "policy.sh").chmod(0o755)
    cli.write("hooks.yaml", "- {on: component_pre_execute, argv: [./policy.sh]}\n")
    cli.write("w.yaml", f"{HEAD}version: 1\nnodes: {{a: {{executor: shell, input: {{argv: [echo, x]}}}}}}\n")

    assert cli.hooks("run", "w.yaml", "--hooks", "hooks.yaml").code == code


def commit(repository: Path, subject: str) -> None:
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **who}
    subprocess.run(["git", "init", "--quiet"], cwd=repository, env=environment, check=True)
    words = ["git", "commit", "--quiet", "--allow-empty", "--message", subject]
    subprocess.run(words, cwd=repository, env=environment, check=True)
