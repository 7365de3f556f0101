"""An agent whose answers have consequences: one draw, whatever dies and whatever is found wrong with its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hooks.definition.model import CommandAgent, Requirement
from hooks.events.payloads import ActivityFailed, NodeFailed, SamplingLoopEnded
from hooks.runtime.reading import read_run
from hooks.storage.verify import verify_run
from tests.runtime.runs import Runs, agent_step
from tests.runtime.scripted import looking, points
from tests.runtime.test_recovery import calls, resolve

GOOD = Requirement(name="good", check="output.startsWith('good')", reason="It is not good.")


def acting(directory: Path, said: str, *, dies: int = 0) -> CommandAgent:
    """It acts, and answers; the first `dies` times it is killed before anybody has seen how it ended."""
    kills = f'[ "$(wc -l < {directory}/calls)" -gt {dies} ] || kill -9 0'
    script = f"echo x >> {directory}/calls; {kills}; echo '{said}'"
    return CommandAgent(name="acting", argv=["sh", "-c", script], repeatable=False)


def act(**fields: Any) -> Any:
    return agent_step("act", agent="acting", requirements=[GOOD], **fields)


def test_a_failed_check_does_not_draw_again(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(act(), agents=[acting(tmp_path, "bad")], hook_entries=[looking(tmp_path)])

    assert report.status.exit_code == 1
    assert runs.only(NodeFailed).error.error_code == "RequirementsNotMet"
    assert runs.only(ActivityFailed).effect_done
    assert calls(tmp_path) == 1
    retried = runs.retry()
    assert retried.status.exit_code == 1
    assert calls(tmp_path) == 1


@pytest.mark.parametrize(("said", "code"), [("good deed", 0), ("bad deed", 1)])
def test_what_a_person_says_it_answered_is_checked(runs: Runs, tmp_path: Path, said: str, code: int) -> None:
    in_doubt = runs.run(act(), agents=[acting(tmp_path, "good", dies=9)], hook_entries=[looking(tmp_path)])
    assert in_doubt.status.exit_code == 10
    assert resolve(runs, "done", output=said).accepted

    report = runs.recover()

    assert report.status.exit_code == code
    assert calls(tmp_path) == 1
    assert [end.success for end in _ends(runs)] == [False], "the loop had ended with the doubt"
    assert [point for point, _ in points(tmp_path)].count("sampling_loop_end") == 1
    if code == 0:
        assert report.output() == {"act": said}
    else:
        failed = runs.only(ActivityFailed)
        assert (failed.error.error_code, failed.effect_done) == ("RequirementsNotMet", True)
        assert runs.retry().status.exit_code == 1
        assert calls(tmp_path) == 1
    assert verify_run(runs.directory) == []


def test_what_a_person_tells_has_the_form_that_others_rely_on(runs: Runs, tmp_path: Path) -> None:
    step = agent_step("act", agent="acting", output_schema={"type": "object"})
    runs.run(step, agents=[acting(tmp_path, "{}", dies=9)])
    resolve(runs, "done", output=["no object"])

    assert runs.recover().status.exit_code == 1
    assert runs.only(ActivityFailed).error.error_message.startswith("output_schema: ")


def test_asked_for_once_more_it_is_drawn_once_more(runs: Runs, tmp_path: Path) -> None:
    in_doubt = runs.run(act(), agents=[acting(tmp_path, "good deed", dies=1)], hook_entries=[looking(tmp_path)])
    assert in_doubt.status.exit_code == 10
    assert runs.recover().status.exit_code == 10
    assert resolve(runs, "retry").accepted

    report = runs.recover()

    assert report.output() == {"act": "good deed"}
    assert calls(tmp_path) == 2
    assert [end.success for end in _ends(runs)] == [False, True]
    assert verify_run(runs.directory) == []
    assert not read_run(runs.directory).state.in_doubt


def test_given_up_the_loop_ends(runs: Runs, tmp_path: Path) -> None:
    runs.run(act(), agents=[acting(tmp_path, "good", dies=9)], hook_entries=[looking(tmp_path)])
    assert resolve(runs, "failed").accepted

    report = runs.recover()

    assert report.status.exit_code == 1
    assert calls(tmp_path) == 1
    assert [end.success for end in _ends(runs)] == [False]


def _ends(runs: Runs) -> list[SamplingLoopEnded]:
    return [event.payload for event in runs.events if isinstance(event.payload, SamplingLoopEnded)]
