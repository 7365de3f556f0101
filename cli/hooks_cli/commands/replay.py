"""`hooks replay RUN…`: what happened, decided again or put to other hooks. Read only."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hooks.definition.config import load_config
from hooks.definition.model import Workflow
from hooks.errors import CorruptRunError, HooksError, UsageError
from hooks.events.payloads import HookSetMember
from hooks.pipeline.hook_set import resolve_hook_set
from hooks.pipeline.inspection import refuse_faults
from hooks.runtime.replaying import Backtested, backtest_run, replay_run
from hooks.storage.run_directory import RunDirectory, is_of_workflow
from hooks_cli.commands.validate import read_workflow_file
from hooks_cli.failures import report_failure, worst
from hooks_cli.hosting import run_hosting
from hooks_cli.later_hooks import hooks_of_flags
from hooks_cli.options import All, AsJson, RunsDir, RunWords, Since, runs_directory
from hooks_cli.policies import Policies, faults_of
from hooks_cli.render.counting import Counting
from hooks_cli.render.replay import (
    backtest_document,
    backtest_lines,
    decisions_document,
    decisions_totals,
    decisions_totals_line,
    tell_decisions,
    totals_lines,
)
from hooks_cli.render.streams import emit, emit_json
from hooks_cli.selection import is_young, oldest_ms, select
from hooks_cli.tidy_end import tidy_end

BLOCKED = 3


@tidy_end()
def replay(
    runs: RunWords = None,
    hooks: Annotated[
        list[Path] | None,
        typer.Option("--hooks", metavar="F", help="Put every point of the runs to the hooks of this file; repeatable."),
    ] = None,
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="F", help="Decide by this definition instead of the run's own.")
    ] = None,
    every: All = False,
    since: Since = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No timeline of a run that is replayed alone.")] = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Replay runs from their logs. No effect is repeated, no agent asked, nothing written.

    Without more: is every decision of the log one that would be made again? Exits 9 at the first that is not.

    --workflow F: where does a changed definition part from the run? With --all, from each run of that workflow. Exits 9
    at the first decision it would not make, or step it would give something else to do.

    --hooks F: a policy tested on history. At each point of each run, what would these hooks have blocked, asked or
    changed? Exits 3 if something that went on would now be stopped, 2 if one of the hooks cannot be loaded or started.
    What comes after a difference is `assumed`.

    --all means every run, in the order they were begun; one that is damaged is told, and the others are replayed.
    """
    if hooks and workflow is not None:
        raise UsageError("--hooks and --workflow exclude each other.", fix="Replay with one of them at a time.")
    changed = None if workflow is None else read_workflow_file(workflow, load_config(Path.cwd(), os.environ))
    meant = partial(
        _is_meant, workflow_id=None if changed is None else changed.workflow_id, oldest=oldest_ms(since, every=every)
    )
    directories = select(runs_directory(runs_dir), runs, every=every, meant=meant)
    if every:
        directories.sort(key=_begun_ms)
    if hooks:
        return _backtest(directories, hooks, as_json=as_json)
    is_one = len(directories) == 1 and not every
    return _decisions(directories, changed, as_json=as_json, with_timeline=is_one and not quiet, with_totals=not is_one)


def _is_meant(directory: RunDirectory, *, workflow_id: str | None, oldest: int | None) -> bool:
    """Whether a run is of the workflow and that young, or too damaged to say: that is told when it is read."""
    first = None if workflow_id is None else directory.first_event()
    return (first is None or is_of_workflow(first, workflow_id)) and is_young(directory, oldest=oldest)


def _begun_ms(directory: RunDirectory) -> int:
    """As `ls` has it: what cannot be read comes first."""
    first = directory.first_event()
    return 0 if first is None else first.timestamp


def _decisions(
    directories: list[RunDirectory], changed: Workflow | None, *, as_json: bool, with_timeline: bool, with_totals: bool
) -> int:
    documents, codes, same = [], [0], list[bool]()
    for directory in directories:
        steps = replay_run(directory, changed)
        try:
            if as_json:
                documents.append(decisions_document(directory.run_id, steps))
                same.append(documents[-1]["same"])
            else:
                same.append(tell_decisions(directory.run_id, steps, emit, with_timeline=with_timeline))
        except HooksError as error:
            codes.append(report_failure(error, as_json=as_json))
    code = worst([*codes, *(0 if each else CorruptRunError.exit_code for each in same)])
    totals = decisions_totals(same, len(directories) - len(same))
    if as_json:
        emit_json({"schema": "hooks.replay/1", "exit_code": code, "totals": totals, "runs": documents})
    elif with_totals:
        emit(decisions_totals_line(totals))
    return code


def _backtest(directories: list[RunDirectory], files: list[Path], *, as_json: bool) -> int:
    """Run after run, so that a thousand of them take no more memory than what is found in them."""
    members = resolve_hook_set(hooks_of_flags(files))
    refuse_faults(run_hosting(faults_of(Policies(members, workflow_id=""))))
    done: list[Backtested] = []
    codes = []
    counting = Counting("replayed", len(directories))
    for directory in directories:
        try:
            tested = _one(directory, members)
        except HooksError as error:
            codes.append(report_failure(error, as_json=as_json))
            continue
        done.append(tested)
        codes.append(BLOCKED if tested.stops else 0)
        counting.step()
        if not as_json:
            emit("".join(backtest_lines(tested)))
    counting.end()
    code = worst(codes)
    if as_json:
        emit_json(backtest_document(done, code))
    else:
        emit("".join(totals_lines(done)))
    return code


def _one(directory: RunDirectory, members: list[HookSetMember]) -> Backtested:
    return run_hosting(backtest_run(directory, members))
