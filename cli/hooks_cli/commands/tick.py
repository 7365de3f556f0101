"""`hooks tick RUN…`: one pass, for those who bring their own clock (cron, a loop in a script)."""

from __future__ import annotations

from hooks.runtime.runs import RunReport, open_existing
from hooks.storage.run_directory import RunDirectory
from hooks_cli.moving import move, move_each
from hooks_cli.options import All, AsJson, RunsDir, RunWords, runs_directory
from hooks_cli.selection import is_unfinished, select


def tick(runs: RunWords = None, every: All = False, runs_dir: RunsDir = None, as_json: AsJson = False) -> int:
    """One pass over each run: start what can start, wait for what was started, stop.

    --all means every run that is not finished.
    """
    directories = select(runs_directory(runs_dir), runs, every=every, meant=is_unfinished)
    return move_each(directories, _tick, schema="hooks.tick/1", as_json=as_json)


def _tick(directory: RunDirectory) -> RunReport:
    with open_existing(directory) as opened:
        return move(opened, quiet=True, one_pass=True)
