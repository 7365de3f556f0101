"""`hooks rerun RUN --from NODE`: a new run that takes over what an earlier one has come to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from hooks.definition.config import load_config
from hooks.definition.params import resolve_params
from hooks.errors import UsageError
from hooks.events.payloads import ForkedFrom, RunCreated
from hooks.pipeline.hook_set import flag_entries
from hooks.runtime.reading import RunView, read_run
from hooks.runtime.rerunning import RepeatedEffect, RerunPlan, plan_rerun
from hooks.runtime.runs import DEFAULT_GRACE_MS, start_run
from hooks.storage.run_directory import find_run
from hooks_cli.commands.validate import read_workflow_file
from hooks_cli.deadline import Deadline
from hooks_cli.later_hooks import hooks_of_flags
from hooks_cli.moving import Manner, finish, move, tell_warning
from hooks_cli.options import (
    Accept,
    AsJson,
    Jobs,
    MoreHooks,
    Quiet,
    RunsDir,
    RunWord,
    StayAtGates,
    Timeout,
    accepted_codes,
    duration_ms,
    runs_directory,
)
from hooks_cli.render.streams import say
from hooks_cli.user import user_name


def rerun(
    run: RunWord,
    begin: Annotated[str, typer.Option("--from", metavar="NODE", help="The node to begin with.")],
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="F", help="A changed definition, instead of the run's own.")
    ] = None,
    repeat_effects: Annotated[
        bool, typer.Option("--repeat-effects", help="Also do again what the run has done, or may have.")
    ] = False,
    hooks: MoreHooks = None,
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id of the new run.")] = None,
    jobs: Jobs = None,
    wait: StayAtGates = False,
    timeout: Timeout = None,
    accept: Accept = None,
    quiet: Quiet = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Begin a new run with NODE: what a run has come to elsewhere is taken over, NODE and all after it is done again.

    Params are those of the run. Refused, with the list, if that would repeat an effect, unless --repeat-effects.
    """
    accepted = accepted_codes(accept)
    here = Path.cwd()
    config = load_config(here, os.environ, check_files=True)
    runs_place = runs_directory(runs_dir)
    origin = read_run(find_run(runs_place, run))
    created = _created(origin)
    definition = origin.definition if workflow is None else read_workflow_file(workflow, config)
    plan = plan_rerun(origin, definition, begin)
    if not repeat_effects:
        _refuse_repeats(origin, plan)
    params = origin.blobs.resolve(created.params)
    kept_hooks = flag_entries(origin.state.hook_set)
    if workflow is not None:
        params = resolve_params(definition, file_values=params, environ={}, warn=tell_warning)
    with (
        Deadline(duration_ms("--timeout", timeout)) as deadline,
        start_run(
            definition,
            params,
            runs_dir=runs_place,
            workflow_directory=_workflow_directory(workflow, created),
            workflow_file=_workflow_file(workflow, created),
            working_directory=Path(created.working_directory),
            initiator=user_name(),
            run_id=run_id,
            hook_entries=[
                *config.hooks,
                *kept_hooks,
                *(entry for entry in hooks_of_flags(hooks) if entry not in kept_hooks),
            ],
            metadata=origin.blobs.resolve(created.metadata),
            max_concurrency=jobs,
            grace_ms=DEFAULT_GRACE_MS,
            record_hooks=config.record_hooks or "changes",
            durability=created.durability,
            forked_from=ForkedFrom(run_id=origin.run_id, node_id=begin),
            imports=plan.imports,
        ) as opened,
    ):
        say(opened.run_id)
        if not quiet and not as_json:
            taken = ", ".join(imported.node_id for imported in plan.imports) or "nothing"
            say(f"  taken over from {origin.run_id}: {taken}")
        report = move(opened, deadline, stays_at_gates=wait, quiet=quiet or as_json)
    return finish(report, Manner("hooks.rerun/1", as_json, deadline, accepted))


def _created(origin: RunView) -> RunCreated:
    created = origin.state.created
    assert created is not None, "a run that was read begins with runCreated"
    return created


def _refuse_repeats(origin: RunView, plan: RerunPlan) -> None:
    if not plan.repeated:
        return
    named = ", ".join(_named(effect, origin.run_id) for effect in plan.repeated)
    raise UsageError(
        f"That would repeat what run {origin.run_id} has done, or may have: {named}.",
        fix="Begin with a later node, or say --repeat-effects.",
    )


def _named(effect: RepeatedEffect, run_id: str) -> str:
    if effect.activity_id is None:
        return f"{effect.node_id} (done before, and taken over)"
    return f"{effect.activity_id.removeprefix(f'{run_id}::')} ({'in doubt' if effect.in_doubt else 'done'})"


def _workflow_directory(file: str | None, created: RunCreated) -> Path:
    if file is None:
        return Path(created.workflow_directory)
    return Path.cwd() if file == "-" else Path(file).resolve().parent


def _workflow_file(file: str | None, created: RunCreated) -> Path | None:
    if file is None:
        return None if created.workflow_file is None else Path(created.workflow_file)
    return None if file == "-" else Path(file).absolute()
