"""The sampling loop as it is really driven: the order of its events and hook points, its results, and how it stops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hooks.definition.model import HookEntry, Judge, Requirement, Retry, Sampling
from hooks.events.payloads import (
    ActivityFailed,
    ComponentStarted,
    ComponentSucceeded,
    GenerationFinished,
    GenerationStarted,
    HookDecided,
    NodeFailed,
    RetryScheduled,
    SamplingIteration,
    SamplingLoopEnded,
    SamplingLoopStarted,
    SamplingRepair,
)
from hooks.pipeline.sampling_points import SamplingLoopStartPayload
from hooks.testing import FakeClock
from tests.runtime.runs import Runs, agent_step, sh
from tests.runtime.scripted import asked, failing, looking, points, scripted
from tests.runtime.test_gates_and_loops import answer

GOOD = Requirement(name="good", check="output.startsWith('good')", reason="It is not good.")
SEQUENTIAL = ("rejection", "repair_template", "multi_turn")
ALL_DRAWS = ("best_of", "majority")
STRATEGIES = (*SEQUENTIAL, *ALL_DRAWS)
AROUND = ("run_started", "component_pre_execute", "component_post_success", "component_post_error")
OF_A_DRAW = (
    "generation_pre_call",
    "generation_post_call",
    "validation_pre_check",
    "validation_post_check",
    "sampling_iteration",
)


def of_draws(passed: Sequence[bool], *, strategy: str, budget: int) -> list[tuple[str, int]]:
    """The points of a loop whose draws come out like this, in the order of HOOKS.md, section 5."""
    asked_points = [("sampling_loop_start", 1)]
    for number, is_good in enumerate(passed, start=1):
        asked_points += [(point, number) for point in OF_A_DRAW]
        if not is_good and number < len(passed):
            asked_points.append(("sampling_repair", number))
    return [*asked_points, ("sampling_loop_end", 1)]


CASES = [
    (strategy, budget, scenario)
    for strategy in STRATEGIES
    for budget in (1, 2, 4)
    for scenario in ("all fail", "the last passes", "the first passes")
]


def draws_of(strategy: str, budget: int, scenario: str) -> list[bool]:
    if scenario == "all fail":
        return [False] * budget
    if scenario == "the last passes":
        return [False] * (budget - 1) + [True]
    return [True] if strategy in SEQUENTIAL else [True] + [False] * (budget - 1)


@pytest.mark.parametrize(("strategy", "budget", "scenario"), CASES)
def test_points_and_events_come_in_their_order(
    runs: Runs, tmp_path: Path, strategy: str, budget: int, scenario: str
) -> None:
    passed = draws_of(strategy, budget, scenario)
    answers = [f"good {n}" if is_good else f"bad {n}" for n, is_good in enumerate(passed, start=1)]
    writer = scripted(tmp_path, "writer", [*answers, "one too many"])
    step = agent_step(
        "a",
        "Say.",
        agent="writer",
        requirements=[GOOD],
        sampling=Sampling(strategy=strategy, loop_budget=budget),
    )

    report = runs.run(step, agents=[writer], hook_entries=[looking(tmp_path)])

    expected = of_draws(passed, strategy=strategy, budget=budget)
    assert points(tmp_path, *AROUND) == expected
    assert events_of_the_loop(runs) == [EVENTS[point] for point, _ in expected if point in EVENTS]
    ended = runs.only(SamplingLoopEnded)
    if any(passed):
        assert report.output() == {"a": answers[passed.index(True)]}
        assert (ended.success, ended.draw, ended.iterations) == (True, passed.index(True) + 1, len(passed))
    else:
        assert report.status.exit_code == 1
        assert (ended.success, ended.draw, ended.iterations) == (False, 1, budget)
        assert runs.only(NodeFailed).error.error_code == "RequirementsNotMet"
    assert points(tmp_path)[-1][0] == ("component_post_success" if any(passed) else "component_post_error")


EVENTS = {
    "sampling_loop_start": "samplingLoopStarted",
    "generation_pre_call": "generationStarted",
    "generation_post_call": "generationFinished",
    "validation_post_check": "validationFinished",
    "sampling_iteration": "samplingIteration",
    "sampling_repair": "samplingRepair",
    "sampling_loop_end": "samplingLoopEnded",
}


def events_of_the_loop(runs: Runs) -> list[str]:
    return [name for name in runs.types if name in EVENTS.values()]


def test_a_step_without_sampling_passes_through_every_point(runs: Runs, tmp_path: Path) -> None:
    runs.run(agent_step("a"), hook_entries=[looking(tmp_path)])

    assert points(tmp_path, *AROUND) == of_draws([True], strategy="rejection", budget=1)


# ---- blocks --------------------------------------------------------------------------------------------------------

BLOCKED = [
    (point, draw, strategy)
    for point in ("sampling_loop_start", *OF_A_DRAW, "sampling_repair", "sampling_loop_end")
    for draw in (1, 2)
    for strategy in STRATEGIES
    if draw == 1 or point in (*OF_A_DRAW, "sampling_repair")
]


@pytest.mark.parametrize(("point", "draw", "strategy"), BLOCKED)
def test_a_block_stops_the_loop_where_it_stands(
    runs: Runs, tmp_path: Path, point: str, draw: int, strategy: str
) -> None:
    """At the second draw as at the first: finished draws stay, the loop ends, and the policy is named."""
    writer = scripted(tmp_path, "writer", ["bad 1", "bad 2", "good 3"])
    step = agent_step("a", agent="writer", requirements=[GOOD], sampling=Sampling(strategy=strategy, loop_budget=3))
    hook = looking(tmp_path, {f"{point} {draw}": {"block": "no more"}})

    report = runs.run(step, agents=[writer], hook_entries=[hook])

    assert report.status.exit_code == 3
    error = runs.only(ActivityFailed).error
    assert (error.error_code, error.error_class) == ("PluginViolationError", "policy")
    assert error.details["hook"] == point
    everything = of_draws([False, False, True], strategy=strategy, budget=3)
    until = everything.index((point, draw)) + 1
    last = [] if point == "sampling_loop_end" else [("sampling_loop_end", 1)]
    assert points(tmp_path, *AROUND) == [*everything[:until], *last]
    assert points(tmp_path)[-1] == ("component_post_error", 1)
    ended = runs.only(SamplingLoopEnded)
    if point == "sampling_loop_end":
        assert (ended.success, ended.failure_reason) == (True, None)
    else:
        assert (ended.success, ended.failure_reason) == (False, "look: no more")
    finished = [event.payload for event in runs.events if isinstance(event.payload, GenerationFinished)]
    assert len(asked(tmp_path, "writer")) == len(finished)


def test_a_withheld_result_is_not_the_output(runs: Runs, tmp_path: Path) -> None:
    runs.run(agent_step("a"), hook_entries=[looking(tmp_path, {"sampling_loop_end 1": {"block": "secret"}})])

    assert ComponentSucceeded.type not in runs.types


# ---- what hooks change ---------------------------------------------------------------------------------------------


def test_a_hook_caps_the_budget(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["bad"] * 4)
    step = agent_step("a", agent="writer", requirements=[GOOD], sampling=Sampling(loop_budget=4))

    runs.run(step, agents=[writer], hook_entries=[looking(tmp_path, {"sampling_loop_start 1": {"loop_budget": 2}})])

    assert runs.only(SamplingLoopStarted).loop_budget == 4
    assert runs.only(SamplingLoopEnded).iterations == 2


@pytest.mark.parametrize("budget", [0, 65])
def test_a_budget_is_one_to_sixty_four(runs: Runs, tmp_path: Path, budget: int) -> None:
    hook = looking(tmp_path, {"sampling_loop_start 1": {"loop_budget": budget}})

    assert runs.run(agent_step("a"), hook_entries=[hook]).status.exit_code == 3
    assert runs.only(ActivityFailed).error.error_class == "hook_error"
    assert SamplingLoopStartPayload.model_fields["loop_budget"].annotation is int


def test_requirements_that_a_hook_removed_are_seen_to_be_gone(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["bad"])
    step = agent_step("a", agent="writer", requirements=[GOOD])

    report = runs.run(
        step, agents=[writer], hook_entries=[looking(tmp_path, {"component_pre_execute 1": {"requirements": []}})]
    )

    assert report.output() == {"a": "bad"}
    (decision,) = runs.only(HookDecided).decisions
    assert [entry["name"] for entry in decision.changed["requirements"].before] == ["good"]
    assert decision.changed["requirements"].after == []
    assert runs.only(SamplingIteration).validations == []


def test_the_schema_of_a_step_is_checked_whatever_a_hook_does(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["no json"])
    step = agent_step("a", agent="writer", output_schema={"type": "object"}, requirements=[GOOD])
    nothing: dict[str, list[str]] = {"requirements": []}
    plan = {"component_pre_execute 1": nothing, "validation_pre_check 1": nothing}

    report = runs.run(step, agents=[writer], hook_entries=[looking(tmp_path, plan)])

    assert report.status.exit_code == 1
    assert runs.only(NodeFailed).error.error_message.startswith("output_schema: the answer is not JSON")


@pytest.mark.parametrize("first", ["no json", {"name": "x"}])
def test_what_cannot_be_checked_of_an_answer_that_is_not_of_the_promised_form_has_failed_with_it(
    runs: Runs, tmp_path: Path, first: object
) -> None:
    writer = scripted(tmp_path, "writer", [first, {"title": "short"}])
    step = agent_step(
        "a",
        agent="writer",
        output_schema={"type": "object", "required": ["title"]},
        requirements=[Requirement(name="short", check="size(output.title) <= 60", reason="It is too long.")],
        sampling=Sampling(strategy="repair_template", loop_budget=2),
    )

    assert runs.run(step, agents=[writer]).output() == {"a": {"title": "short"}}
    refused, _ = (event.payload for event in runs.events if isinstance(event.payload, SamplingIteration))
    assert [(each.requirement, each.effective_passed) for each in refused.validations] == [
        ("output_schema", False),
        ("short", False),
    ]
    assert refused.validations[1].reason == "not checked: the answer is not of the form that output_schema says"


def test_what_cannot_be_checked_of_an_answer_of_the_promised_form_is_an_error(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", [{"title": "short"}])
    step = agent_step(
        "a",
        agent="writer",
        output_schema={"type": "object"},
        requirements=[Requirement(name="short", check="size(output.subject) <= 60")],
        sampling=Sampling(loop_budget=2),
    )

    assert runs.run(step, agents=[writer]).status.exit_code == 1
    assert runs.only(NodeFailed).error.error_code == "RequirementError"


@pytest.mark.parametrize("text", ["null", "Here:\n```json\nnull\n```\n", "false", "0", '""', "[]"])
def test_an_answer_that_says_nothing_is_the_value_it_is(runs: Runs, tmp_path: Path, text: str) -> None:
    value = json.loads(text) if "Here" not in text else None
    writer = scripted(tmp_path, "writer", [text] * 2)
    (tmp_path / "empty.py").write_text(f"def check(output): return repr(output) == {repr(value)!r}")
    requirements = [
        Requirement(name="cel", check=f"output == {json.dumps(value)}"),
        Requirement(name="apart", check=f"output == {json.dumps(value)} || [1].all(x, x > 2)"),
        Requirement(name="python", python="empty.py:check"),
        Requirement(name="command", command=["sh", "-c", f"test \"$(cat)\" = '{json.dumps(value)}'"]),
    ]
    sampling = Sampling(strategy="majority", loop_budget=2)
    schema = {"type": ["null", "boolean", "integer", "string", "array"]}
    step = agent_step("a", agent="writer", output_schema=schema, requirements=requirements, sampling=sampling)

    report = runs.run(step, agents=[writer])

    assert report.status.exit_code == 0
    assert report.output() == {"a": value}
    assert type(report.output()["a"]) is type(value)


@pytest.mark.parametrize(
    "requirement",
    [
        {"name": "other", "judge": {"agent": "nobody", "prompt": "Good?"}},
        {"name": "other", "check": "no cel ("},
    ],
)
def test_a_requirement_that_poses_as_the_steps_schema_is_checked_like_any_other(
    runs: Runs, tmp_path: Path, requirement: dict[str, Any]
) -> None:
    writer = scripted(tmp_path, "writer", ["text"])
    plan = {"validation_pre_check 1": {"requirements": [{**requirement, "origin": "output_schema"}]}}

    report = runs.run(agent_step("a", agent="writer"), agents=[writer], hook_entries=[looking(tmp_path, plan)])

    assert report.status.exit_code == 3
    error = runs.only(NodeFailed).error
    assert (error.error_code, error.error_class) == ("PluginViolationError", "hook_error")
    assert "'requirements' cannot be used: the requirement 'other'" in error.error_message


def test_a_verdict_that_a_hook_turned_says_who_did(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["bad"])
    step = agent_step("a", agent="writer", requirements=[GOOD])
    (tmp_path / "turn.py").write_text(
        "from hooks import modify\n"
        "def f(payload):\n"
        "    plain = [result.model_dump() for result in payload.results]\n"
        "    return modify(results=[{**result, 'effective_passed': True} for result in plain])\n"
        "def g(payload):\n"
        "    assert (payload.all_validations_passed, payload.passed_count) == (True, 1)\n"
        "    assert payload.results[0].changed_by == 'f'\n"
    )
    turning = looking(tmp_path)
    entries = [
        type(turning)(
            name=name, on=["validation_post_check"], python=f"turn.py:{name}", declared_in=turning.declared_in
        )
        for name in ("f", "g")
    ]

    report = runs.run(step, agents=[writer], hook_entries=entries)

    assert report.output() == {"a": "bad"}
    (verdict,) = runs.only(SamplingIteration).validations
    assert (verdict.passed, verdict.effective_passed, verdict.changed_by) == (False, True, "f")


def test_a_hook_changes_what_one_draw_is_asked(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["bad", "good"])
    step = agent_step("a", "Say.", agent="writer", requirements=[GOOD], sampling=Sampling(loop_budget=2))

    runs.run(step, agents=[writer], hook_entries=[looking(tmp_path, {"generation_pre_call 1": {"prompt": "Sing."}})])

    assert [each["prompt"] for each in asked(tmp_path, "writer")] == ["Sing.", "Say."]
    assert [event.payload.prompt for event in runs.events if isinstance(event.payload, GenerationStarted)] == [
        "Sing.",
        "Say.",
    ]


# ---- asking a person -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["sampling_loop_start 1", "generation_pre_call 1", "generation_pre_call 2"])
def test_a_person_is_asked_in_the_loop_and_it_goes_on(runs: Runs, tmp_path: Path, point: str) -> None:
    writer = scripted(tmp_path, "writer", ["bad", "good"])
    step = agent_step("a", agent="writer", requirements=[GOOD], sampling=Sampling(loop_budget=2))

    waiting = runs.run(step, agents=[writer], hook_entries=[looking(tmp_path, {point: {"ask": "sure?"}})])
    drawn = len(asked(tmp_path, "writer"))
    answer(runs, approved=True)
    report = runs.recover()

    assert waiting.status.exit_code == 4
    assert drawn == (1 if point.endswith("2") else 0)
    assert report.output() == {"a": "good"}
    assert len(asked(tmp_path, "writer")) == 2


def test_a_person_who_says_no_stops_the_loop(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["bad", "good"])
    step = agent_step("a", agent="writer", requirements=[GOOD], sampling=Sampling(loop_budget=2))
    runs.run(step, agents=[writer], hook_entries=[looking(tmp_path, {"generation_pre_call 2": {"ask": "sure?"}})])

    answer(runs, approved=False)
    report = runs.recover()

    assert report.status.exit_code == 3
    assert runs.only(SamplingLoopEnded).failure_reason == "Rejected by ann."
    assert len(asked(tmp_path, "writer")) == 1


# ---- repair --------------------------------------------------------------------------------------------------------


def test_each_strategy_says_what_was_wrong_in_its_own_place(runs: Runs, tmp_path: Path) -> None:
    steps, agents = [], []
    for strategy in SEQUENTIAL:
        agents.append(scripted(tmp_path, strategy, ["bad", "good"]))
        sampling = Sampling(strategy=strategy, loop_budget=2)
        steps.append(agent_step(strategy, "Say.", agent=strategy, requirements=[GOOD], sampling=sampling))

    runs.run(*steps, agents=agents)

    second = {strategy: asked(tmp_path, strategy)[1]["prompt"] for strategy in SEQUENTIAL}
    assert second["rejection"] == "Say."
    assert second["repair_template"].startswith("Say.\n\n")
    assert "- It is not good." in second["repair_template"]
    assert "bad" not in second["repair_template"]
    repairs = {
        event.payload.node_id: event.payload for event in runs.events if isinstance(event.payload, SamplingRepair)
    }
    assert repairs["multi_turn"].after == 1
    assert "- It is not good." in repairs["multi_turn"].prompt
    assert "Say." not in repairs["multi_turn"].prompt
    assert {name: repair.repair_type for name, repair in repairs.items()} == {
        "rejection": "rejection",
        "repair_template": "template",
        "multi_turn": "multi_turn",
    }


# ---- errors --------------------------------------------------------------------------------------------------------


def test_a_call_that_may_pass_is_made_again_in_the_same_loop(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["bad", failing("retryable"), failing("retryable"), "good"])
    step = agent_step(
        "a",
        agent="writer",
        requirements=[GOOD],
        sampling=Sampling(loop_budget=2),
        retry=Retry(max_attempts=3, base_ms=1),
    )

    report = runs.run(step, agents=[writer], hook_entries=[looking(tmp_path)])

    assert report.output() == {"a": "good"}
    assert RetryScheduled.type not in runs.types
    assert runs.only(SamplingLoopEnded).iterations == 2
    called = [event.payload for event in runs.events if isinstance(event.payload, GenerationStarted)]
    assert [(call.draw, call.call) for call in called] == [(1, 1), (2, 2), (2, 3), (2, 4)]
    assert [point for point in points(tmp_path) if point[0].startswith("generation")] == [
        ("generation_pre_call", 1),
        ("generation_post_call", 1),
        ("generation_pre_call", 2),
        ("generation_error", 2),
        ("generation_pre_call", 3),
        ("generation_error", 3),
        ("generation_pre_call", 4),
        ("generation_post_call", 4),
    ]


@pytest.mark.parametrize(("error_class", "calls"), [("retryable", 3), ("userFault", 2), ("fatal", 2)])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_error_in_the_middle_ends_the_loop_and_not_the_attempts(
    runs: Runs, tmp_path: Path, strategy: str, error_class: str, calls: int
) -> None:
    """The tries are those of the call: a new attempt would only make more of them."""
    writer = scripted(tmp_path, "writer", ["bad", *[failing(error_class)] * 9])
    step = agent_step(
        "a",
        agent="writer",
        requirements=[GOOD],
        sampling=Sampling(strategy=strategy, loop_budget=4),
        retry=Retry(max_attempts=2, base_ms=1),
    )

    report = runs.run(step, agents=[writer], hook_entries=[looking(tmp_path)])

    assert report.status.exit_code == 1
    assert len(asked(tmp_path, "writer")) == calls
    assert runs.only(ActivityFailed).error.error_message == "broken"
    ended = runs.only(SamplingLoopEnded)
    assert (ended.success, ended.draw, ended.iterations, ended.failure_reason) == (False, 1, 1, "broken")
    assert points(tmp_path)[-2:] == [("sampling_loop_end", 1), ("component_post_error", 1)]


def test_a_tick_does_not_sleep_through_the_delay_of_a_call(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", [failing("retryable"), "good"])
    step = agent_step("a", agent="writer", retry=Retry(max_attempts=2, base_ms=3_600_000))

    report = runs.tick(step, agents=[writer])

    assert (report.status.status, report.status.exit_code) == ("pending", 8)
    assert report.status.next_due_at is not None
    assert len(asked(tmp_path, "writer")) == 1


def test_a_call_that_waits_is_not_made_again_once_the_run_has_failed(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", [failing("retryable"), "one too many"])
    step = agent_step("a", agent="writer", retry=Retry(max_attempts=2, base_ms=3_600_000))
    until_it_waits = f"until grep -q generationRetryScheduled {tmp_path}/runs/run/events.jsonl; do sleep 0.02; done"
    fails = sh("b", f"{until_it_waits}; exit 1", read_only=True, retry=Retry(max_attempts=1))

    report = runs.run(step, fails, agents=[writer], hook_entries=[looking(tmp_path)])

    assert report.status.exit_code == 1
    assert len(asked(tmp_path, "writer")) == 1
    assert runs.only(SamplingLoopEnded).failure_reason == "broken"
    assert [point for point, _ in points(tmp_path)].count("generation_error") == 1


def test_a_delay_survives_its_driver_and_a_retry_begins_a_fresh_loop(runs: Runs, tmp_path: Path) -> None:
    """A later pass neither asks again before it is due nor puts it off; a person who retries asks anew."""
    writer = scripted(tmp_path, "writer", ["bad", failing("retryable"), failing("fatal"), "bad", "good"])
    step = agent_step(
        "a",
        agent="writer",
        requirements=[GOOD],
        sampling=Sampling(loop_budget=2),
        retry=Retry(max_attempts=3, base_ms=3_600_000),
    )
    ticked = runs.tick(step, agents=[writer])
    log = runs.directory.log.read_bytes()
    again = runs.pass_once()

    assert [each.status.status for each in (ticked, again)] == ["pending", "pending"]
    assert again.status.next_due_at == ticked.status.next_due_at
    assert runs.directory.log.read_bytes() == log
    assert len(asked(tmp_path, "writer")) == 2

    clock = FakeClock()
    failed = runs.recover(clock=clock)
    assert failed.status.exit_code == 1
    assert len(asked(tmp_path, "writer")) == 3
    assert clock.slept_ms <= 3_600_000

    retried = runs.retry()
    assert retried.output() == {"a": "good"}
    called = [event.payload for event in runs.events if isinstance(event.payload, GenerationStarted)]
    assert [(call.attempt_id[-1], call.draw, call.call) for call in called] == [
        ("1", 1, 1),
        ("1", 2, 2),
        ("1", 2, 3),
        ("2", 1, 1),
        ("2", 2, 2),
    ]


def test_what_cannot_be_evaluated_is_an_error_of_the_step(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["text"] * 4)
    broken = Requirement(name="broken", check="output.title.size() > 3")
    step = agent_step("a", agent="writer", requirements=[broken], sampling=Sampling(loop_budget=4))

    report = runs.run(step, agents=[writer])

    assert report.status.exit_code == 1
    assert runs.only(NodeFailed).error.error_code == "RequirementError"
    assert "broken" in runs.only(NodeFailed).error.error_message
    assert len(asked(tmp_path, "writer")) == 1


# ---- choosing ------------------------------------------------------------------------------------------------------

WEIGHED = [
    Requirement(name="long", check="size(output) > 5", weight=2.0),
    Requirement(name="x", check="output.contains('x')"),
    Requirement(name="never", check="false"),
]


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [
        (["x", "a long one", "y"], 2),
        (["x", "y", "x again"], 3),
        (["a long one", "a longer one", "x"], 1),
        (["y", "y", "y"], 1),
    ],
)
def test_the_best_failure_has_the_most_weight_and_is_the_earliest(
    runs: Runs, tmp_path: Path, answers: list[str], chosen: int
) -> None:
    writer = scripted(tmp_path, "writer", answers)
    step = agent_step(
        "a", agent="writer", requirements=WEIGHED, sampling=Sampling(loop_budget=3, on_exhausted="use_best")
    )

    report = runs.run(step, agents=[writer])

    assert report.output() == {"a": answers[chosen - 1]}
    assert (runs.only(SamplingLoopEnded).success, runs.only(SamplingLoopEnded).draw) == (False, chosen)


def test_use_best_never_gives_what_is_not_of_the_promised_form(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["no json"] * 2)
    step = agent_step(
        "a",
        agent="writer",
        output_schema={"type": "object"},
        sampling=Sampling(loop_budget=2, on_exhausted="use_best"),
    )

    assert runs.run(step, agents=[writer]).status.exit_code == 1


def test_the_majority_is_counted_by_its_key_among_those_that_pass(runs: Runs, tmp_path: Path) -> None:
    answers = [
        {"city": "Bonn", "why": 1},
        {"city": "Ulm", "why": 2},
        {"city": "Ulm", "why": 3},
        {"city": "x"},
        {"city": "x"},
    ]
    writer = scripted(tmp_path, "writer", answers)
    known = Requirement(name="known", check="output.city != 'x'")
    step = agent_step(
        "a",
        agent="writer",
        requirements=[known],
        sampling=Sampling(strategy="majority", loop_budget=5, key="output.city"),
    )

    assert runs.run(step, agents=[writer]).output() == {"a": {"city": "Ulm", "why": 2}}


def test_the_best_of_all_has_the_highest_score_of_its_judge(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["one", "two", "three"])
    critic = scripted(
        tmp_path, "critic", [{"passed": True, "score": score, "reason": "r"} for score in (0.6, 0.9, 0.9)]
    )
    judged = Requirement(name="fine", judge=Judge(agent="critic", prompt="Is it fine?"))
    step = agent_step("a", agent="writer", requirements=[judged], sampling=Sampling(strategy="best_of", loop_budget=3))

    report = runs.run(step, agents=[writer, critic])

    assert report.output() == {"a": "two"}
    assert [each["prompt"].splitlines()[0] for each in asked(tmp_path, "critic")] == ["Is it fine?"] * 3
    judgements = [
        event.payload
        for event in runs.events
        if isinstance(event.payload, GenerationStarted) and event.payload.purpose == "judge"
    ]
    assert [(call.draw, call.requirement, call.agent) for call in judgements] == [
        (1, "fine", "critic"),
        (2, "fine", "critic"),
        (3, "fine", "critic"),
    ]


# ---- conversations -------------------------------------------------------------------------------------------------


def test_a_step_goes_on_with_the_conversation_of_another(runs: Runs, tmp_path: Path) -> None:
    first = scripted(tmp_path, "first", ["bad", "good one"])
    then = scripted(tmp_path, "then", ["done"])
    sampling = Sampling(strategy="multi_turn", loop_budget=2)

    (tmp_path / "context.py").write_text(
        "import json\nfrom pathlib import Path\n"
        "def f(payload):\n"
        "    said = [[message.role, message.content] for message in payload.context.messages]\n"
        "    place = Path(__file__).parent / f'{payload.node_id}-{payload.request_id[-1]}.json'\n"
        "    place.write_text(json.dumps(said))\n"
    )
    hook = HookEntry(
        name="f", on=["generation_pre_call"], python="context.py:f", declared_in=str(tmp_path / "workflow.yaml")
    )

    runs.run(
        agent_step("a", "Say.", agent="first", requirements=[GOOD], sampling=sampling),
        agent_step("b", "And now?", agent="then", depends=["a"], continue_from="a"),
        agents=[first, then],
        hook_entries=[hook],
    )

    started = [event.payload for event in runs.events if isinstance(event.payload, ComponentStarted)]
    assert [step.continues for step in started] == [None, "run::work::a"]
    said = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ("a-1", "a-2", "b-1")}
    assert said["a-1"] == []
    assert said["a-2"] == [["user", "Say."], ["assistant", "bad"]]
    assert said["b-1"][:2] == said["a-2"]
    assert said["b-1"][2][0] == "user"
    assert "- It is not good." in said["b-1"][2][1]
    assert said["b-1"][3] == ["assistant", "good one"]
    assert runs.directory.log.read_text().count('"good one"') == 2, "once as the answer, once as the output"


# ---- strategies of others ------------------------------------------------------------------------------------------

LONGEST = """
from hooks import Prompt

class LongestStrategy:
    repair_type = "template"
    is_independent = False

    def __init__(self, sampling):
        self.sampling = sampling

    def repair(self, original, failed):
        return Prompt(original.text + " Longer than: " + failed.text)

    def is_enough(self, draws, loop_budget):
        return len(draws) == 3

    def choose(self, draws):
        return max(draws, key=lambda draw: len(draw.text))
"""


def test_a_strategy_of_another_distribution_drives_the_loop(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    metadata = site / "hooks_tests_strategy-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "hooks_tests_strategy.py").write_text(LONGEST)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hooks_tests_strategy\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[hooks.strategies]\nlongest = hooks_tests_strategy:LongestStrategy\n")
    monkeypatch.syspath_prepend(str(site))
    writer = scripted(tmp_path, "writer", ["bad", "bad but long", "bad too", "never"])
    step = agent_step(
        "a", "Say.", agent="writer", requirements=[GOOD], sampling=Sampling(strategy="longest", loop_budget=9)
    )

    report = runs.run(step, agents=[writer])

    assert report.output() == {"a": "bad but long"}
    assert runs.only(SamplingLoopStarted).strategy_name == "LongestStrategy"
    assert [each["prompt"] for each in asked(tmp_path, "writer")] == [
        "Say.",
        "Say. Longer than: bad",
        "Say. Longer than: bad but long",
    ]


def test_a_strategy_that_is_gone_is_an_error_of_the_step(runs: Runs) -> None:
    """Installed when the workflow was checked, and not where it runs."""
    report = runs.run(agent_step("a", sampling=Sampling(strategy="longest")))

    assert report.status.exit_code == 1
    assert "'longest' is not installed" in runs.only(NodeFailed).error.error_message
