"""A policy asked about one payload, made up, built from events, or recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hooks import (
    ComponentPreExecutePayload,
    EffectPreAttemptPayload,
    HookContext,
    HookEntry,
    HookType,
    Opinion,
    Plugin,
    ask,
    block,
    decide,
    hook,
    modify,
)
from hooks.kernel.actions import Perform
from hooks.testing import LogBuilder, PolicyAnswer, ScriptedAgent, ask_policy, backtest, events, run_workflow

WORKFLOW = """
workflow_id: notes
version: 1
agents: {writer: {kind: command, argv: [cat], options: {temperature: ["-t", "{value}"]}}}
nodes: {draft: {agent: writer, prompt: Write.}}
"""


@hook(HookType.EFFECT_PRE_ATTEMPT)
def only_on_weekdays(payload: EffectPreAttemptPayload) -> Opinion:
    if payload.executor == "http":
        return block("not today", code="E1")
    return ask("sure?") if payload.read_only else None


class Cool(Plugin):
    """Every second step is asked at temperature 0."""

    @hook(HookType.COMPONENT_PRE_EXECUTE)
    def before(self, payload: ComponentPreExecutePayload, ctx: HookContext) -> Opinion:
        return modify(model_options={"temperature": 0})


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({}, PolicyAnswer("allow")),
        ({"executor": "http"}, PolicyAnswer("block", reason="not today", code="E1")),
        ({"read_only": True}, PolicyAnswer("ask", asks=("sure?",))),
    ],
)
def test_a_function_is_asked_about_a_made_up_payload(fields: dict[str, Any], answer: PolicyAnswer) -> None:
    assert ask_policy(only_on_weekdays, about=HookType.EFFECT_PRE_ATTEMPT, **fields) == answer


def test_a_field_that_the_payload_does_not_have_is_told() -> None:
    with pytest.raises(TypeError, match="has no field 'exekutor'"):
        ask_policy(only_on_weekdays, about="effect_pre_attempt", exekutor="http")


def test_a_command_is_asked_as_a_run_would(tmp_path: Path) -> None:
    (tmp_path / "no.sh").write_text("#!/bin/sh\necho no >&2; exit 2\n")
    (tmp_path / "no.sh").chmod(0o755)
    entry = HookEntry(name="no", on=["effect_pre_attempt"], argv=["./no.sh"], declared_in=str(tmp_path / "hooks.yaml"))

    answer = ask_policy(entry, about=HookType.EFFECT_PRE_ATTEMPT)

    assert (answer.outcome, answer.reason) == ("block", "exit 2: no")


def test_what_an_audit_hook_would_do_is_told_and_does_not_stop() -> None:
    @hook(HookType.EFFECT_PRE_ATTEMPT, mode="audit")
    def strict(payload: EffectPreAttemptPayload) -> Opinion:
        return block("never")

    assert ask_policy(strict, about=HookType.EFFECT_PRE_ATTEMPT) == PolicyAnswer("allow", would=("would_block: never",))


def test_a_plugin_is_asked_about_what_a_log_of_events_brings_about() -> None:
    log = LogBuilder(WORKFLOW)
    draft = log.who("draft")
    log.add(events.AttemptCreated(**draft, attempt=1))
    assert [type(action) for action in decide(log.state, log.workflow, log.now)] == [Perform]
    log.add(events.ComponentStarted(**draft, component_type="AgentStep", bound="Write."))

    answer = ask_policy(Cool, about=log.payload(HookType.COMPONENT_PRE_EXECUTE))

    assert answer == PolicyAnswer("changed", changed={"model_options": {"temperature": 0}})
    with pytest.raises(KeyError, match="run_finished"):
        log.payload(HookType.RUN_FINISHED)


def test_a_policy_is_tested_on_a_run_that_was_made_without() -> None:
    run = run_workflow(WORKFLOW, agents={"writer": ScriptedAgent(["Notes."])})

    @hook(HookType.COMPONENT_PRE_EXECUTE)
    def none_at_all(payload: ComponentPreExecutePayload) -> Opinion:
        return block("no agents")

    assert not backtest(run.directory).stops
    tested = backtest(run.directory, none_at_all)
    assert [(found.said, found.reason) for found in tested.findings if found.stops] == [("would_block", "no agents")]


def test_hooks_of_a_program_take_part_in_its_runs() -> None:
    run = run_workflow(WORKFLOW, agents={"writer": (writer := ScriptedAgent(["Notes."]))}, plugins=[Cool])

    assert run.output == {"draft": "Notes."}
    assert dict(writer.asked[0].model_options) == {"temperature": 0}
    assert run.only(events.HookDecided).verdict == "changed"
