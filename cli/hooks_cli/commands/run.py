"""`hooks run FILE`: a run is made, durable, and driven until it ends or needs a person."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from hooks.definition.config import Config, load_config, resolve_runs_dir
from hooks.definition.model import HookEntry, Workflow, every_node
from hooks.definition.params import load_params_file, resolve_params
from hooks.errors import UsageError
from hooks.runtime.runs import DEFAULT_GRACE_MS, start_run
from hooks.runtime.user import user_name
from hooks.storage.run_directory import RunDirectory
from hooks_cli.collecting import Otlp, drain_for
from hooks_cli.commands.validate import read_workflow_file
from hooks_cli.deadline import Deadline
from hooks_cli.later_hooks import hooks_of_flags, later_hooks
from hooks_cli.moving import Manner, finish, move, tell_warning
from hooks_cli.options import (
    Accept,
    AsJson,
    Jobs,
    MoreHooks,
    Quiet,
    RunsDir,
    StayAtGates,
    Timeout,
    accepted_codes,
    duration_ms,
    key_values,
)
from hooks_cli.render.node_documents import performed_by
from hooks_cli.render.plan_page import plan_page
from hooks_cli.render.streams import emit, emit_json, say


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The workflow, YAML or JSON; - is stdin.")],
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", metavar="K=V", help="The value of a param; repeatable.")
    ] = None,
    params_file: Annotated[
        Path | None, typer.Option("--params-file", metavar="F", help="Values of params, YAML or JSON.")
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run-id", metavar="ID", help="The run's id. Said again with the same file and params, that run goes on."
        ),
    ] = None,
    meta: Annotated[
        list[str] | None,
        typer.Option("--meta", metavar="K=V", help="Kept with the run and shown to hooks; repeatable."),
    ] = None,
    hooks: MoreHooks = None,
    jobs: Jobs = None,
    grace: Annotated[
        str | None, typer.Option("--grace", metavar="D", help="Time between TERM and KILL. [default: 10s]")
    ] = None,
    durability: Annotated[
        str,
        typer.Option(
            "--durability", metavar="strict|relaxed", help="relaxed is not synced: it survives a kill, no power cut."
        ),
    ] = "strict",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and show what would run.")] = False,
    wait: StayAtGates = False,
    timeout: Timeout = None,
    accept: Accept = None,
    quiet: Quiet = False,
    otlp: Otlp = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
    until: Annotated[str | None, typer.Option("--until", hidden=True)] = None,
    detach: Annotated[bool, typer.Option("--detach", hidden=True)] = False,
    interactive: Annotated[bool, typer.Option("--interactive", hidden=True)] = False,
    engine: Annotated[str | None, typer.Option("--engine", hidden=True)] = None,
) -> int:
    """Create a run of a workflow file and drive it until it ends, waits for a person, or is in doubt.

    The run's id goes to stderr as soon as the run is durable, its output to stdout as one JSON object.
    """
    _refuse_unsupported(until=until, detach=detach, interactive=interactive, engine=engine)
    accepted = accepted_codes(accept)
    here = Path.cwd()
    config = load_config(here, os.environ, check_files=True)
    workflow = read_workflow_file(file, config)
    params = resolve_params(
        workflow,
        flags=param or [],
        file_values=load_params_file(params_file) if params_file else None,
        environ=os.environ,
        warn=tell_warning,
    )
    of_flags = hooks_of_flags(hooks)
    if durability not in ("strict", "relaxed"):
        raise UsageError(f"--durability {durability!r} is neither strict nor relaxed.", fix="--durability strict")
    grace_ms = duration_ms("--grace", grace)
    metadata = key_values("--meta", meta or [])
    if dry_run:
        plan = _plan(workflow, params)
        if as_json:
            emit_json(plan)
        else:
            emit(plan_page(plan))
        return 0
    runs_place = resolve_runs_dir(runs_dir, os.environ, here, config)
    with (
        Deadline(duration_ms("--timeout", timeout)) as deadline,
        start_run(
            workflow,
            params,
            runs_dir=runs_place,
            workflow_directory=here if file == "-" else Path(file).resolve().parent,
            workflow_file=None if file == "-" else Path(file).absolute(),
            working_directory=here,
            initiator=user_name(),
            run_id=run_id,
            hook_entries=_hook_entries(config, of_flags, runs_place, run_id),
            metadata=metadata,
            max_concurrency=jobs,
            grace_ms=DEFAULT_GRACE_MS if grace_ms is None else grace_ms,
            record_hooks=config.record_hooks or "changes",
            durability="strict" if durability == "strict" else "relaxed",
        ) as opened,
    ):
        say(opened.run_id)
        report = move(opened, deadline, stays_at_gates=wait, quiet=quiet or as_json, drain=drain_for(otlp))
    return finish(report, Manner("hooks.run/1", as_json, deadline, accepted))


def _hook_entries(config: Config, of_flags: list[HookEntry], runs_dir: Path, run_id: str | None) -> list[HookEntry]:
    """The hooks of config and flags; for a run that is there already and goes on, of its own config."""
    if run_id is not None and (directory := RunDirectory(runs_dir / run_id)).first_event() is not None:
        return later_hooks(directory, of_flags)
    return [*config.hooks, *of_flags]


def _refuse_unsupported(**options: object) -> None:
    for name, value in options.items():
        if value:
            raise UsageError(f"--{name} is not supported yet.", fix="`hooks run --help` shows what is.")


def _plan(workflow: Workflow, params: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": "hooks.plan/1",
        "workflow_id": workflow.workflow_id,
        "params": params,
        "nodes": [
            {"node": node.id, "performed_by": performed_by(node), "depends": node.depends}
            for node in every_node(workflow)
        ],
    }
