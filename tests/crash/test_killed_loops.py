"""A driver killed at any change to the disk in a sampling loop: recovered, the loop goes on where it stood.

No finished call is made again, the agent is asked the same, the hooks of a draw have been asked before the next one
begins, and the loop ends once, with the result it would have had.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.loops import BY_COMMAND, BY_JUDGE, Loop, said_by_judge, sweep_loop

BAD, GOOD = said_by_judge(0.2), said_by_judge(0.9)
REPAIRED = Loop("repair_template", "{strategy: repair_template, loop_budget: 4}", ["bad 1", "bad 2", "bad 3", "good 4"])
CONVERSED = Loop(
    "multi_turn",
    "{strategy: multi_turn, loop_budget: 4}",
    ["good 1", BAD, "good 2", BAD, "good 3", BAD, "good 4", GOOD],
    requirements=(BY_COMMAND, BY_JUDGE),
)
CHOSEN = Loop(
    "best_of",
    "{strategy: best_of, loop_budget: 4, parallel: 2}",
    ["good 1", "good 2", said_by_judge(0.6), "good 3", said_by_judge(0.9), "good 4", said_by_judge(0.7), GOOD],
    requirements=(BY_JUDGE,),
    parallel=2,
)
IN_PROCESS = Loop(
    "best_of in process",
    CHOSEN.sampling,
    CHOSEN.answers,
    agent="python",
    requirements=(BY_COMMAND, BY_JUDGE),
    parallel=2,
)
MADE_AGAIN = Loop("made again", "{strategy: multi_turn, loop_budget: 3}", ["bad 1", "busy", "busy", "bad 2", "good 3"])
APPROVED = Loop("approved", CHOSEN.sampling, CHOSEN.answers, requirements=(BY_JUDGE,), parallel=2, asks_at=4)
LOOPS = [REPAIRED, CONVERSED, CHOSEN, IN_PROCESS, MADE_AGAIN, APPROVED]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.name)
def test_a_sample_of_the_kills(loop: Loop, tmp_path: Path) -> None:
    assert sweep_loop(loop, tmp_path, every=131) == []


@pytest.mark.sweep
@pytest.mark.parametrize("mode", ["kill", "torn"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.name)
def test_every_kill(loop: Loop, mode: str, tmp_path: Path) -> None:
    assert sweep_loop(loop, tmp_path, every=1, mode=mode) == []
