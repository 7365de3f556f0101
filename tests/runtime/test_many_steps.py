"""A thousand trivial steps: they finish, and the last ones cost what the first ones did.

What a step costs is counted in lines of Python that the driver executes, which is the same on any machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hooks.definition.model import PythonAgent, SubagentNode
from hooks.events.envelope import Event
from hooks.events.payloads import NodeSucceeded
from hooks.runtime.driving import drive
from tests.runtime.runs import Runs, agent_step

STEPS = 1_000
WINDOW = 64
EARLY, LATE = 128, 896
"""Where the windows begin in which lines are counted; in between nothing is, since counting is slow."""

AGENT = "async def answer(prompt):\n    return 'done'\n"


class LinesInWindows:
    """Counts lines of Python while steps EARLY, LATE and the `WINDOW` after each end."""

    def __init__(self) -> None:
        self.steps = 0
        self.lines = {EARLY: 0, LATE: 0}

    def note(self, event: Event) -> None:
        if not isinstance(event.payload, NodeSucceeded):
            return
        self.steps += 1
        if self.steps in self.lines:
            sys.settrace(self._counting(self.steps))
        elif self.steps - WINDOW in self.lines:
            sys.settrace(None)

    def _counting(self, window: int) -> Callable[[FrameType, str, Any], Any]:
        def trace(frame: FrameType, what: str, argument: Any) -> Any:
            self.lines[window] += 1
            return trace

        return trace


def chain() -> list[SubagentNode]:
    return [
        agent_step(f"n{number}", agent="echo", depends=[f"n{number - 1}"] if number else []) for number in range(STEPS)
    ]


def independent() -> list[SubagentNode]:
    return [agent_step(f"n{number}", agent="echo") for number in range(STEPS)]


@pytest.mark.parametrize("nodes", [chain(), independent()], ids=["in a row", "independent"])
def test_a_thousand_steps_cost_the_same_each(nodes: list[SubagentNode], runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(AGENT)
    counted = LinesInWindows()
    tracing_before = sys.gettrace()

    try:
        with runs.start(
            *nodes,
            agents=[PythonAgent(name="echo", callable="echo.py:answer")],
            durability="relaxed",
            max_concurrency=16,
        ) as run:
            report = drive(run, on_event=counted.note)
    finally:
        sys.settrace(tracing_before)

    assert (report.status.status, counted.steps) == ("succeeded", STEPS)
    # Steps side by side end at other moments each time; one line for each step that is over would add an eighth.
    assert 0 < counted.lines[LATE] < 1.1 * counted.lines[EARLY], counted.lines
