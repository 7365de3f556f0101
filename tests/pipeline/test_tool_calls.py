"""Hook scripts written for CLI agents, unchanged, at effect points."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hooks.definition.hook_points import HookType
from hooks.pipeline.dispatch import Verdict
from hooks.pipeline.samples import sample_payload
from hooks.pipeline.tool_view import input_of_update, tool_view
from tests.pipeline.builders import HookFiles, dispatch_of, outcomes, reason

PRE, POST = HookType.EFFECT_PRE_ATTEMPT, HookType.EFFECT_POST_SETTLE


def shell(**input: Any) -> dict[str, Any]:
    return {**sample_payload(PRE, "shell"), "input": input}


def file(**input: Any) -> dict[str, Any]:
    return {**sample_payload(PRE, "file"), "input": input}


def asked(files: HookFiles, entry: Any, document: dict[str, Any]) -> Verdict:
    async def story() -> Verdict:
        pipeline = files.pipeline(entry)
        await pipeline.open()
        question = dispatch_of(document["hook"], "publish", document=document)
        verdict = await pipeline.dispatch(question)
        await pipeline.close()
        return verdict

    return asyncio.run(story())


@pytest.mark.parametrize(
    ("document", "name", "added"),
    [
        (shell(argv=["git", "commit", "-m", "two words"]), "Bash", {"command": "git commit -m 'two words'"}),
        (shell(script="make | tee log"), "Bash", {"command": "make | tee log"}),
        (file(path="NOTES.md", content="x"), "Write", {"file_path": "NOTES.md"}),
        (sample_payload(PRE, "http"), "http", {}),
    ],
)
def test_an_effect_is_shown_as_the_tool_call_it_would_be(
    document: dict[str, Any], name: str, added: dict[str, Any]
) -> None:
    assert tool_view(document) == {
        "tool_name": name,
        "tool_input": {**document["input"], **added},
        "tool_use_id": document["idempotency_key"],
    }


def test_after_it_has_settled_there_is_a_response_and_elsewhere_no_tool() -> None:
    settled = sample_payload(POST)

    assert tool_view(settled)["tool_response"] == settled["output"]
    assert tool_view(settled)["tool_use_id"] == tool_view(sample_payload(PRE))["tool_use_id"]
    assert tool_view(sample_payload(HookType.COMPONENT_PRE_EXECUTE)) == {}


@pytest.mark.parametrize(
    ("document", "updated", "input"),
    [
        (shell(argv=["ls"]), {"argv": ["ls", "-l"], "command": "ls"}, {"argv": ["ls", "-l"]}),
        (shell(argv=["ls"]), {"argv": ["ls"], "command": "ls -l"}, {"argv": ["sh", "-c", "ls -l"]}),
        (shell(argv=["ls"]), {"command": "ls -l"}, {"argv": ["sh", "-c", "ls -l"]}),
        (shell(argv=["ls"]), {"command": "ls"}, {"argv": ["ls"]}),
        (shell(script="ls"), {"script": "ls", "command": "ls -l"}, {"argv": ["sh", "-c", "ls -l"]}),
        (shell(script="ls"), {"script": "ls", "command": "ls"}, {"script": "ls"}),
        (shell(argv=["ls"], stdin="x"), {"argv": ["ls"]}, {"argv": ["ls"]}),
        (file(path="a", content="x"), {"file_path": "b", "content": "y"}, {"path": "b", "content": "y"}),
        (file(path="a", content="x"), {"file_path": "a", "content": "y"}, {"path": "a", "content": "y"}),
        (file(path="a", content="x"), {"path": "c", "file_path": "a"}, {"path": "c"}),
    ],
)
def test_an_updated_input_is_mapped_back_to_what_it_stands_for(
    document: dict[str, Any], updated: dict[str, Any], input: dict[str, Any]
) -> None:
    assert input_of_update(document, updated) == input


JQ_GUARD = """\
#!/bin/bash
# Blocks pushes to main: the guard as it stands in many a settings.json.
jq -e '.tool_name == "Bash" and (.tool_input.command | test("git push .*main"))' >/dev/null && {
  echo "push to main is not allowed" >&2
  exit 2
}
exit 0
"""
PYTHON_GUARD = """\
#!/usr/bin/env python3
import json, sys
data = json.load(sys.stdin)
assert data["hook_event_name"] == "PreToolUse"
command = data["tool_input"]["command"]
if "rm " in command:
    answer = {"permissionDecision": "deny", "permissionDecisionReason": "no rm"}
elif "curl" in command:
    answer = {"permissionDecision": "ask", "permissionDecisionReason": "leaves the machine"}
else:
    answer = {"permissionDecision": "allow", "updatedInput": {"command": command + " --dry-run"}}
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}}))
"""


@pytest.mark.parametrize(
    ("argv", "outcome", "said"),
    [
        (["git", "push", "origin", "main"], "block", "exit 2: push to main is not allowed"),
        (["git", "push", "origin", "topic"], "allow", ""),
    ],
)
def test_a_guard_of_jq_and_exit_2(files: HookFiles, argv: list[str], outcome: str, said: str) -> None:
    entry = files.command(JQ_GUARD, on="PreToolUse")

    verdict = asked(files, entry, shell(argv=argv))

    assert verdict.outcome == outcome
    assert not said or reason(verdict) == said


@pytest.mark.parametrize(
    ("argv", "outcome"), [(["rm", "-rf", "x"], "block"), (["curl", "x"], "ask"), (["make", "all"], "changed")]
)
def test_a_guard_that_answers_with_hook_specific_output(files: HookFiles, argv: list[str], outcome: str) -> None:
    entry = files.command(PYTHON_GUARD, on="PreToolUse")

    verdict = asked(files, entry, shell(argv=argv))

    assert verdict.outcome == outcome
    assert verdict.messages == ()
    if outcome == "changed":
        assert verdict.changes == {"input": {"argv": ["sh", "-c", "make all --dry-run"]}}


def test_the_name_a_hook_was_declared_under_is_the_one_it_is_told(files: HookFiles) -> None:
    entry = files.command("cat > seen.json", on="PostToolUse")

    asked(files, entry, sample_payload(POST))

    seen = json.loads((files.directory / "seen.json").read_bytes())
    assert (seen["hook_event_name"], seen["hook"]) == ("PostToolUse", "effect_post_settle")


def test_another_event_name_is_a_warning_and_an_alias_is_none(files: HookFiles) -> None:
    answer = """echo '{"hookSpecificOutput": {"hookEventName": "NAME"}}'"""
    alias = files.command(answer.replace("NAME", "PreToolUse"), "alias", on="effect_pre_attempt")
    other = files.command(answer.replace("NAME", "SessionEnd"), "other", on="PreToolUse")

    assert asked(files, alias, shell(argv=["ls"])) == Verdict()
    assert asked(files, other, shell(argv=["ls"])).messages == (
        "other: hookEventName is 'SessionEnd', but this is PreToolUse",
    )


def test_input_of_a_read_only_call_cannot_be_changed(files: HookFiles) -> None:
    entry = files.command("""echo '{"hookSpecificOutput": {"updatedInput": {"argv": ["true"]}}}'""", on="PreToolUse")

    verdict = asked(files, entry, {**shell(argv=["ls"]), "read_only": True})

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith("'input' cannot be changed: this call is read_only")
