"""`hooks gc`: finished runs are thrown away, never one that somebody may still need to move."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from hooks.errors import HooksError, UsageError
from hooks.runtime.garbage import FinishedRun, finished_runs, remove_leftovers, remove_run
from hooks.times import iso_time
from hooks_cli.failures import report_failure, worst
from hooks_cli.options import AsJson, RunsDir, duration_ms, runs_directory
from hooks_cli.render.documents import now_ms, path_text
from hooks_cli.render.streams import ask, emit, emit_json, say
from hooks_cli.render.text import table


def gc(
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="D", help="Only runs that ended longer ago, e.g. 30d.")
    ] = None,
    keep: Annotated[int, typer.Option("--keep", min=0, metavar="N", help="Keep the N that ended last.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed; change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Remove finished runs: by default all, with --older-than and --keep fewer.

    A run that is live, unfinished, waiting, in doubt or damaged is never removed. Asks before it removes anything;
    where nobody can be asked, --yes is needed.
    """
    age_ms = duration_ms("--older-than", older_than)
    directory = runs_directory(runs_dir)
    found = finished_runs(directory, ended_before=None if age_ms is None else now_ms() - age_ms, keep=keep)
    if dry_run:
        _tell(found, as_json=as_json, dry_run=True)
        return 0
    if found and not yes:
        _require_consent(found)
    removed, codes = _remove(found, as_json=as_json)
    remove_leftovers(directory)
    _tell(removed, as_json=as_json, dry_run=False)
    return worst(codes)


def _require_consent(found: Sequence[FinishedRun]) -> None:
    """Raise UsageError unless a person at the terminal agrees."""
    question = f"Remove {len(found)} finished run{'s' if len(found) > 1 else ''} for good? [y/N] "
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise UsageError(
            f"{len(found)} runs would be removed, and nobody can be asked.", fix="--dry-run lists them, --yes agrees."
        )
    if ask(question).strip().lower() not in ("y", "yes"):
        raise UsageError("Nothing was removed.")


def _remove(found: Sequence[FinishedRun], *, as_json: bool) -> tuple[list[FinishedRun], list[int]]:
    """The runs that were removed, and the codes of what failed; one that fails does not keep the others."""
    removed, codes = [], [0]
    for run in found:
        try:
            if remove_run(run):
                removed.append(run)
        except HooksError as error:
            codes.append(report_failure(error, as_json=as_json))
    return removed, codes


def _tell(runs: Sequence[FinishedRun], *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        emit_json({"schema": "hooks.gc/1", "dry_run": dry_run, "removed": [_document(run) for run in runs]})
    elif dry_run:
        emit(table([["RUN", "STATUS", "ENDED"], *map(_row, runs)]))
    else:
        say(f"{len(runs)} run{'' if len(runs) == 1 else 's'} removed.")


def _document(run: FinishedRun) -> dict[str, Any]:
    return {
        "run_id": run.directory.run_id,
        "status": run.status,
        "ended_at": iso_time(run.ended_at),
        "directory": path_text(run.directory.path),
    }


def _row(run: FinishedRun) -> list[str]:
    return [run.directory.run_id, run.status, iso_time(run.ended_at)]
