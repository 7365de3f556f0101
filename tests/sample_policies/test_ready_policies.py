"""The policies of sample_runs/policies, each through the pipeline as its hooks.yaml declares it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from hooks.definition.config import load_hooks_file
from hooks.definition.hook_points import HookType
from hooks.pipeline.dispatch import Dispatch, Subject, Verdict
from hooks.pipeline.hook_set import resolve_hook_set
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.samples import sample_payload
from tests.cli.command import CommandLine

POLICIES = Path(__file__).parents[2] / "sample_runs" / "policies"
PRE, START = HookType.EFFECT_PRE_ATTEMPT, HookType.SAMPLING_LOOP_START
TUESDAY, SUNDAY = "2026-01-06", "2026-01-04"
FRIDAY_NIGHT = "2026-01-02T22:30:00.000Z"
TOKEN = "ghp_" + "a1B2" * 10


def asked(name: str, directory: Path, **changed: Any) -> Verdict:
    """What one of the policies says to an effect."""
    executor = changed.get("executor", "shell")
    subject = Subject("w", "push", "HostExecutorCall", executor=executor)
    return told(name, directory, subject, {**sample_payload(PRE, executor), **changed})


def asked_of_an_agent(point: HookType, name: str, directory: Path, **changed: Any) -> Verdict:
    """What one of the policies says at a point of an agent step."""
    return told(
        name, directory, Subject("w", "draft", "AgentStep", agent="writer"), {**sample_payload(point), **changed}
    )


def told(name: str, directory: Path, subject: Subject, document: dict[str, Any]) -> Verdict:
    entries = [entry for entry in load_hooks_file(POLICIES / "hooks.yaml") if entry.name == name]
    point = HookType(document["hook"])

    async def story() -> Verdict:
        pipeline = Pipeline(
            resolve_hook_set(entries),
            run_id="r",
            workflow_id="w",
            run_directory=directory,
            working_directory=directory,
            transcript=directory / "events.jsonl",
        )
        await pipeline.open()
        try:
            return await pipeline.dispatch(Dispatch(hook=point, ordinal=1, subject=subject, payload=lambda: document))
        finally:
            await pipeline.close()

    return asyncio.run(story())


def reason(verdict: Verdict) -> Any:
    assert verdict.violation is not None
    return verdict.violation.details["reason"]


@pytest.mark.parametrize(
    ("time", "outcome"),
    [
        (f"{TUESDAY}T08:00:00.000Z", "allow"),
        (f"{TUESDAY}T17:59:59.999Z", "allow"),
        (f"{TUESDAY}T07:59:59.999Z", "block"),
        (f"{TUESDAY}T18:00:00.000Z", "block"),
        (f"{SUNDAY}T12:00:00.000Z", "block"),
    ],
)
def test_effects_happen_in_working_hours_only(tmp_path: Path, time: str, outcome: str) -> None:
    assert asked("working-hours", tmp_path, timestamp=time).outcome == outcome


def test_out_of_hours_the_reason_says_when_and_what_only_reads_may_go_on(tmp_path: Path) -> None:
    refused = asked("working-hours", tmp_path, timestamp=FRIDAY_NIGHT)

    assert reason(refused) == f"no effects at {FRIDAY_NIGHT}: outside 08-18 UTC on days 12345"
    assert asked("working-hours", tmp_path, timestamp=FRIDAY_NIGHT, read_only=True).outcome == "allow"


@pytest.mark.parametrize(
    ("input", "outcome"),
    [
        ({"argv": ["git", "push"]}, "allow"),
        ({"argv": ["/tmp/git", "push"]}, "block"),
        ({"argv": ["rm", "-rf", "/"]}, "block"),
        ({"argv": ["sh", "-c", "git push"]}, "block"),
        ({"script": "git push"}, "ask"),
    ],
)
def test_only_commands_on_the_list_run_and_a_script_is_a_question(
    tmp_path: Path, input: dict[str, Any], outcome: str
) -> None:
    assert asked("command-allow-list", tmp_path, input=input).outcome == outcome


def test_a_command_that_is_not_on_the_list_is_named(tmp_path: Path) -> None:
    assert reason(asked("command-allow-list", tmp_path, input={"argv": ["rm"]})) == (
        "rm is not among: git, make, jq, echo"
    )


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("notes/a.md", "allow"),
        ("docs/../notes/a.md", "allow"),
        ("notes/../a.md", "block"),
        ("notesome/a.md", "block"),
        ("/etc/passwd", "block"),
        ("notes/link/a.md", "block"),
    ],
)
def test_files_are_written_below_the_directories_on_the_list_only(tmp_path: Path, path: str, outcome: str) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "link").symlink_to("/tmp")

    assert asked("path-allow-list", tmp_path, executor="file", input={"path": path}).outcome == outcome


def test_other_executors_are_not_asked_for_a_path(tmp_path: Path) -> None:
    assert asked("path-allow-list", tmp_path, input={"argv": ["true"]}) == Verdict()


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        (f"curl -H 'Authorization: {TOKEN}'", "curl -H 'Authorization: [GitHub token redacted]'"),
        ("id AKIAABCDEFGHIJKLMNOP.", "id [AWS key redacted]."),
        ("PASSWORD=hunter22 x", "PASSWORD=[password redacted] x"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest", "[private key redacted]\nrest"),
    ],
)
def test_what_looks_like_a_secret_is_redacted_in_the_input(tmp_path: Path, text: str, redacted: str) -> None:
    verdict = asked("secret-scan", tmp_path, input={"argv": ["echo", text], "env": {"A": [text]}})

    assert verdict.changes == {"input": {"argv": ["echo", redacted], "env": {"A": [redacted]}}}
    assert verdict.decided is not None
    (decision,) = verdict.decided.decisions
    assert decision.state is not None
    assert decision.state.value == {"found": 1}


def test_a_call_that_cannot_be_changed_is_blocked_and_one_without_a_secret_is_left_alone(tmp_path: Path) -> None:
    held = asked("secret-scan", tmp_path, input={"argv": ["echo", TOKEN]}, read_only=True)

    assert reason(held) == "its input holds what looks like a secret"
    assert asked("secret-scan", tmp_path, input={"argv": ["echo", "hello"]}) == Verdict()


@pytest.mark.parametrize(
    ("budget", "metadata", "capped"),
    [
        (64, {}, 4),
        (4, {}, None),
        (1, {"max_draws": "2"}, None),
        (64, {"max_draws": "2"}, 2),
        (64, {"max_draws": 2}, 2),
        (64, {"max_draws": "9"}, 4),
        (64, {"max_draws": "0"}, 1),
    ],
)
def test_no_step_draws_more_often_than_the_policy_and_the_run_allow(
    tmp_path: Path, budget: int, metadata: dict[str, Any], capped: int | None
) -> None:
    verdict = asked_of_an_agent(START, "draw-budget", tmp_path, loop_budget=budget, user_metadata=metadata)

    assert verdict.changes == ({} if capped is None else {"loop_budget": capped})


def test_a_cap_that_is_no_number_stops_the_step(tmp_path: Path) -> None:
    verdict = asked_of_an_agent(START, "draw-budget", tmp_path, loop_budget=64, user_metadata={"max_draws": "few"})

    assert verdict.outcome == "error"


@pytest.mark.parametrize("purpose", ["draw", "judge"])
def test_what_looks_like_a_secret_is_redacted_in_a_prompt_before_anybody_is_asked(tmp_path: Path, purpose: str) -> None:
    point = HookType.GENERATION_PRE_CALL

    verdict = asked_of_an_agent(point, "secret-scan", tmp_path, prompt=f"Use {TOKEN} here.", purpose=purpose)

    assert verdict.changes == {"prompt": "Use [GitHub token redacted] here."}
    assert asked_of_an_agent(point, "secret-scan", tmp_path, prompt="Use none.") == Verdict()


def test_in_a_run_the_budget_is_capped_and_no_prompt_of_a_draw_or_a_judge_holds_the_secret(tmp_path: Path) -> None:
    """The agents answer with what they were asked."""
    cli = CommandLine(tmp_path)
    shutil.copytree(POLICIES, tmp_path / "policies")
    cli.write("w.yaml", TELLING)

    ended = cli.hooks("run", "w.yaml", "--run-id", "r", "--hooks", "policies/hooks.yaml", "--meta", "max_draws=2")

    assert ended.code == 1
    assert TOKEN not in "".join(path.read_text() for path in (cli.runs / "r").rglob("*stdin*"))
    (step,) = [line["payload"] for line in cli.log_lines("r") if line["type"] == "samplingLoopEnded"]
    assert step["iterations"] == 2
    told = [line["payload"] for line in cli.log_lines("r") if line["type"] == "generationStarted"]
    assert [call["purpose"] for call in told if "purpose" in call] == ["judge", "judge"]
    assert len(told) == 4
    assert not [call for call in told if TOKEN in call["prompt"]]


TELLING = f"""\
workflow_id: telling
version: 1
agents:
  writer: {{kind: command, argv: [cat]}}
  critic: {{kind: command, argv: [sh, -c, "cat >/dev/null; echo '{{\\"passed\\": false, \\"reason\\": \\"no\\"}}'"]}}
nodes:
  draft:
    agent: writer
    prompt: Use {TOKEN} here.
    requirements: [{{name: fine, judge: {{agent: critic, prompt: "Is {TOKEN} in it?"}}}}]
    sampling: {{loop_budget: 8}}
"""


def test_those_that_judge_are_asked_last_about_what_will_be_used() -> None:
    entries = load_hooks_file(POLICIES / "hooks.yaml")

    assert [entry.name for entry in entries if entry.final] == [
        "working-hours",
        "command-allow-list",
        "path-allow-list",
    ]
