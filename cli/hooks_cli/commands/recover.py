"""`hooks recover RUN…`: go on after a crash, an interruption, or with what a tick left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from hooks.errors import HooksError
from hooks.runtime.reading import read_run
from hooks.runtime.runs import RunReport, open_existing
from hooks.storage.run_directory import RunDirectory
from hooks_cli.failures import error_document, error_text
from hooks_cli.moving import move, move_each
from hooks_cli.options import All, AsJson, RunsDir, RunWords, runs_directory
from hooks_cli.render.documents import run_document, unreadable_document
from hooks_cli.render.next_steps import next_steps
from hooks_cli.render.streams import emit, emit_json, say
from hooks_cli.render.text import neutralise, table
from hooks_cli.selection import is_unfinished, select


def recover(
    runs: RunWords = None,
    every: All = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what stands where; change nothing.")] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Drive a copied or restored run; the original must never run again.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Go on with runs until each ends, waits for a person, or is in doubt.

    A finished run is left alone and its code returned. --all means every run that is not finished.
    """
    directories = select(runs_directory(runs_dir), runs, every=every, meant=is_unfinished)
    if dry_run:
        return _show(directories, as_json=as_json)

    def go_on(directory: RunDirectory) -> RunReport:
        with open_existing(directory, take_over=take_over) as opened:
            if not as_json:
                say(opened.run_id)
            return move(opened, quiet=quiet or as_json)

    return move_each(directories, go_on, schema="hooks.recover/1", as_json=as_json)


def _show(directories: Sequence[RunDirectory], *, as_json: bool) -> int:
    rows, documents = [["RUN", "STATUS", "NEXT"]], []
    now_ms = time.time_ns() // 1_000_000
    for directory in directories:
        try:
            view = read_run(directory)
        except HooksError as error:
            document = unreadable_document(directory.path, error, error_document(error))
            steps = [neutralise(error_text(error))]
        else:
            document = run_document(view.status, view.state, directory.path, now_ms)
            steps = next_steps(view.status, view.state)
        documents.append(document)
        rows.append([document["run_id"], document["status"] or "?", "; ".join(steps)])
    if as_json:
        emit_json({"schema": "hooks.recover/1", "dry_run": True, "exit_code": 0, "runs": documents})
    else:
        emit(table(rows))
    return 0
