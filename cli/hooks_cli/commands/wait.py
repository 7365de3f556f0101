"""`hooks wait RUN…`: until nobody moves the runs any more, for scripts that started them elsewhere."""

from __future__ import annotations

from collections import deque

from hooks.runtime.driving import RunReport
from hooks.runtime.reading import read_run
from hooks.runtime.watching import RunWatch
from hooks.storage.run_directory import RunDirectory
from hooks_cli.deadline import Deadline
from hooks_cli.moving import Manner, move_each
from hooks_cli.options import Accept, AsJson, RunsDir, RunWords, Timeout, accepted_codes, duration_ms, runs_directory
from hooks_cli.selection import any_run, select


def wait(
    runs: RunWords = None,
    timeout: Timeout = None,
    accept: Accept = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Wait until each run has ended, waits for a person, is in doubt, or has nobody who moves it; return their code."""
    accepted = accepted_codes(accept)
    directories = select(runs_directory(runs_dir), runs, every=False, meant=any_run)
    deadline = Deadline(duration_ms("--timeout", timeout))

    def watch(directory: RunDirectory) -> RunReport:
        watched = RunWatch(directory)
        for _ in watched.wakeups():
            deque(watched.read_new(), maxlen=0)
            if deadline.is_over:
                raise deadline.error(directory.run_id)
        return RunReport(read_run(directory))

    return move_each(directories, watch, Manner("hooks.wait/1", as_json, deadline, accepted))
