"""`hooks ls`: one row a run, damaged ones too."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import typer

from hooks.errors import CorruptRunError, HooksError, NotFoundError, UsageError
from hooks.kernel.status import Status
from hooks.runtime.reading import read_run
from hooks.storage.run_directory import RunDirectory, list_runs
from hooks_cli.failures import error_document
from hooks_cli.options import AsJson, RunsDir, duration_ms, runs_directory
from hooks_cli.render.documents import now_ms, run_document, unreadable_document
from hooks_cli.render.run_table import run_table
from hooks_cli.render.streams import emit, emit_json

_STATUSES = (*get_args(Status), "damaged")


def ls(
    status: Annotated[
        list[str] | None, typer.Option("--status", metavar="S", help="Only this status; repeatable.")
    ] = None,
    workflow: Annotated[str | None, typer.Option("--workflow", metavar="W", help="Only this workflow.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="D", help="Only runs of the last 2h, 7d, …")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the ids.")] = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """List the runs of the runs dir, the newest last."""
    at_ms = now_ms()
    since_ms = duration_ms("--since", since)
    oldest = None if since_ms is None else at_ms - since_ms
    for word in status or ():
        if word not in _STATUSES:
            raise UsageError(f"No run has the status {word!r}.", fix=f"There is {', '.join(_STATUSES)}.")
    rows = [_row(directory, at_ms) for directory in list_runs(runs_directory(runs_dir))]
    if workflow is not None:
        _require_workflow(workflow, rows)
    rows = [row for row in rows if _is_wanted(row, status, workflow, oldest)]
    rows.sort(key=lambda row: row["created_ms"] or 0)
    for row in rows:
        del row["created_ms"]
    if as_json:
        emit_json({"schema": "hooks.ls/1", "runs": rows})
    elif quiet:
        emit("".join(f"{row['run_id']}\n" for row in rows))
    else:
        emit(run_table(rows))
    return CorruptRunError.exit_code if any(row["status"] == "damaged" for row in rows) else 0


def _row(directory: RunDirectory, at_ms: int) -> dict[str, Any]:
    try:
        view = read_run(directory)
    except HooksError as error:
        return {**unreadable_document(directory.path, error, error_document(error)), "created_ms": None}
    return {**run_document(view, at_ms), "created_ms": view.state.created_at}


def _require_workflow(workflow: str, rows: list[dict[str, Any]]) -> None:
    """Raises NotFoundError if there are runs, and none of this workflow."""
    known = list(dict.fromkeys(row["workflow_id"] for row in rows if row.get("workflow_id")))
    if known and workflow not in known:
        raise NotFoundError(
            f"There is no run of a workflow {workflow!r}.", fix=f"There are runs of {', '.join(known)}."
        )


def _is_wanted(row: dict[str, Any], status: list[str] | None, workflow: str | None, oldest_ms: int | None) -> bool:
    return (
        (not status or bool({row["status"], *row.get("reasons", ())} & {*status}))
        and (workflow is None or row.get("workflow_id") == workflow)
        and (oldest_ms is None or row["created_ms"] is None or row["created_ms"] >= oldest_ms)
    )
