"""What every executor owes the runtime. A test class per executor inherits it and gives the samples."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.executors.builders import make_call, orphan
from tests.processes.builders import alive, until

from hooks import jsonio
from hooks.definition.model import ExecutorDeclaration
from hooks.events.payloads import EffectOutcome
from hooks.executors.base import Absent, CannotTell, EffectCall, Executor, Found, InputError, Settled
from hooks.executors.registry import make_executor


class ExecutorContract(ABC):
    name: str
    declarations: Sequence[ExecutorDeclaration] = ()
    takes_any_key = False

    def executor(self) -> Executor:
        """A new one: nothing may hang on what an earlier one remembers."""
        return make_executor(self.name, self.declarations)

    @abstractmethod
    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        """An input whose call succeeds."""

    @abstractmethod
    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        """Inputs that are accepted and whose calls do not succeed."""

    @abstractmethod
    def endless(self, tmp_path: Path) -> dict[str, Any] | None:
        """An input whose call makes the file `ready` and would go on for ever; None where no call can."""

    @abstractmethod
    def traceable(self, tmp_path: Path) -> dict[str, Any] | None:
        """An input whose call succeeds, and of which a look-up can tell whether it happened; None where none can."""

    def outliving(self, tmp_path: Path) -> dict[str, Any] | None:
        """An input whose call makes the file `ready`, outlives its driver, and ends soon; None where no call does."""
        return None

    def test_prepare_changes_nothing_and_says_the_same_twice(self, tmp_path: Path) -> None:
        resolved_input = self.succeeding(tmp_path)
        before, given = sorted(tmp_path.iterdir()), jsonio.canonical(resolved_input)

        prepared = [
            self.executor().prepare(resolved_input, working_directory=tmp_path, workflow_directory=tmp_path)
            for _ in range(2)
        ]

        assert prepared[0] == prepared[1]
        assert prepared[0].provider
        assert sorted(tmp_path.iterdir()) == before
        assert jsonio.canonical(resolved_input) == given

    def test_a_prepared_input_is_json_that_survives_its_sidecar(self, tmp_path: Path) -> None:
        prepared = self.executor().prepare(
            self.succeeding(tmp_path), working_directory=tmp_path, workflow_directory=tmp_path
        )

        jsonio.check(prepared.canonical_input)
        assert jsonio.parse(jsonio.canonical(prepared.canonical_input)) == prepared.canonical_input

    def test_an_unknown_key_is_refused(self, tmp_path: Path) -> None:
        if self.takes_any_key:
            return
        with pytest.raises(InputError, match=r"input\.surprise"):
            self.executor().prepare(
                {**self.succeeding(tmp_path), "surprise": 1}, working_directory=tmp_path, workflow_directory=tmp_path
            )

    def test_a_call_that_succeeds_is_done_with_json(self, tmp_path: Path) -> None:
        call = make_call(self.executor(), tmp_path, self.succeeding(tmp_path))

        settled = asyncio.run(self.executor().execute(call))

        assert settled == Settled("done", settled.output)
        jsonio.check(settled.output)

    def test_a_call_that_does_not_succeed_is_an_outcome_with_its_reason(self, tmp_path: Path) -> None:
        for resolved_input in self.failing(tmp_path):
            call = make_call(self.executor(), tmp_path, resolved_input)

            settled = asyncio.run(self.executor().execute(call))

            assert settled.outcome in set(get_args(EffectOutcome)) - {"done"}
            assert settled.error is not None
            assert settled.error.error_message
            jsonio.check(settled.error.details)

    def test_a_cancelled_call_leaves_no_process(self, tmp_path: Path) -> None:
        resolved_input = self.endless(tmp_path)
        if resolved_input is None:
            return
        call = make_call(self.executor(), tmp_path, resolved_input)

        async def scenario() -> None:
            running = asyncio.create_task(self.executor().execute(call))
            await until((tmp_path / "ready").exists)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        asyncio.run(scenario())
        assert alive(call.marker) == []

    def test_adopting_what_never_ran_starts_nothing(self, tmp_path: Path) -> None:
        call = make_call(self.executor(), tmp_path, self.succeeding(tmp_path))
        before = sorted(tmp_path.rglob("*"))

        assert asyncio.run(self._adopt(call)) is None
        assert sorted(tmp_path.rglob("*")) == before

    def test_what_a_call_allows_is_told_from_its_input(self, tmp_path: Path) -> None:
        call = make_call(self.executor(), tmp_path, self.succeeding(tmp_path))

        for executor in (self.executor(), self.executor()):
            assert isinstance(executor.can_look_up(call.input), bool)
            assert isinstance(executor.is_idempotent(call.input), bool)
            assert executor.settle_ms(call.input, None) >= 0
            assert executor.settle_ms(call.input, 1_000) >= 0

    def test_a_look_up_tells_whether_a_call_happened_and_does_not_do_it(self, tmp_path: Path) -> None:
        resolved_input = self.traceable(tmp_path)
        if resolved_input is None:
            return
        call = make_call(self.executor(), tmp_path, resolved_input)
        assert self.executor().can_look_up(call.input)

        for _ in range(2):
            assert asyncio.run(self.executor().look_up(call)) == Absent()
        assert asyncio.run(self.executor().execute(call)).outcome == "done"
        for _ in range(2):
            found = asyncio.run(self.executor().look_up(call))
            assert isinstance(found, Found)
            assert found.settled == Settled("done", found.settled.output)
            jsonio.check(found.settled.output)
            jsonio.check(found.evidence)

    def test_what_cannot_be_looked_up_says_so(self, tmp_path: Path) -> None:
        call = make_call(self.executor(), tmp_path, self.succeeding(tmp_path))
        if self.executor().can_look_up(call.input):
            return

        assert isinstance(asyncio.run(self.executor().look_up(call)), CannotTell)

    def test_a_call_that_outlives_its_driver_is_adopted(self, tmp_path: Path) -> None:
        """B07"""
        resolved_input = self.outliving(tmp_path)
        if resolved_input is None:
            return
        call = make_call(self.executor(), tmp_path, resolved_input)
        orphan(self.name, call, tmp_path / "ready", self.declarations)

        settled = asyncio.run(self._adopt(call))

        assert settled == Settled("done", settled.output if settled else None)
        assert alive(call.marker) == []

    async def _adopt(self, call: EffectCall) -> Settled | None:
        async with asyncio.timeout(20):
            return await self.executor().adopt(call)
