"""Running a workflow in a test, in a directory that is gone with the run."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hooks.agents.base import Agent
from hooks.clock import Clock
from hooks.definition.load import load_workflow
from hooks.definition.model import HookEntry, Workflow
from hooks.definition.params import resolve_params
from hooks.pipeline.plugins import Registered
from hooks.runtime.driving import RunReport, drive_async, in_own_loop
from hooks.runtime.execution_hooks import WorkflowExecutionHooks
from hooks.runtime.runs import OpenRun, open_existing, start_run
from hooks.testing.recorded import Recorded
from hooks.testing.scripted_hooks import ScriptedExecutor, ScriptedHooks

Source: TypeAlias = str | Mapping[str, Any] | Path


class WorkflowRun(Recorded):
    """What came of a run. `home` is the directory it worked in; `report` is what driving it came to last."""

    def __init__(
        self, home: Path, drive: Callable[[OpenRun], RunReport], report: RunReport, clock: Clock | None
    ) -> None:
        super().__init__(report.view.directory)
        self.home = home
        self.report = report
        self._drive = drive
        self._clock = clock

    @property
    def status(self) -> str:
        """succeeded, failed, blocked, cancelled, waiting, pending, in_doubt or interrupted."""
        return self.report.status.status

    @property
    def output(self) -> dict[str, Any]:
        """The output of each node that nobody depends on; empty unless the run succeeded."""
        return self.report.output()

    def go_on(self) -> RunReport:
        """Drive it on in the same way, after a gate was answered or an effect resolved; `report` is what came of it."""
        with open_existing(self.directory, clock=self._clock) as run:
            self.report = self._drive(run)
        return self.report


def run_workflow(
    workflow: Source,
    params: Mapping[str, Any] | None = None,
    *,
    agents: Mapping[str, Agent] | None = None,
    executors: Mapping[str, ScriptedExecutor] | None = None,
    implementation: WorkflowExecutionHooks | None = None,
    agent_names: Collection[str] = (),
    executor_names: Collection[str] = (),
    plugins: Sequence[Registered] = (),
    hook_entries: Sequence[HookEntry] = (),
    files: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    run_id: str | None = None,
    home: Path | None = None,
) -> WorkflowRun:
    """Run a workflow until it ends, waits for a person, or is in doubt. Not to be called from within an event loop.

    `workflow` is YAML or JSON text, a mapping that says the same, or the path of a file. `agents` answer in the place
    of those of that name. With `executors` every executor call is answered by one of these; without, the workflow's own
    are used, which do what they say. `implementation` performs all of it instead, also
    what
    only it knows by these `agent_names` and `executor_names`. `plugins` are hooks in Python, as
    objects. `files` (relative path to text) are written beside the workflow first. All of it is done in `home`, by
    default a directory of its own, which is removed when the WorkflowRun is let go of.

    Raises DefinitionError for a workflow or params with problems.
    """
    place = home or Path(tempfile.mkdtemp(prefix="hooks-testing-"))
    for name, text in (files or {}).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    definition = _load(
        workflow, place, agents=[*(agents or {}), *agent_names], executors=[*(executors or {}), *executor_names]
    )
    performer = implementation
    if performer is None and executors is not None:
        performer = ScriptedHooks(agents, executors)
    agent_for = (agents or {}).get

    def drive(run: OpenRun) -> RunReport:
        return in_own_loop(
            drive_async(run, implementation=performer, agent_for=agent_for, plugins=plugins, handle_signals=False)
        )

    with start_run(
        definition,
        resolve_params(definition, file_values=params, environ={}),
        runs_dir=place / "runs",
        workflow_directory=workflow.absolute().parent if isinstance(workflow, Path) else place,
        working_directory=place,
        initiator="test",
        run_id=run_id,
        hook_entries=hook_entries,
        durability="relaxed",
        clock=clock,
    ) as run:
        done = WorkflowRun(place, drive, drive(run), clock)
    if home is None:
        weakref.finalize(done, shutil.rmtree, place, ignore_errors=True)
    return done


def _load(workflow: Source, place: Path, agents: Collection[str], executors: Collection[str]) -> Workflow:
    if isinstance(workflow, Path):
        return load_workflow(workflow, agents=agents, executors=executors)
    text = workflow if isinstance(workflow, str) else json.dumps(workflow)
    return load_workflow(place / "workflow.yaml", text=text.encode(), agents=agents, executors=executors)
