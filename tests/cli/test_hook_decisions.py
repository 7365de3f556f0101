"""What a person is told of hooks: what they decided and changed, and what is asked on their behalf."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine

WORKFLOW = """\
workflow_id: notes
version: 1
nodes:
  save: {executor: file, input: {path: a.txt, content: first}}
"""
PATCH = """echo '{"patch": {"input": {"content": "second"}}}'"""
ASK = """echo '{"decision": "ask", "reason": "sure?"}'"""


@pytest.fixture
def notes(cli: CommandLine) -> CommandLine:
    cli.write("notes.yaml", WORKFLOW)
    return cli


def hooked(cli: CommandLine, entries: str, **scripts: str) -> list[str]:
    """The words that run the workflow with these hooks."""
    cli.write("hooks.yaml", entries)
    for name, body in scripts.items():
        cli.write(f"{name}.sh", f"#!/bin/sh\n{body}\n")
        (cli.directory / f"{name}.sh").chmod(0o755)
    return ["run", "notes.yaml", "--hooks", "hooks.yaml"]


def test_show_tells_what_hooks_said_and_the_page_of_a_node_what_they_changed(notes: CommandLine) -> None:
    entries = (
        "- {on: PreToolUse, argv: [./patch.sh]}\n"
        "- {on: PreToolUse, argv: [./strict.sh], mode: audit}\n"
        "- {on: PreToolUse, argv: [jq, empty]}\n"
    )
    run_id = notes.hooks(*hooked(notes, entries, patch=PATCH, strict="echo no >&2; exit 2")).run_id

    page = notes.hooks("show", run_id)
    node = notes.hooks("show", run_id, "--node", "save")
    document = notes.hooks("show", run_id, "--json").document

    assert [(each["node"], each["name"], each["outcome"], each["reason"]) for each in document["decisions"]] == [
        ("save", "patch", "changed", None),
        ("save", "strict", "would_block", "exit 2: no"),
    ]
    assert "effect_pre_attempt  patch   changed      changed input" in page.out
    assert "effect_pre_attempt: patch: changed\n  input:\n" in node.out
    assert '    - {"content":"first","path":"a.txt"}\n    + {"content":"second","path":"a.txt"}\n' in node.out


def test_whoever_is_asked_by_a_hook_sees_the_call_as_the_hooks_have_left_it(notes: CommandLine) -> None:
    entries = "- {on: PreToolUse, argv: [./patch.sh]}\n- {on: PreToolUse, argv: [./ask.sh]}\n"
    run_id = notes.hooks(*hooked(notes, entries, patch=PATCH, ask=ASK)).run_id

    gate = notes.hooks("show", run_id, "--gates", "--json").document["gates"][0]

    assert gate["about"] == {
        "hook": "effect_pre_attempt",
        "executor": "file",
        "input": {"path": "a.txt", "content": "second"},
    }
    assert '"content":"second"' in notes.hooks("show", run_id).out


def test_several_questions_of_one_gate_stand_on_one_line(notes: CommandLine) -> None:
    entries = "- {name: a, on: PreToolUse, argv: [./ask.sh]}\n- {name: b, on: PreToolUse, argv: [./ask.sh]}\n"

    ended = notes.hooks(*hooked(notes, entries, ask=ASK), "-q")

    assert "  save: a: sure?; b: sure?\n" in ended.err


def test_a_run_that_was_refused_before_it_began_says_why(notes: CommandLine) -> None:
    entries = "- {on: SessionStart, argv: [./strict.sh]}\n"

    ended = notes.hooks(*hooked(notes, entries, strict="echo not today >&2; exit 2"), "--json")
    told = notes.hooks("show", ended.document["run_id"]).out

    assert ended.code == 3
    assert ended.document["error"]["node"] is None
    assert "PluginViolationError: strict: exit 2: not today\n" in told


def test_who_may_not_answer_is_told_how_to_answer_for_somebody_who_may(notes: CommandLine) -> None:
    entries = "- {on: PreToolUse, argv: [./ask.sh], approvers: [dana]}\n"
    run_id = notes.hooks(*hooked(notes, entries, ask=ASK)).run_id

    ended = notes.hooks("approve", run_id, "--by", "eve")

    assert ended.code == 7
    assert f"Answer with `--by NAME`; `hooks show {run_id} --gates` names who may." in ended.err


def test_an_empty_hooks_file_is_not_taken_for_a_workflow(notes: CommandLine) -> None:
    ended = notes.hooks(*hooked(notes, ""))

    assert ended.code == 2
    assert "hooks.yaml:1:1: the file is empty\n    fix: write `hooks:` and a list\n" in ended.err


def test_what_a_hook_says_is_told_once_while_the_run_goes_on_and_again_by_tail(notes: CommandLine) -> None:
    entries = "- {name: a, on: PreToolUse, argv: [./say.sh]}\n- {name: b, on: PreToolUse, argv: [./patch.sh]}\n"

    ended = notes.hooks(*hooked(notes, entries, say="""echo '{"systemMessage": "hello"}'""", patch=PATCH))

    assert ended.err.count("hello") == 1
    assert "  save: effect_pre_attempt: b changed\n" in ended.err
    assert "effect_pre_attempt: b changed; a: hello" in notes.hooks("tail", ended.run_id, "--no-follow").out


def test_an_approved_call_is_the_one_that_was_shown_and_its_hooks_are_not_asked_again(notes: CommandLine) -> None:
    entries = "- {on: PreToolUse, argv: [./more.sh]}\n- {on: PreToolUse, argv: [./ask.sh]}\n"
    more = "echo asked >> asked.txt; jq '{patch: {input: {content: (.input.content + \"!\")}}}'"
    run_id = notes.hooks(*hooked(notes, entries, more=more, ask=ASK)).run_id
    shown = notes.hooks("show", run_id, "--gates", "--json").document["gates"][0]["about"]["input"]["content"]

    notes.hooks("approve", run_id)
    ended = notes.hooks("recover", run_id)

    assert ended.code == 0, ended.err
    assert (notes.directory / "a.txt").read_text() == shown == "first!"
    assert (notes.directory / "asked.txt").read_text() == "asked\n"
