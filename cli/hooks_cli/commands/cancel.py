"""`hooks cancel RUN…`: end runs, or one node of a run, also when their driver is dead, stopped or busy."""

from __future__ import annotations

from typing import Annotated

import typer

from hooks.errors import NotFoundError, UsageError
from hooks.events.payloads import NodeReference
from hooks.ids import NodeId
from hooks.kernel.state import RunState, Scope
from hooks.runtime.driving import RunReport
from hooks.runtime.reading import RunView, read_run
from hooks.runtime.requests import Answer, request_cancel
from hooks.runtime.runs import DEFAULT_GRACE_MS
from hooks.storage.run_directory import RunDirectory
from hooks_cli.deadline import Deadline
from hooks_cli.failures import QueuedError
from hooks_cli.moving import Manner, move_each
from hooks_cli.node_words import pick
from hooks_cli.options import AsJson, By, Reason, RunsDir, RunWords, duration_ms, runs_directory
from hooks_cli.render.node_names import node_name
from hooks_cli.render.streams import say
from hooks_cli.render.text import neutralise
from hooks_cli.requesting import require_granted
from hooks_cli.selection import any_run, select
from hooks_cli.user import user_name

_PATIENCE_MS = 30_000


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
            say(f"{view.run_id} has ended already; there is nothing to cancel.")
            return RunReport(view)
        answer = request_cancel(
            directory,
            by=by or user_name(),
            reason=reason,
            node=None if node is None else _meant(view, node),
            grace_ms=grace_ms,
            timeout_ms=_patience_ms(view, grace_ms) if timeout_ms is None else timeout_ms,
        )
        return RunReport(_checked(answer, waits_for_end=node is None))

    accepted = _ENDINGS if node is None else _ENDINGS | _UNDER_WAY
    return move_each(directories, end, Manner("hooks.cancel/1", as_json, Deadline(None), accepted))


_ENDINGS = frozenset({1, 3, 5})
_UNDER_WAY = frozenset({4, 6, 8})
"""Codes of runs that go on without the node that was cancelled."""


def _patience_ms(view: RunView, grace_ms: int | None) -> int:
    """A driver that does not answer gets the grace before it is killed, and what it left gets it again."""
    created = view.state.created
    grace = grace_ms if grace_ms is not None else created.grace_ms if created is not None else DEFAULT_GRACE_MS
    return 2 * grace + _PATIENCE_MS


def _checked(answer: Answer, *, waits_for_end: bool) -> RunView:
    """The run after an answer. Raises QueuedError when it came to no end in time, RefusedError for a refusal."""
    view = answer.view
    if answer.refusal is not None and answer.refusal.code == "Over":
        say(f"{neutralise(answer.refusal.reason)} There is nothing to cancel.")
        return view
    require_granted(answer)
    if waits_for_end and view.state.ended is None:
        raise QueuedError(
            f"Run {view.run_id} is being cancelled and has not ended yet.",
            fix=f"`hooks wait {view.run_id}` waits for it.",
            run=view.run_id,
        )
    return view


def _meant(view: RunView, word: str) -> NodeReference:
    """The node to cancel: of a loop's body the one in the round under way."""
    offered = {
        node_name(node_id, scope.key): NodeReference(node_id=node_id, scope=scope.key)
        for scope in view.state.scopes.values()
        for node_id in scope.graph.position
        if (node := scope.nodes.get(NodeId(node_id))) is None or node.ended_at is None
        if _is_under_way(view.state, scope)
    }
    reference = pick(view.state, word, offered, what="nodes that are not over")
    if reference is None:
        raise NotFoundError(
            f"{word} of run {view.run_id} is over, or is an item, which is only cancelled with its node.",
            fix=f"`hooks show {view.run_id}` tells how it stands.",
            run=view.run_id,
        )
    return reference


def _is_under_way(state: RunState, scope: Scope) -> bool:
    if scope.loop is None:
        return True
    loop = state.root.nodes[scope.loop]
    return loop.ended_at is None and loop.rounds == scope.iteration
