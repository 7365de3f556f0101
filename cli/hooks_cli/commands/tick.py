"""`hooks tick RUN…`: one pass, for those who bring their own clock (cron, a loop in a script)."""

from __future__ import annotations

from hooks.runtime.driving import RunReport
from hooks.runtime.performers import require_performers
from hooks.runtime.runs import open_existing
from hooks.storage.run_directory import RunDirectory
from hooks_cli.collecting import Otlp
from hooks_cli.deadline import Deadline
from hooks_cli.later_hooks import later_hooks
from hooks_cli.moving import Manner, move, move_each, unless_idle
from hooks_cli.options import (
    Accept,
    All,
    AsJson,
    Quiet,
    RunsDir,
    RunWords,
    Timeout,
    accepted_codes,
    duration_ms,
    runs_directory,
)
from hooks_cli.selection import may_be_unfinished, select


def tick(
    runs: RunWords = None,
    every: All = False,
    timeout: Timeout = None,
    accept: Accept = None,
    quiet: Quiet = False,
    otlp: Otlp = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """One pass over each run: start what can start, wait for what was started, stop.

    --all means every run that is not finished; those with nothing due, and those with work that nobody performs here
    (a program does, or a package that is not installed), are only looked at. With -q nothing is said of
    runs in which nothing happened, which makes `hooks tick --all -q` fit for cron.
    """
    accepted = accepted_codes(accept)
    directories = select(runs_directory(runs_dir), runs, every=every, meant=may_be_unfinished)

    def one_pass(directory: RunDirectory) -> RunReport:
        with open_existing(directory, hook_entries=later_hooks(directory), admit=require_performers) as opened:
            return move(opened, deadline, quiet=True, one_pass=True, otlp=otlp)

    with Deadline(duration_ms("--timeout", timeout)) as deadline:
        manner = Manner("hooks.tick/1", as_json, deadline, accepted, tells_idle=not (quiet and every))
        return move_each(directories, unless_idle(one_pass) if every else one_pass, manner)
