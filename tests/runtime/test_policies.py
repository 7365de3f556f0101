"""Hooks at every point the runtime dispatches: what they see, what they stop, what they ask, what is logged."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hooks
from hooks.definition.model import Gate, HookEntry
from hooks.events.payloads import EffectAttempted, HookDecided, NodeFailed, WaitCreated
from hooks.runtime.driving import drive, in_own_loop
from hooks.runtime.requests import Answer, answer_gate
from hooks.runtime.runs import reopen_run
from hooks.storage.verify import verify_run
from tests.runtime.runs import Runs, agent_step, append, sh, shell

TIMEOUT_MS = 20_000


def policy(tmp_path: Path, *points: str, answer: Any = None, name: str = "policy", **fields: Any) -> HookEntry:
    """A command hook that keeps every payload it gets in `<name>.seen` and answers with `answer`."""
    script = tmp_path / f"{name}.sh"
    script.write_text(
        # In one write: those who observe are asked side by side.
        f"payload=$(cat)\nprintf '%s\\n' \"$payload\" >> {tmp_path}/{name}.seen\n"
        + (f"cat <<'ANSWER'\n{json.dumps(answer)}\nANSWER\n" if answer is not None else "")
    )
    return HookEntry(
        name=name, on=list(points), argv=["sh", str(script)], declared_in=str(tmp_path / "workflow.yaml"), **fields
    )


def seen(tmp_path: Path, name: str = "policy") -> list[dict[str, Any]]:
    path = tmp_path / f"{name}.seen"
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()] if path.exists() else []


def run(runs: Runs, *nodes: Any, hooks: list[HookEntry], **options: Any) -> Any:
    return runs.run(*nodes, hook_entries=hooks, **options)


def answer(runs: Runs, approved: bool) -> Answer:
    created = [event.payload for event in runs.events if isinstance(event.payload, WaitCreated)][-1]
    return in_own_loop(
        answer_gate(runs.directory, wait_id=created.wait_id, approved=approved, by="ann", timeout_ms=TIMEOUT_MS)
    )


BLOCK = {"decision": "block", "reason": "not on a friday", "code": "FRIDAY"}
ASK = {"decision": "ask", "reason": "is that meant?"}


@pytest.mark.parametrize("point", ["effect_pre_attempt", "PreToolUse", "component_pre_execute"])
def test_a_blocked_effect_is_never_started(runs: Runs, tmp_path: Path, point: str) -> None:
    """B66"""
    report = run(runs, append("a", tmp_path / "out", "x"), hooks=[policy(tmp_path, point, answer=BLOCK)])

    assert report.status.exit_code == 3
    assert not (tmp_path / "out").exists()
    assert "effectAttempted" not in runs.types
    assert "not on a friday" in runs.only(NodeFailed).error.error_message
    assert verify_run(runs.directory) == []


def test_a_hook_changes_what_is_executed(runs: Runs, tmp_path: Path) -> None:
    changed = {"modify": {"input": {"path": str(tmp_path / "out"), "mode": "append", "content": "changed"}}}
    report = run(
        runs, append("a", tmp_path / "out", "x"), hooks=[policy(tmp_path, "effect_pre_attempt", answer=changed)]
    )

    assert report.status.exit_code == 0
    assert (tmp_path / "out").read_text() == "changed"
    (payload,) = seen(tmp_path)
    assert (payload["tool_name"], payload["input"]["content"]) == ("Write", "x")
    assert payload["idempotency_key"] == runs.only(EffectAttempted).idempotency_key


def test_a_result_is_withheld_after_settling_and_the_effect_not_repeated(runs: Runs, tmp_path: Path) -> None:
    report = run(runs, append("a", tmp_path / "out", "x"), hooks=[policy(tmp_path, "effect_post_settle", answer=BLOCK)])

    assert report.status.exit_code == 3
    assert runs.only(NodeFailed).effect_done
    assert runs.retry().status.exit_code == 3
    assert (tmp_path / "out").read_text() == "x"


@pytest.mark.parametrize("point", ["component_pre_execute", "effect_pre_attempt"])
def test_a_question_opens_a_gate_and_its_answer_counts(runs: Runs, tmp_path: Path, point: str) -> None:
    report = run(runs, append("a", tmp_path / "out", "x"), hooks=[policy(tmp_path, point, answer=ASK)])
    assert report.status.exit_code == 4
    assert "::ask::" in runs.only(WaitCreated).wait_id
    assert not (tmp_path / "out").exists()

    answer(runs, approved=True)
    assert runs.recover().status.exit_code == 0
    assert (tmp_path / "out").read_text() == "x"
    assert runs.types.count("waitCreated") == 1


def test_a_question_that_is_answered_with_no_blocks_the_run(runs: Runs, tmp_path: Path) -> None:
    run(runs, append("a", tmp_path / "out", "x"), hooks=[policy(tmp_path, "effect_pre_attempt", answer=ASK)])
    answer(runs, approved=False)

    assert runs.recover().status.exit_code == 3
    assert not (tmp_path / "out").exists()


def test_a_question_comes_before_the_nodes_own_gate(runs: Runs, tmp_path: Path) -> None:
    step = append("a", tmp_path / "out", "x", human_gate=Gate(prompt="and you?"))
    run(runs, step, hooks=[policy(tmp_path, "effect_pre_attempt", answer=ASK)])
    answer(runs, approved=True)
    assert runs.recover().status.exit_code == 4
    answer(runs, approved=True)

    assert runs.recover().status.exit_code == 0
    stages = [event.payload.stage for event in runs.events if isinstance(event.payload, WaitCreated)]
    assert stages == ["ask", "before"]


def test_a_run_that_is_refused_starts_no_node(runs: Runs, tmp_path: Path) -> None:
    report = run(runs, agent_step("a"), hooks=[policy(tmp_path, "run_started", answer=BLOCK)])

    assert report.status.exit_code == 3
    assert "attemptCreated" not in runs.types
    assert runs.types[-1] == "runBlocked"


@pytest.mark.parametrize(("approved", "code"), [(True, 0), (False, 3)])
def test_a_question_about_the_run_is_answered_before_any_node_starts(
    runs: Runs, tmp_path: Path, approved: bool, code: int
) -> None:
    report = run(runs, agent_step("a"), hooks=[policy(tmp_path, "run_started", answer=ASK)])
    assert report.status.exit_code == 4
    assert "attemptCreated" not in runs.types

    answer(runs, approved=approved)
    assert runs.recover().status.exit_code == code


def test_those_who_observe_are_told_and_change_nothing(runs: Runs, tmp_path: Path) -> None:
    observer = policy(
        tmp_path, "run_resumed", "run_finished", "wait_created", "wait_resolved", "effect_reconciled", mode="audit"
    )
    run(runs, agent_step("a", human_gate=Gate()), sh("b", "kill -9 $$"), hooks=[observer])
    answer(runs, approved=True)
    runs.recover()

    assert sorted({payload["hook"] for payload in seen(tmp_path)}) == [
        "effect_reconciled",
        "run_resumed",
        "wait_created",
        "wait_resolved",
    ]


def test_a_program_gives_a_run_that_goes_on_the_hooks_that_hold_now(runs: Runs, tmp_path: Path) -> None:
    first = policy(tmp_path, "effect_pre_attempt", name="first", origin="project")
    step = append("a", tmp_path / "out", "x", human_gate=Gate())
    assert run(runs, step, hooks=[first]).status.exit_code == 4
    assert answer(runs, approved=True).accepted
    guard = policy(tmp_path, "effect_pre_attempt", answer=BLOCK, name="guard", origin="user")

    report = asyncio.run(hooks.recover(runs.directory, hook_entries=[first, guard]))

    assert report.status.exit_code == 3
    assert not (tmp_path / "out").exists()
    assert [member.name for member in report.state.hook_set] == ["guard", "first"]
    again = [policy(tmp_path, "effect_pre_attempt", name="late", origin="flag")]
    with reopen_run(runs.directory, by="ann", hook_entries=again) as reopened:
        assert [member.name for member in reopened.state.hook_set] == ["guard", "first", "late"]
        assert drive(reopened).status.exit_code == 3
    assert verify_run(runs.directory) == []


def test_the_end_of_a_run_is_told_after_it(runs: Runs, tmp_path: Path) -> None:
    observer = policy(tmp_path, "SessionEnd", mode="audit", answer=BLOCK)
    report = run(runs, agent_step("a"), hooks=[observer])

    assert report.status.exit_code == 0
    assert [payload["status"] for payload in seen(tmp_path)] == ["succeeded"]
    assert runs.types[-2:] == ["runSucceeded", "hookDecided"]
    assert [decision.outcome for decision in runs.only(HookDecided).decisions] == ["would_block"]


def test_no_hook_sees_a_secret(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t-v4lue-of-24-bytes")
    step = sh("a", 'echo "$AUTH"', env={"AUTH": "${secrets.TOKEN}"}, secrets=["TOKEN"])
    points = ["component_pre_execute", "effect_pre_attempt", "effect_post_settle", "component_post_success"]
    run(runs, step, hooks=[policy(tmp_path, *points)])

    assert len(seen(tmp_path)) == 4
    assert "s3cr3t" not in (tmp_path / "policy.seen").read_text()


def test_an_audit_hook_sees_what_was_blocked(runs: Runs, tmp_path: Path) -> None:
    hooks = [
        policy(tmp_path, "effect_pre_attempt", answer=BLOCK),
        policy(tmp_path, "effect_pre_attempt", name="auditor", mode="audit"),
    ]
    run(runs, append("a", tmp_path / "out", "x"), hooks=hooks)

    (payload,) = seen(tmp_path, "auditor")
    assert payload["verdict"]["outcome"] == "block"


APPEND_ANOTHER = """
import json, sys
open({seen!r}, "a").write("seen\\n")
given = json.load(sys.stdin)["input"]
print(json.dumps({{"modify": {{"input": {{**given, "content": given["content"] + "!"}}}}}}))
"""


def test_a_change_that_builds_on_what_was_there_is_made_once_when_a_person_is_asked(runs: Runs, tmp_path: Path) -> None:
    """What a hook of the point has made of the input must not be shown to it as the input when the run goes on."""
    script, seen_by = tmp_path / "more.py", tmp_path / "more.seen"
    script.write_text(APPEND_ANOTHER.format(seen=str(seen_by)))
    more = HookEntry(
        name="more",
        on=["effect_pre_attempt"],
        argv=[sys.executable, str(script)],
        declared_in=str(tmp_path / "workflow.yaml"),
    )
    asks = policy(tmp_path, "effect_pre_attempt", answer=ASK, name="asks")
    report = run(runs, append("a", tmp_path / "out", "x"), hooks=[more, asks])
    assert report.status.exit_code == 4

    answer(runs, approved=True)

    assert runs.recover().status.exit_code == 0
    assert (tmp_path / "out").read_text() == "x!"
    assert seen_by.read_text() == "seen\n"
    assert len(seen(tmp_path, "asks")) == 1
    assert runs.types.count("hookDecided") == 1


SECRET = "not-for-the-log-1234567890"
SAYS_IT = {
    "reason": "echo {} >&2; exit 2",
    "reason that is cut": 'P=$(printf \'%03985d\' 0); echo \'{{"decision":"block","reason":"\'$P{}\'"}}\'',
    "stderr that is cut": "printf %s {} >&2; printf %01990d 0 >&2; exit 2",
    "code": 'echo \'{{"decision":"block","code":"{}"}}\'',
    "message": 'echo \'{{"systemMessage":"{}"}}\'',
    "failure": "echo {} >&2; exit 5",
}


@pytest.mark.parametrize("point", ["run_started", "effect_pre_attempt", "run_finished"])
@pytest.mark.parametrize("body", SAYS_IT.values(), ids=SAYS_IT.keys())
def test_a_secret_that_a_hook_says_is_masked_at_every_point(
    runs: Runs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    point: str,
    body: str,
) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    script = tmp_path / "tells.sh"
    script.write_text(body.format("$TOKEN" if "'" not in body else "'$TOKEN'"))
    tells = HookEntry(name="tells", on=[point], argv=["sh", str(script)], declared_in=str(tmp_path / "workflow.yaml"))

    run(runs, sh("a", "true", secrets=["TOKEN"]), hooks=[tells])

    assert "hookDecided" in runs.types
    assert SECRET[:10].encode() not in runs.directory.log.read_bytes()
    assert SECRET[-10:].encode() not in runs.directory.log.read_bytes()
    assert SECRET[:10] not in "".join(capfd.readouterr())


def test_a_secret_that_a_plugin_keeps_is_masked_in_the_log(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    (tmp_path / "keeps.py").write_text(
        "import os\ndef keep(payload, ctx):\n    ctx.state['it'] = os.environ['TOKEN']\n"
    )
    keeps = HookEntry(
        name="keeps",
        on=["effect_pre_attempt"],
        python="keeps.py:keep",
        declared_in=str(tmp_path / "workflow.yaml"),
    )

    run(runs, sh("a", "true", secrets=["TOKEN"]), hooks=[keeps])

    (kept,) = [decision.state for decision in runs.only(HookDecided).decisions]
    assert kept.value == {"it": "[secret TOKEN]"}


@pytest.mark.parametrize(
    "given", [{}, {"argv": "ls"}, {"argw": ["ls"]}, {"argv": ["a\0b"]}, {"argv": ["true"], "script": "true"}]
)
def test_an_input_that_no_file_could_give_is_the_hooks_fault(runs: Runs, tmp_path: Path, given: Any) -> None:
    wrong = policy(tmp_path, "effect_pre_attempt", answer={"modify": {"input": given}})

    report = run(runs, sh("a", f"touch {tmp_path / 'out'}"), hooks=[wrong])

    assert report.status.exit_code == 3
    assert runs.only(NodeFailed).error.error_class == "hook_error"
    assert not (tmp_path / "out").exists()


def test_an_input_without_the_place_of_a_secret_is_the_hooks_fault(runs: Runs, tmp_path: Path) -> None:
    wrong = policy(tmp_path, "effect_pre_attempt", answer={"modify": {"input": {"argv": ["true"]}}}, on_error="ignore")

    step = msgspec.structs.replace(
        shell("a", "cat", secrets=["HOME"]), input={"argv": ["cat"], "stdin": "${secrets.HOME}"}
    )

    report = run(runs, step, hooks=[wrong])

    assert report.status.exit_code == 0
    (decision,) = runs.only(HookDecided).decisions
    assert decision.outcome == "ignored_error"
    assert "leads nowhere" in (decision.reason or "")
