"""Runs driven by a program of one's own, with its own dispatch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import hooks
from hooks import (
    DispatchContext,
    DispatchOutcome,
    Failed,
    RunState,
    Succeeded,
    WorkflowExecutionHooks,
)
from hooks.definition.model import HostExecutorNode, SubagentNode
from tests.runtime.runs import Runs, agent_step, append


class Own(WorkflowExecutionHooks):
    """Answers by itself; `stuck` has a step never end."""

    def __init__(self, stuck: bool = False) -> None:
        self.asked: list[str] = []
        self.cancelled: list[str] = []
        self.begun = asyncio.Event()
        self._stuck = stuck

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        self.asked.append(resolved_prompt)
        self.begun.set()
        if self._stuck:
            await asyncio.Event().wait()
        return Succeeded(resolved_prompt.upper())

    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        return Failed("NotHere", "fatal", "No effects here.", "not_done")

    async def on_activities_cancelled(self, activity_ids: Sequence[str], node_ids: Sequence[str], run_id: str) -> None:
        self.cancelled += node_ids


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_a_program_performs_the_work_itself(runs: Runs, tmp_path: Path) -> None:
    own, told = Own(), []

    async def main() -> hooks.RunReport:
        with runs.start(agent_step("a", "hello"), agent_step("b", "${a.output}!", depends=["a"])) as run:
            return await hooks.run_loop(run, implementation=own, on_event=lambda event: told.append(event.payload.type))

    report = asyncio.run(main())

    assert report.output() == {"b": "HELLO!"}
    assert own.asked == ["hello", "HELLO!"]
    assert told[-1] == "runSucceeded"


def test_a_tick_is_one_pass(runs: Runs) -> None:
    async def main() -> hooks.RunReport:
        with runs.start(agent_step("a"), agent_step("b", depends=["a"])) as run:
            return await hooks.run_tick(run, implementation=Own())

    assert asyncio.run(main()).status.status == "pending"


def test_a_run_that_was_let_go_is_recovered_to_its_end(runs: Runs) -> None:
    async def main() -> hooks.RunReport:
        own = Own(stuck=True)
        with runs.start(agent_step("a", "hello"), agent_step("b", "x", depends=["a"])) as run:
            stuck = asyncio.ensure_future(hooks.run_loop(run, implementation=own))
            await own.begun.wait()
            stuck.cancel()
            await asyncio.wait([stuck])
        return await hooks.recover(runs.directory, implementation=Own())

    assert asyncio.run(main()).output() == {"b": "X"}


def test_what_an_implementation_refuses_is_what_becomes_of_the_step(runs: Runs, tmp_path: Path) -> None:
    async def main() -> hooks.RunReport:
        with runs.start(append("a", tmp_path / "out", "x")) as run:
            return await hooks.run_loop(run, implementation=Own())

    assert asyncio.run(main()).status.exit_code == 1
    assert not (tmp_path / "out").exists()


def test_a_log_folds_to_the_state_it_was_written_from(runs: Runs) -> None:
    report = runs.run(agent_step("a"))
    definition = report.view.definition

    folded: RunState = hooks.fold(hooks.initial_state("run", definition), hooks.read_events(runs.directory))

    assert folded == report.state
    assert [divergence for _, divergence in hooks.replay_run(runs.directory) if divergence is not None] == []
