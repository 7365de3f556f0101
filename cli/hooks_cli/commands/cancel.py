"""`hooks cancel RUN…`: end runs, or one node of a run, also when their driver is dead, stopped or busy."""

from __future__ import annotations

from typing import Annotated

import typer

from hooks.errors import UsageError
from hooks.runtime import asking
from hooks.runtime.driving import RunReport, in_own_loop
from hooks.runtime.reading import read_run
from hooks.storage.run_directory import RunDirectory
from hooks_cli.deadline import Deadline
from hooks_cli.moving import Manner, move_each
from hooks_cli.options import AsJson, By, Quiet, Reason, RunsDir, RunWords, duration_ms, runs_directory
from hooks_cli.render.streams import say
from hooks_cli.selection import any_run, select


def cancel(
    runs: RunWords = None,
    node: Annotated[str | None, typer.Option("--node", metavar="N", help="Only this node; the run goes on.")] = None,
    reason: Reason = None,
    grace: Annotated[
        str | None, typer.Option("--grace", metavar="D", help="Time between TERM and KILL. [default: that of the run]")
    ] = None,
    by: By = None,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="D", help="How long to wait for the end; then exit code 8: queued."),
    ] = None,
    quiet: Quiet = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Cancel runs: nothing more starts, what runs is told to end, and is killed after its grace.

    Returns when that is over: 0, or 10 if nobody knows whether an effect happened. A run that has ended already is
    left as it is. With --node only that node is cancelled, which counts as failed for those that depend on it.
    """
    grace_ms, timeout_ms = duration_ms("--grace", grace), duration_ms("--timeout", timeout)
    directories = select(runs_directory(runs_dir), runs, every=False, meant=any_run)
    if node is not None and len(directories) > 1:
        raise UsageError("--node needs one RUN.", fix="Name one run.")

    def end(directory: RunDirectory) -> RunReport:
        view = read_run(directory)
        if view.state.ended is not None:
            if not quiet:
                say(f"{view.run_id} has ended already; there is nothing to cancel.")
            return RunReport(view)
        return in_own_loop(
            asking.cancel(
                directory,
                node=node,
                reason=reason,
                by=by,
                grace_ms=grace_ms,
                timeout_ms=timeout_ms,
                handle_signals=True,
            )
        )

    accepted = _ENDINGS if node is None else _ENDINGS | _UNDER_WAY
    return move_each(directories, end, Manner("hooks.cancel/1", as_json, Deadline(None), accepted, tells_end=not quiet))


_ENDINGS = frozenset({1, 3, 5})
_UNDER_WAY = frozenset({4, 6, 8})
"""Codes of runs that go on without the node that was cancelled."""
