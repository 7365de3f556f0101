"""A policy has a person asked in the middle of a sampling loop: what was drawn stays, and the loop goes on or ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from hooks.definition.model import AgentDeclaration, Judge, Requirement, Sampling, SubagentNode
from hooks.events.payloads import GenerationFinished, GenerationStarted, SamplingLoopEnded
from hooks.kernel.state import RunState
from hooks.runtime.driving import RunReport
from hooks.storage.verify import verify_run
from tests.runtime.runs import Runs, agent_step
from tests.runtime.scripted import asked, looking, scripted
from tests.runtime.test_gates_and_loops import answer

JUDGED = Requirement(name="fine", judge=Judge(agent="critic", prompt="Is it fine?"))
PLACES = {
    "loop start": ("sampling_loop_start 1", 0, 0),
    "first draw": ("generation_pre_call 1", 0, 0),
    "beside a draw": ("generation_pre_call 2", 1, 0),
    "first judge": ("generation_pre_call 3", 2, 0),
    "third draw": ("generation_pre_call 4", 2, 1),
}
"""By place: where a person is asked in a loop of two draws at once, and the calls of agent and judge before that."""


def step_and_agents(directory: Path) -> tuple[SubagentNode, list[AgentDeclaration]]:
    step = agent_step(
        "a", agent="writer", requirements=[JUDGED], sampling=Sampling(strategy="best_of", loop_budget=3, parallel=2)
    )
    judged = [{"passed": True, "score": score, "reason": "r"} for score in (0.6, 0.9, 0.7)]
    return step, [scripted(directory, "writer", ["one", "two", "three"]), scripted(directory, "critic", judged)]


def ask_at(runs: Runs, directory: Path, place: str, **fields: Any) -> RunReport:
    step, agents = step_and_agents(directory)
    point, _, _ = PLACES[place]
    hook = structs.replace(looking(directory, {point: {"ask": "sure?"}}), **fields)
    return runs.run(step, agents=agents, hook_entries=[hook])


def calls(directory: Path) -> tuple[int, int]:
    return len(asked(directory, "writer")), len(asked(directory, "critic"))


def drawn(runs: Runs, draw: int) -> Any:
    """What draw number `draw` was answered; of draws made at once, either may have come first to the script."""
    finished = [event.payload for event in runs.events if isinstance(event.payload, GenerationFinished)]
    return next(each.text for each in finished if each.generation_id.endswith(f"::gen-{draw}"))


def open_calls(state: RunState) -> int:
    return sum(len(attempt.loop.open) for attempt in state.open.values() if attempt.loop is not None)


@pytest.mark.parametrize("place", PLACES)
def test_approved_the_loop_goes_on_and_nothing_is_drawn_twice(runs: Runs, tmp_path: Path, place: str) -> None:
    waiting = ask_at(runs, tmp_path, place)
    before = calls(tmp_path)
    assert waiting.status.exit_code == 4
    assert before == PLACES[place][1:]
    assert open_calls(waiting.state) == 0

    log = runs.directory.log.read_bytes()
    assert runs.recover().status.exit_code == 4
    assert runs.directory.log.read_bytes() == log
    answer(runs, approved=True)
    report = runs.recover()

    assert report.output() == {"a": drawn(runs, 2)}
    assert calls(tmp_path) == (3, 3)
    assert runs.types.count("waitCreated") == 1
    started = [event.payload.call for event in runs.events if isinstance(event.payload, GenerationStarted)]
    assert started == [1, 2, 3, 4, 5, 6]
    assert verify_run(runs.directory) == []


@pytest.mark.parametrize("late", [False, True], ids=["rejected", "too late"])
@pytest.mark.parametrize("place", PLACES)
def test_refused_the_loop_ends_with_what_was_drawn(runs: Runs, tmp_path: Path, place: str, late: bool) -> None:
    """Too late is a refusal as well, where the policy does not say otherwise."""
    waiting = ask_at(runs, tmp_path, place, deadline_ms=1 if late else None)
    if not late:
        assert waiting.status.exit_code == 4
        answer(runs, approved=False)
    report = runs.recover()

    assert report.status.exit_code == (1 if late else 3)
    assert calls(tmp_path) == PLACES[place][1:]
    ended = runs.only(SamplingLoopEnded)
    finished = [event.payload for event in runs.events if isinstance(event.payload, GenerationFinished)]
    assert not ended.success
    assert ended.failure_reason.startswith("Rejected by ann." if not late else "")
    assert len(finished) == sum(PLACES[place][1:])


def test_a_deadline_may_approve(runs: Runs, tmp_path: Path) -> None:
    ask_at(runs, tmp_path, "beside a draw", deadline_ms=1, on_timeout="success")

    assert runs.recover().output() == {"a": drawn(runs, 2)}
    assert calls(tmp_path) == (3, 3)
