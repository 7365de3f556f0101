"""`hooks retry RUN [NODE]`: what failed is tried again, in the same run."""

from __future__ import annotations

from hooks.errors import NotFoundError
from hooks.runtime.driving import RunReport
from hooks.runtime.reading import RunView, read_run
from hooks.runtime.runs import reopen_run
from hooks.storage.run_directory import RunDirectory, find_run
from hooks_cli.changed_file import warn_of_changed_file
from hooks_cli.deadline import Deadline
from hooks_cli.later_hooks import hooks_of_flags, later_hooks
from hooks_cli.moving import Manner, move, move_each
from hooks_cli.node_words import pick
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
from hooks_cli.render.node_names import name_in_id, node_name
from hooks_cli.render.streams import say
from hooks_cli.user import user_name


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
    nodes = [_meant(read_run(directory), node)] if node is not None else []

    def try_again(directory: RunDirectory) -> RunReport:
        entries = later_hooks(directory, of_flags)
        with reopen_run(
            directory, by=by or user_name(), nodes=nodes, max_concurrency=jobs, hook_entries=entries
        ) as opened:
            if not as_json:
                say(opened.run_id)
            warn_of_changed_file(opened)
            return move(opened, deadline, stays_at_gates=wait, quiet=quiet or as_json)

    with Deadline(duration_ms("--timeout", timeout)) as deadline:
        return move_each([directory], try_again, Manner("hooks.retry/1", as_json, deadline, accepted))


def _meant(view: RunView, word: str) -> tuple[str, str]:
    """Scope and id of the node to try again; an item of a fan-out means the node, whose failed items are tried."""
    offered = {
        node_name(node_id, scope.key): (scope.key, str(node_id))
        for scope in view.state.scopes.values()
        for node_id, node in scope.nodes.items()
        if node.status in ("failed", "cancelled")
    }
    place = pick(view.state, name_in_id(word).partition("[")[0], offered, what="nodes that did not succeed")
    if place is None:
        raise NotFoundError(
            f"{word} of run {view.run_id} neither failed nor was cancelled.",
            fix=f"`hooks retry {view.run_id}` tries everything again that did.",
            run=view.run_id,
        )
    return place
