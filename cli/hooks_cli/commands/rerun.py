"""`hooks rerun RUN --from NODE`: a new run that takes over what an earlier one has come to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from hooks.definition.config import load_config
from hooks.definition.params import resolve_params
from hooks.events.payloads import NodeReference
from hooks.runtime.performers import require_performers
from hooks.runtime.reading import RunView, read_run
from hooks.runtime.rerunning import plan_rerun, start_rerun
from hooks.runtime.user import user_name
from hooks.storage.run_directory import find_run
from hooks_cli.collecting import Otlp
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
from hooks_cli.taken_over import taken_over, warnings


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
    otlp: Otlp = False,
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
    definition, params, workflow_directory, workflow_file = None, None, None, None
    if workflow is not None:
        definition = read_workflow_file(workflow, config)
        params = resolve_params(definition, file_values=_params(origin), environ={}, warn=tell_warning)
        workflow_file = None if workflow == "-" else Path(workflow).absolute()
        workflow_directory = Path.cwd() if workflow == "-" else Path(workflow).resolve().parent
    begun_by = definition or origin.definition
    begun = [NodeReference(node_id=node_id) for node_id in plan_rerun(origin, begun_by, begin).executed]
    require_performers(begun_by, origin.state, begun)
    with (
        Deadline(duration_ms("--timeout", timeout)) as deadline,
        start_rerun(
            origin,
            begin,
            definition=definition,
            params=params,
            repeat_effects=repeat_effects,
            initiator=user_name(),
            runs_dir=runs_place,
            workflow_directory=workflow_directory,
            workflow_file=workflow_file,
            run_id=run_id,
            hook_entries=[*config.hooks, *hooks_of_flags(hooks)],
            max_concurrency=jobs,
            record_hooks=config.record_hooks or "changes",
        ) as opened,
    ):
        say(opened.run_id)
        taken = taken_over(opened.state, origin.definition, opened.definition)
        if not quiet and not as_json:
            say(f"  taken over from {origin.run_id}: {', '.join(each['node'] for each in taken) or 'nothing'}")
        for warning in warnings(taken):
            say(warning)
        report = move(opened, deadline, stays_at_gates=wait, quiet=quiet or as_json, otlp=otlp)
    return finish(report, Manner("hooks.rerun/1", as_json, deadline, accepted), {"taken_over": taken})


def _params(origin: RunView) -> dict[str, Any]:
    created = origin.state.created
    assert created is not None, "a run that was read begins with runCreated"
    params: dict[str, Any] = origin.blobs.resolve(created.params)
    return params
