"""`hooks doctor`: what would go wrong here, before it does. Read only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from hooks.errors import DefinitionError, HooksError
from hooks.events.payloads import HookSetMember
from hooks.pipeline.inspection import member_faults
from hooks.runtime.reading import read_run
from hooks.storage.run_directory import RunDirectory, list_runs
from hooks_cli.hosting import run_hosting
from hooks_cli.options import AsJson, RunsDir, runs_directory
from hooks_cli.policies import declared_policies, faults_of
from hooks_cli.render.streams import emit, emit_json
from hooks_cli.render.text import neutralise

PROBLEMS_FOUND = 1


def doctor(
    files: Annotated[list[str] | None, typer.Argument(metavar="[FILE…]", help="Workflows to check.")] = None,
    hooks: Annotated[list[Path] | None, typer.Option("--hooks", metavar="F", help="More hooks, from a file.")] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Check hooks: the files of those declared, and of those that unfinished runs have pinned; Python hooks that are
    declared are loaded as well. Exits 1 for a problem."""
    problems = [*_of_declared(files or [None], hooks or []), *_of_runs(runs_directory(runs_dir))]
    if as_json:
        emit_json({"schema": "hooks.doctor/1", "problems": problems})
    else:
        emit("".join(_line(problem) for problem in problems) or "No problems.\n")
    return PROBLEMS_FOUND if problems else 0


def _of_declared(files: list[str] | list[None], hooks: list[Path]) -> Iterator[dict[str, Any]]:
    told = set()
    for file in files:
        try:
            policies = declared_policies(file, hooks)
        except DefinitionError as error:
            yield from (_problem(None, problem.message, str(problem.place)) for problem in error.problems)
            continue
        for member, fault in run_hosting(faults_of(policies)):
            where = (member.name, member.declared_in, fault)
            if where not in told:
                told.add(where)
                yield _problem(member.name, fault, member.declared_in)


def _of_runs(runs_dir: Path) -> Iterator[dict[str, Any]]:
    for directory in list_runs(runs_dir):
        for member in _hooks_in_use(directory):
            for fault in member_faults(member):
                yield _problem(member.name, fault, member.declared_in, directory.run_id)


def _hooks_in_use(directory: RunDirectory) -> list[HookSetMember]:
    """The hooks of a run that may still ask them; of a damaged one nothing can be said here (`hooks verify` does)."""
    try:
        state = read_run(directory).state
    except HooksError:
        return []
    return [] if state.ended is not None else state.hook_set


def _problem(hook: str | None, problem: str, declared_in: str, run: str | None = None) -> dict[str, Any]:
    return {"hook": hook, "problem": problem, "declared_in": declared_in, "run": run}


def _line(problem: dict[str, Any]) -> str:
    run = f"run {problem['run']}: " if problem["run"] else ""
    hook = f"hook {problem['hook']} ({problem['declared_in']})" if problem["hook"] else problem["declared_in"]
    return neutralise(f"{run}{hook}: {problem['problem']}") + "\n"
