"""Workflows run in a test, with agents and executors that answer from a script, and on a clock that takes no time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hooks
from hooks import EffectPolicy, Failed, Generation
from hooks.testing import (
    ExecutorCall,
    FakeClock,
    ScriptedAgent,
    ScriptedExecutor,
    ScriptedHooks,
    events,
    failing,
    run_workflow,
)

DRAFT = """
workflow_id: notes
version: 1
params: {topic: {type: string, default: doors}}
agents: {writer: {kind: command, argv: [never-started]}}
nodes:
  draft:
    agent: writer
    prompt: "Write about ${params.topic}."
    requirements: [{name: short, check: "size(output) < 6"}]
    sampling: {loop_budget: 3}
    retry: {max_attempts: 2, base: 1h}
"""

MAIL = """
workflow_id: mail
version: 1
nodes:
  first: {executor: mail, input: {to: ann}}
  second: {executor: mail, depends: [first], input: {to: "${first.output.next}"}, retry: {max_attempts: 3, base: 1h}}
"""


def test_an_agent_answers_in_order_and_its_loop_is_real() -> None:
    writer = ScriptedAgent(["much too long", "doors"])

    run = run_workflow(DRAFT, agents={"writer": writer})

    assert (run.status, run.output) == ("succeeded", {"draft": "doors"})
    assert writer.prompts == ["Write about doors."] * 2
    assert [draw.passed for draw in run.all(events.SamplingIteration)] == [False, True]


def test_backoffs_take_no_time_on_a_fake_clock() -> None:
    clock, began = FakeClock(), time.monotonic()

    run = run_workflow(DRAFT, agents={"writer": ScriptedAgent([failing("retryable"), "doors"])}, clock=clock)

    assert run.output == {"draft": "doors"}
    assert clock.slept_ms >= 3_600_000
    assert time.monotonic() - began < 3_600


@pytest.mark.parametrize(
    "script",
    [
        {"about cats": "cats", "Write": "wrong"},
        lambda request: request.prompt[12:16],
        [Generation("cats", model="m")],
    ],
)
def test_an_agent_answers_by_prompt_by_function_or_with_all_it_knows(script: object) -> None:
    run = run_workflow(DRAFT, {"topic": "cats"}, agents={"writer": ScriptedAgent(script)})  # type: ignore[arg-type]

    assert run.output == {"draft": "cats"}


def test_a_script_that_is_used_up_fails_the_step_and_says_so() -> None:
    run = run_workflow(DRAFT, agents={"writer": ScriptedAgent([])})

    assert run.status == "failed"
    [failed] = run.all(events.NodeFailed)
    assert failed.error.error_code == "ScriptExhausted"
    assert "Write about doors." in failed.error.error_message


def test_executors_answer_from_a_script_and_say_what_they_were_asked() -> None:
    not_sent = Failed("Busy", "retryable", "the line is busy", "not_done")
    mail = ScriptedExecutor([{"next": "ben"}, not_sent, {"next": None}])

    run = run_workflow(MAIL, executors={"mail": mail}, clock=FakeClock())

    assert run.output == {"second": {"next": None}}
    assert [(call.node_id, call.input) for call in mail.calls] == [
        ("first", {"to": "ann"}),
        ("second", {"to": "ben"}),
        ("second", {"to": "ben"}),
    ]
    assert len({call.idempotency_key for call in mail.calls}) == 2


def test_an_exception_of_a_script_leaves_the_effect_in_doubt() -> None:
    mail = ScriptedExecutor({"first": ConnectionError("lost")})

    run = run_workflow(MAIL, executors={"mail": mail})

    assert run.status == "in_doubt"
    asyncio.run(hooks.resolve(run.directory, "first", "failed", by="ann"))
    assert run.go_on().status.status == "failed"
    assert len(mail.calls) == 1


class Settling(ScriptedHooks):
    """Looks calls up: absent, as long as the call is new."""

    def effect_policy(self, node: object, canonical_input: object, timeout_ms: int | None) -> EffectPolicy:
        return EffectPolicy(can_look_up=True, settle_ms=3_600_000)

    async def look_up_effect(self, ctx: object, node: object, parsed_input: object) -> hooks.LookUp:
        return hooks.Absent()


def test_settle_times_take_no_time_on_a_fake_clock() -> None:
    clock = FakeClock()
    mail = ScriptedExecutor([ConnectionError("lost"), {"next": "ben"}, {"next": None}])

    run = run_workflow(
        MAIL,
        implementation=Settling(executors={"mail": mail}),
        clock=clock,
        executor_names=["mail"],
    )

    assert run.output == {"second": {"next": None}}
    assert clock.slept_ms >= 3_600_000
    assert [call.node_id for call in mail.calls] == ["first", "first", "second"]


GATED = {
    "workflow_id": "gated",
    "version": 1,
    "agents": {"writer": {"kind": "command", "argv": ["never-started"]}},
    "nodes": {
        "draft": {
            "agent": "writer",
            "prompt": "x",
            "human_gate": {"prompt": "Ask?", "deadline": "2h", "on_timeout": "fail"},
        }
    },
}


def test_a_gate_is_answered_and_the_run_goes_on_as_before() -> None:
    run = run_workflow(GATED, agents={"writer": ScriptedAgent(["answer"])}, clock=FakeClock())
    assert run.status == "waiting"

    asyncio.run(hooks.approve(run.directory, by="ann"))

    assert run.go_on().output() == {"draft": "answer"}


def test_on_a_clock_that_stands_still_time_passes_when_the_test_says_so(tmp_path: Path) -> None:
    clock = FakeClock(stands_still=True)
    begun = run_workflow(GATED, home=tmp_path, clock=clock)

    async def main() -> hooks.RunReport:
        with hooks.open_existing(begun.directory, clock=clock) as run:
            driving = asyncio.ensure_future(hooks.run_loop(run, stays_at_gates=True))
            await asyncio.sleep(0)
            assert not driving.done()
            clock.advance(2 * 3_600_000)
            return await driving

    assert asyncio.run(main()).status.status == "failed"


def test_nothing_is_left_of_a_run_that_nobody_holds() -> None:
    run = run_workflow(GATED)
    home = run.home
    assert home.exists()

    del run

    assert not home.exists()


def test_it_needs_no_test_framework() -> None:
    code = "import sys, hooks.testing; print([name for name in ('pytest', 'hypothesis') if name in sys.modules])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_calls_of_a_scripted_executor_are_plain_values() -> None:
    executor = ScriptedExecutor(lambda call: {"to": call.input["to"]})

    executor.perform(ExecutorCall("first", {"to": "ann"}, "wf_1"))

    assert executor.calls == [ExecutorCall("first", {"to": "ann"}, "wf_1")]
