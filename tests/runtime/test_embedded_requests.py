"""Cancels and answers asked for by a program, of a run that it drives itself, that nobody drives, or that has an
implementation of its own to be told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import hooks
from hooks import DispatchContext, DispatchOutcome, Succeeded, WorkflowExecutionHooks
from hooks.definition.model import CommandAgent, Gate, HostExecutorNode, SubagentNode, Workflow
from hooks.errors import NotFoundError, RefusedError, StorageError, UsageError
from hooks.storage.locks import DriverLock
from hooks.testing import Recorded, events
from tests.runtime.runs import Runs, agent_step, sh, statuses

BROKEN = CommandAgent(name="broken", argv=["false"])


class Told(WorkflowExecutionHooks):
    """Never ends the prompts named; keeps what was cancelled, and which events were in the log by then."""

    def __init__(self, runs: Runs, *endless: str) -> None:
        self.cancelled: list[tuple[list[str], list[str], str]] = []
        self.logged: list[str] = []
        self.interrupted: list[str] = []
        self.begun = asyncio.Event()
        self._runs = runs
        self._endless = endless

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        if resolved_prompt in self._endless:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.interrupted.append(node.id)
                raise
        return Succeeded(resolved_prompt)

    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        raise AssertionError("there is no executor call in these runs")

    async def on_activities_cancelled(self, activity_ids: Sequence[str], node_ids: Sequence[str], run_id: str) -> None:
        self.cancelled.append((list(activity_ids), list(node_ids), run_id))
        self.logged = self._runs.types


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_a_run_that_this_loop_drives_is_cancelled_and_its_implementation_told(runs: Runs) -> None:
    own = Told(runs, "endless")

    async def main() -> tuple[hooks.RunReport, hooks.RunReport]:
        with runs.start(agent_step("a", "endless"), agent_step("b", "x", depends=["a"])) as run:
            driving = asyncio.ensure_future(hooks.run_loop(run, implementation=own))
            await own.begun.wait()
            cancelled = await hooks.cancel(runs.directory, reason="enough", by="ann")
            return cancelled, await driving

    cancelled, driven = asyncio.run(main())

    assert cancelled.status.status == driven.status.status == "cancelled"
    assert own.interrupted == ["a"]
    assert own.cancelled == [(["run::work::a"], ["a", "b"], "run")]
    assert own.logged[-2:] == ["nodeCancelled", "nodeCancelled"]


def test_a_run_that_nobody_drives_is_cancelled_and_the_implementation_given_is_told(runs: Runs) -> None:
    own = Told(runs, "endless")

    async def main() -> hooks.RunReport:
        with runs.start(agent_step("a", "endless")) as run:
            gone = Told(runs, "endless")
            driving = asyncio.ensure_future(hooks.run_loop(run, implementation=gone))
            await gone.begun.wait()
            driving.cancel()
            await asyncio.wait([driving])
        return await hooks.cancel(runs.directory, implementation=own)

    assert asyncio.run(main()).status.exit_code == 5
    assert [nodes for _, nodes, _ in own.cancelled] == [["a"]]


def test_a_node_is_cancelled_and_told_while_the_run_goes_on(runs: Runs) -> None:
    own = Told(runs, "endless")

    async def main() -> hooks.RunReport:
        with runs.start(agent_step("a", "endless", allow_failure=True), agent_step("b", "x", depends=["a"])) as run:
            driving = asyncio.ensure_future(hooks.run_loop(run, implementation=own))
            await own.begun.wait()
            await hooks.cancel(runs.directory, node="a")
            return await driving

    report = asyncio.run(main())

    assert statuses(report) == {"a": "cancelled", "b": "succeeded"}
    assert own.cancelled == [(["run::work::a"], ["a"], "run")]
    assert "nodeCancelled" in own.logged


def test_cancelling_a_run_that_has_ended_changes_nothing(runs: Runs) -> None:
    runs.run(agent_step("a"))
    before = runs.types

    report = asyncio.run(hooks.cancel(runs.directory))

    assert report.status.status == "succeeded"
    assert runs.types == before


def test_a_gate_is_answered_once_by_a_program(runs: Runs) -> None:
    runs.run(agent_step("a", human_gate=Gate(prompt="Really?")))

    with pytest.raises(NotFoundError, match="no node 'nonsense'"):
        asyncio.run(hooks.approve(runs.directory, "nonsense"))
    asyncio.run(hooks.approve(runs.directory, by="ann"))
    with pytest.raises(RefusedError, match="approved by ann"):
        asyncio.run(hooks.reject(runs.directory, "a", by="ben"))

    assert asyncio.run(hooks.recover(runs.directory)).output() == {"a": "hello"}


@pytest.mark.parametrize("given", [{"by": "ann\ud800"}, {"comment": "no\ud800"}])
def test_an_answer_that_is_no_text_is_refused_by_its_name_and_answers_nothing(
    runs: Runs, given: dict[str, Any]
) -> None:
    runs.run(agent_step("a", human_gate=Gate(prompt="Really?")))

    with pytest.raises(hooks.UsageError, match=f"{next(iter(given))}: the log cannot carry it"):
        asyncio.run(hooks.approve(runs.directory, **given))

    assert list(runs.directory.inbox.glob("*")) == []


@pytest.mark.parametrize(
    "given",
    [
        {"metadata": {"x": "\udcff"}},
        {"metadata": {"x": float("nan")}},
        {"initiator": "ann\udcff"},
        {"params": {"x": "\udcff"}},
        {"working_directory": Path("/\udcff")},
    ],
)
def test_a_run_of_what_no_log_can_carry_is_not_made(runs: Runs, given: dict[str, Any]) -> None:
    options: dict[str, Any] = {"params": {}, "initiator": "ann", "working_directory": runs.home, **given}

    with pytest.raises(hooks.UsageError, match=f"{next(iter(given))}: the log cannot carry it"):
        hooks.start_run(
            Workflow(workflow_id="w", version=1, nodes=[agent_step("a")]),
            runs_dir=runs.home / "runs",
            workflow_directory=runs.home,
            **options,
        )

    assert not (runs.home / "runs").exists()


def test_what_failed_is_tried_again_by_a_program(runs: Runs) -> None:
    own = Told(runs)
    runs.run(agent_step("a", agent="broken"), agents=[BROKEN])

    report = asyncio.run(hooks.retry(runs.directory, "a", implementation=own))

    assert report.output() == {"a": "hello"}


def test_a_program_begins_a_run_again_in_the_middle(runs: Runs) -> None:
    runs.run(agent_step("a", "first"), agent_step("b", "${a.output}!", depends=["a"]))
    origin = hooks.read_run(runs.directory)

    async def main() -> hooks.RunReport:
        with hooks.start_rerun(origin, "b", initiator="ann", run_id="again") as run:
            return await hooks.run_loop(run, implementation=Told(runs))

    report = asyncio.run(main())

    assert report.output() == {"b": "first!"}
    again = Recorded(report.view.directory)
    assert [started.node_id for started in again.all(events.ComponentStarted)] == ["b"]


def test_a_program_that_stops_asking_leaves_no_request_behind(runs: Runs) -> None:
    runs.run(agent_step("a", human_gate=Gate(prompt="Really?")))
    inbox = runs.directory.inbox

    async def main() -> None:
        busy = DriverLock.acquire(runs.directory.lock, role="driver", run_id="run")
        asking = asyncio.ensure_future(hooks.approve(runs.directory, by="ann"))
        while not list(inbox.glob("*.json")):  # noqa: ASYNC110 - a file tells
            await asyncio.sleep(0)
        busy.release()
        asking.cancel()
        await asyncio.wait([asking])

    asyncio.run(main())

    assert list(inbox.iterdir()) == []
    assert asyncio.run(hooks.recover(runs.directory)).status.status == "waiting"


def test_a_request_that_was_recorded_before_it_failed_is_told_to_count(runs: Runs) -> None:
    class Failing(Told):
        async def recover_dangling_effects(self, log: hooks.EffectLog, snapshot: hooks.RunState) -> Any:
            raise StorageError("The queue is down.")

    async def main() -> None:
        with runs.start(sh("a", "sleep 60", grace_ms=0)) as run:
            permitted = asyncio.Event()

            def on_event(event: hooks.Event) -> None:
                if event.payload.type == "effectAttempted":
                    permitted.set()

            driving = asyncio.ensure_future(hooks.run_loop(run, on_event=on_event))
            await permitted.wait()
            driving.cancel()
            await asyncio.wait([driving])
        await hooks.cancel(runs.directory, implementation=Failing(runs))

    with pytest.raises(StorageError, match="What was asked for is recorded all the same, and counts"):
        asyncio.run(main())

    assert "cancelRequested" in runs.types
    assert list(runs.directory.inbox.iterdir()) == []
    asyncio.run(hooks.cancel(runs.directory, implementation=Told(runs)))


def test_a_request_that_no_driver_would_read_is_not_made(runs: Runs) -> None:
    runs.run(agent_step("a", human_gate=Gate(prompt="Really?")))

    with pytest.raises(UsageError, match="are taken at the most"):
        asyncio.run(hooks.approve(runs.directory, comment="x" * (17 << 20)))

    assert list(runs.directory.inbox.iterdir()) == []
