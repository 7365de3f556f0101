"""`hooks recover RUN…`: go on after a crash, an interruption, or with what a tick left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from hooks.errors import HooksError
from hooks.runtime.driving import RunReport
from hooks.runtime.performers import require_performers
from hooks.runtime.reading import read_run
from hooks.runtime.runs import open_existing
from hooks.storage.run_directory import RunDirectory
from hooks_cli.changed_file import warn_of_changed_file
from hooks_cli.collecting import Otlp
from hooks_cli.deadline import Deadline
from hooks_cli.failures import error_document, error_text
from hooks_cli.later_hooks import hooks_of_flags, later_hooks
from hooks_cli.moving import Manner, move, move_each, unless_idle
from hooks_cli.options import (
    Accept,
    All,
    AsJson,
    Jobs,
    MoreHooks,
    Quiet,
    RunsDir,
    RunWords,
    StayAtGates,
    Timeout,
    accepted_codes,
    duration_ms,
    runs_directory,
)
from hooks_cli.render.documents import now_ms, run_document, unreadable_document
from hooks_cli.render.next_steps import next_commands
from hooks_cli.render.streams import emit, emit_json, say
from hooks_cli.render.text import neutralise, table
from hooks_cli.selection import may_be_unfinished, select


def recover(
    runs: RunWords = None,
    every: All = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what stands where; change nothing.")] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Drive a copied or restored run; the original must never run again.")
    ] = False,
    hooks: MoreHooks = None,
    jobs: Jobs = None,
    wait: StayAtGates = False,
    timeout: Timeout = None,
    accept: Accept = None,
    quiet: Quiet = False,
    otlp: Otlp = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Go on with runs until each ends, waits for a person, or is in doubt.

    Hooks configured since it began, where it was begun, are asked from here on; so are those of --hooks. A finished run
    is left alone and its code returned. What a single RUN comes to goes to stdout, as of `hooks run`. --all means every
    run that is not finished; those with nothing due, and those with work that nobody performs here, are only looked at.
    """
    accepted = accepted_codes(accept)
    tells_idle = not (quiet and every)
    directories = select(runs_directory(runs_dir), runs, every=every, meant=may_be_unfinished)
    of_flags = hooks_of_flags(hooks)
    if dry_run:
        return _show(directories, as_json=as_json)

    def go_on(directory: RunDirectory) -> RunReport:
        entries = later_hooks(directory, of_flags)
        with open_existing(
            directory, take_over=take_over, max_concurrency=jobs, hook_entries=entries, admit=require_performers
        ) as opened:
            if tells_idle and not as_json:
                say(opened.run_id)
            warn_of_changed_file(opened)
            return move(opened, deadline, stays_at_gates=wait, quiet=quiet or as_json, otlp=otlp)

    with Deadline(duration_ms("--timeout", timeout)) as deadline:
        is_one = not every and len(directories) == 1
        manner = Manner("hooks.recover/1", as_json, deadline, accepted, tells_idle=tells_idle, prints_output=is_one)
        return move_each(directories, unless_idle(go_on) if every else go_on, manner)


def _show(directories: Sequence[RunDirectory], *, as_json: bool) -> int:
    rows, documents = [["RUN", "STATUS", "NEXT"]], []
    for directory in directories:
        try:
            view = read_run(directory)
        except HooksError as error:
            document = unreadable_document(directory.path, error, error_document(error))
            steps = [neutralise(error_text(error))]
        else:
            document = run_document(view, now_ms())
            steps = next_commands(view)
        documents.append(document)
        rows.append([document["run_id"], document["status"] or "?", "; ".join(steps)])
    if as_json:
        emit_json({"schema": "hooks.recover/1", "dry_run": True, "exit_code": 0, "runs": documents})
    else:
        emit(table(rows))
    return 0
