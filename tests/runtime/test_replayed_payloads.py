"""The payloads made again from a log are those that hooks were shown while the run went on, apart from their times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from hooks.definition.hook_points import RULES, HookType
from hooks.definition.model import AgentDeclaration, HookEntry, Judge, Requirement, Retry, Sampling, SubagentNode
from hooks.pipeline.history import payloads_after
from hooks.runtime.reading import Folding
from tests.runtime.runs import Runs, agent_step
from tests.runtime.scripted import failing, looking, scripted
from tests.runtime.test_gates_and_loops import answer

RECORD = """\
import json
from pathlib import Path

def record(payload):
    with (Path(__file__).parent / "shown.jsonl").open("a") as file:
        file.write(json.dumps(payload.model_dump(mode="json", by_alias=True)) + "\\n")
"""
TURN = """\
from hooks import modify

def turn(payload):
    if payload.request_id.endswith("::2"):
        plain = [result.model_dump(mode="json", by_alias=True) for result in payload.results]
        return modify(results=[{**result, "effective_passed": False, "reason": "turned"} for result in plain])
"""
GOOD = Requirement(name="good", check="output.startsWith('good')", reason="It is not good.", weight=2.0)
JUDGED = Requirement(name="fine", judge=Judge(agent="critic", prompt="Is it fine?"))
YES = {"passed": True, "score": 0.9, "reason": "fine"}
NO = {"passed": False, "score": 0.1, "reason": "not fine"}


def recording(directory: Path) -> HookEntry:
    """A hook that comes first at every point and keeps what it is shown."""
    (directory / "record.py").write_text(RECORD)
    return HookEntry(
        name="record",
        on=[str(point) for point in HookType if not RULES[point].observe_only],
        python="record.py:record",
        priority=1,
        declared_in=str(directory / "workflow.yaml"),
    )


def turning(directory: Path) -> HookEntry:
    """A hook that turns the verdicts on the second draw."""
    (directory / "turn.py").write_text(TURN)
    place = str(directory / "workflow.yaml")
    return HookEntry(name="turn", on=["validation_post_check"], python="turn.py:turn", declared_in=place)


def shown(directory: Path) -> dict[str, dict[str, Any]]:
    lines = (directory / "shown.jsonl").read_text().splitlines()
    return _by_question(json.loads(line) for line in lines)


def replayed(runs: Runs) -> dict[str, dict[str, Any]]:
    folding, blobs = Folding(runs.directory), runs.directory.blob_store()
    documents: list[dict[str, Any]] = []
    gates: dict[str, Any] = {}
    for event in runs.events:
        folding.receive(event)
        documents += payloads_after(folding.state, folding.definition, event, blobs.resolve, gates)
        gates = dict(folding.state.waits)
    observed = {point.value for point in HookType if RULES[point].observe_only}
    return _by_question(document for document in documents if document["hook"] not in observed)


def _by_question(documents: Any) -> dict[str, dict[str, Any]]:
    """By request id, each once, without times."""
    by_question: dict[str, dict[str, Any]] = {}
    for document in documents:
        timeless = _without_times(document)
        assert by_question.setdefault(document["request_id"], timeless) == timeless, "one question in two wordings"
    return by_question


def _without_times(document: dict[str, Any]) -> dict[str, Any]:
    log = document.get("generate_log")
    if log is not None:
        log = {name: value for name, value in log.items() if name not in ("started_at", "latency_ms")}
        document = {**document, "generate_log": log}
    return {name: value for name, value in document.items() if name not in ("timestamp", "latency_ms")}


CHANGES: dict[str, Any] = {
    "component_pre_execute 1": {"model_options": {"temperature": 0.5}},
    "sampling_loop_start 1": {"loop_budget": 3},
    "generation_pre_call 1": {"prompt": "Sing.", "model_options": {"temperature": 1}},
    "generation_pre_call 2": {"prompt": "Sing once more."},
    "validation_pre_check 1": {"model_options": {"strict": True}},
}
"""What the second hook at each point changes."""


def step_and_agents(
    directory: Path, strategy: str, answers: Sequence[Any], judged: Sequence[Any], parallel: int = 1
) -> tuple[SubagentNode, list[AgentDeclaration]]:
    step = agent_step(
        "a",
        "Say.",
        agent="writer",
        requirements=[GOOD, JUDGED],
        sampling=Sampling(strategy=strategy, loop_budget=4, parallel=parallel),
        retry=Retry(max_attempts=3, base_ms=1),
    )
    options = ["temperature", "strict"]
    writer = scripted(directory, "writer", answers, model_options=options)
    return step, [writer, scripted(directory, "critic", judged, model_options=options)]


@pytest.mark.parametrize("changes", [{}, CHANGES], ids=["as bound", "changed"])
@pytest.mark.parametrize("strategy", ["rejection", "repair_template", "multi_turn", "best_of", "majority"])
def test_a_replayed_payload_is_the_one_that_was_shown(
    runs: Runs, tmp_path: Path, strategy: str, changes: dict[str, Any]
) -> None:
    answers = ["bad 1", failing("retryable"), "good 2", "good 3", "bad 4"]
    judged = [NO, failing("retryable"), NO, YES, YES]
    step, agents = step_and_agents(tmp_path, strategy, answers, judged)

    entries = [recording(tmp_path), looking(tmp_path, changes), *([turning(tmp_path)] if changes else [])]

    report = runs.run(step, agents=agents, hook_entries=entries)

    assert report.status.exit_code == 0, report.status
    assert shown(tmp_path) == replayed(runs)


def test_of_draws_that_are_made_at_once_each_is_shown_as_it_was(runs: Runs, tmp_path: Path) -> None:
    answers = ["bad 1", failing("retryable"), "good 3", "good 4", "good 5"]
    step, agents = step_and_agents(tmp_path, "best_of", answers, [NO, YES, YES, NO], parallel=3)

    report = runs.run(step, agents=agents, hook_entries=[recording(tmp_path), looking(tmp_path)])

    assert report.status.exit_code == 0
    assert shown(tmp_path) == replayed(runs)


@pytest.mark.parametrize(
    "point", ["generation_post_call 2", "validation_post_check 2", "sampling_iteration 2", "sampling_loop_end 1"]
)
def test_what_was_shown_before_a_block_is_shown_again(runs: Runs, tmp_path: Path, point: str) -> None:
    answers = ["bad 1", "good 2", "good 3"]
    step, agents = step_and_agents(tmp_path, "repair_template", answers, [NO, YES])
    step = structs.replace(step, requirements=[GOOD])

    report = runs.run(
        step, agents=agents, hook_entries=[recording(tmp_path), looking(tmp_path, {point: {"block": "no more"}})]
    )

    assert report.status.exit_code == 3
    assert shown(tmp_path) == replayed(runs)


@pytest.mark.parametrize("point", ["sampling_loop_start 1", "generation_pre_call 2", "generation_pre_call 3"])
def test_what_was_shown_before_and_after_a_person_was_asked_is_shown_again(
    runs: Runs, tmp_path: Path, point: str
) -> None:
    step, agents = step_and_agents(tmp_path, "multi_turn", ["bad 1", "good 2"], [NO, YES])
    entries = [recording(tmp_path), looking(tmp_path, {point: {"ask": "sure?"}})]

    waiting = runs.run(step, agents=agents, hook_entries=entries)
    answer(runs, approved=True)
    report = runs.recover()

    assert (waiting.status.exit_code, report.status.exit_code) == (4, 0)
    assert shown(tmp_path) == replayed(runs)
