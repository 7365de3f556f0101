"""Which payload stands behind which decision of a recorded run."""

from __future__ import annotations

from pathlib import Path

from hooks.definition.model import Requirement, Sampling
from hooks.events.payloads import HookDecided
from hooks_cli.recorded_payloads import recorded_payloads
from tests.runtime.runs import Runs, agent_step
from tests.runtime.scripted import looking, scripted


def test_each_decision_of_a_loop_has_the_payload_it_was_made_on(tmp_path: Path) -> None:
    """Also of draws made at once, and of what is decided before the event that it is about."""
    runs = Runs(tmp_path)
    changes = {
        **{f"generation_pre_call {call}": {"prompt": f"Draw {call}."} for call in (1, 2)},
        **{f"validation_pre_check {draw}": {"requirements": []} for draw in (1, 2)},
    }
    step = agent_step(
        "a",
        agent="writer",
        requirements=[Requirement(name="good", check="true")],
        sampling=Sampling(strategy="best_of", loop_budget=2, parallel=2),
    )

    runs.run(step, agents=[scripted(tmp_path, "writer", ["one", "two"])], hook_entries=[looking(tmp_path, changes)])

    decided = {
        event.seq: f"{event.payload.attempt_id}::{event.payload.hook}::{event.payload.ordinal}"
        for event in runs.events
        if isinstance(event.payload, HookDecided)
    }
    recorded = {payload.seq: payload.document for payload in recorded_payloads(runs.directory).payloads}
    assert len(decided) == 4
    assert {seq: recorded[seq]["request_id"] for seq in decided} == decided
