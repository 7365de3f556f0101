"""Replay of recorded runs: their files read, their logs handed to what replays. Nothing is written to a run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from hooks.callables import files_executed_anew
from hooks.definition.model import HostExecutorNode, SubagentNode, Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import HookSetMember
from hooks.kernel.state import RunState
from hooks.pipeline.history import Moment
from hooks.pipeline.inspection import faults_before_asking, refuse_faults
from hooks.pipeline.payload_parts import Occasion, Resolve
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.plugins import Registered
from hooks.replay.backtest import Backtest, Finding, Totals
from hooks.replay.decisions import Divergence, replay_decisions
from hooks.runtime.local import LocalExecutionHooks
from hooks.runtime.masking import masker_of
from hooks.runtime.reading import definition_of, read_events, state_before
from hooks.runtime.setting_rules import SettingRules
from hooks.runtime.work_engine import LocalWorkEngine
from hooks.storage.run_directory import RunDirectory


@dataclass(frozen=True, slots=True)
class Backtested:
    """One run, asked again: everything that hooks would have said otherwise, in the order of its log."""

    run_id: str
    findings: list[Finding]
    totals: Totals

    @property
    def differs(self) -> bool:
        """Something would be otherwise; what hooks that look on would say makes no difference."""
        return any(finding.said != "audit" for finding in self.findings)

    @property
    def stops(self) -> bool:
        """Something that went on would now be blocked, or wait for a person."""
        return any(finding.stops for finding in self.findings)


def replay_run(
    directory: RunDirectory, definition: Workflow | None = None
) -> Iterator[tuple[Event, Divergence | None]]:
    """The events of a run, each with what is wrong with it; the first with anything wrong is the last.

    By its own definition this program's decisions are held against the log; with another `definition` the first event
    with anything wrong is where that would have gone another way. Raises CorruptRunError for a damaged log.
    """
    events, own, _ = _opened(directory)
    if definition is None:
        yield from replay_decisions(state_before(directory, own), own, events)
    else:
        yield from replay_decisions(state_before(directory, definition), definition, events, own=own)


async def backtest_run(
    directory: RunDirectory, members: Sequence[HookSetMember], *, plugins: Sequence[Registered] = ()
) -> Backtested:
    """What these hooks would have said in a run; nothing is written to it. `plugins` are hooks as objects.

    Raises CorruptRunError, UsageError for a plugin that is none, DefinitionError for hooks that cannot be loaded or
    started: they would seem to stop everything.
    """
    events, definition, here = _opened(directory)
    state, resolve = state_before(directory, definition), directory.blob_store().resolve
    # As a driver would, which is a process of its own: what a policy's module keeps is of this run alone.
    with files_executed_anew(), tempfile.TemporaryDirectory(prefix="hooks-replay-") as scratch:
        pipeline = Pipeline(
            members,
            run_id=directory.run_id,
            workflow_id=definition.workflow_id,
            run_directory=directory.path,
            working_directory=here,
            transcript=directory.log,
            plugins=plugins,
            replay_in=Path(scratch),
        )
        await pipeline.open()
        try:
            refuse_faults(faults_before_asking(pipeline, members))
            masker = masker_of(definition)
            test = Backtest(
                pipeline,
                state,
                definition,
                resolve=resolve,
                accepts=_Rules(definition, state, resolve, here),
                **({} if masker is None else {"mask": masker.mask_value}),
            )
            findings = await test.findings(events)
        finally:
            await pipeline.close()
    return Backtested(directory.run_id, findings, test.totals)


class _Rules:
    """What a hook may set a field to, as in the run itself."""

    def __init__(self, definition: Workflow, state: RunState, resolve: Resolve, here: Path) -> None:
        self._definition = definition
        self._state = state
        self._resolve = resolve
        self._here = here
        self._performer = LocalExecutionHooks(LocalWorkEngine(definition, here), workflow_directory=here)
        self._rules = SettingRules(definition, self._prepare)

    def __call__(self, moment: Moment, name: str, value: Any) -> str | None:
        attempt = moment.attempt
        node = None if attempt is None else self._state.definition_of(attempt)
        if attempt is None or not isinstance(node, SubagentNode | HostExecutorNode):
            return None
        occasion = Occasion(self._state, self._definition, node, attempt, self._resolve)
        return self._rules.accepts(moment.point, occasion, moment.agent)(name, value)

    def _prepare(self, executor: str, value: Any, cwd: str | None) -> Any:
        return self._performer.prepare_in(self._here, executor, value)


def _opened(directory: RunDirectory) -> tuple[Iterator[Event], Workflow, Path]:
    """The events of a run, its definition, and the directory that hook commands run in: its own, if that is there."""
    events = read_events(directory)
    first = next(events)
    definition = definition_of(directory, first)
    there = Path(getattr(first.payload, "working_directory", "."))
    return chain([first], events), definition, there if there.is_dir() else directory.path
