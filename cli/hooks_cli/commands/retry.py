"""`hooks retry RUN [NODE]`: what failed is tried again, in the same run."""

from __future__ import annotations

from hooks.runtime.driving import RunReport
from hooks.runtime.meant import meant_to_retry
from hooks.runtime.performers import require_performers
from hooks.runtime.reading import read_run
from hooks.runtime.runs import reopen_run
from hooks.runtime.user import user_name
from hooks.storage.run_directory import RunDirectory, find_run
from hooks_cli.changed_file import warn_of_changed_file
from hooks_cli.collecting import Otlp
from hooks_cli.deadline import Deadline
from hooks_cli.later_hooks import hooks_of_flags, later_hooks
from hooks_cli.moving import Manner, move, move_each
from hooks_cli.options import (
    Accept,
    AsJson,
    By,
    Jobs,
    MoreHooks,
    OptionalNodeWord,
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


def retry(
    run: RunWord,
    node: OptionalNodeWord = None,
    by: By = None,
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
    """Try the failed, blocked and cancelled nodes of a run again, or only NODE, and what comes after them.

    What has succeeded stays, and no effect that was done is done again. Hooks and gates are asked anew,
    also those configured since, where the run was begun, and those of --hooks.
    """
    accepted = accepted_codes(accept)
    of_flags = hooks_of_flags(hooks)
    directory = find_run(runs_directory(runs_dir), run)
    nodes = [meant_to_retry(read_run(directory), node)] if node is not None else []

    def try_again(directory: RunDirectory) -> RunReport:
        entries = later_hooks(directory, of_flags)
        with reopen_run(
            directory,
            by=by or user_name(),
            nodes=nodes,
            max_concurrency=jobs,
            hook_entries=entries,
            admit=require_performers,
        ) as opened:
            if not as_json:
                say(opened.run_id)
            warn_of_changed_file(opened)
            return move(opened, deadline, stays_at_gates=wait, quiet=quiet or as_json, otlp=otlp)

    with Deadline(duration_ms("--timeout", timeout)) as deadline:
        manner = Manner("hooks.retry/1", as_json, deadline, accepted, prints_output=True)
        return move_each([directory], try_again, manner)
