"""What a person or a program asks of a run, as the commands of these names do: cancel, approve, reject, resolve.

Each returns once the event that grants it is durable, whoever drives the run: a driver that is there answers, also one
in this very loop; where there is none, this process takes the lock for as long as that takes, starting no work. What is
not granted is raised: NotFoundError (no such place, or several), RefusedError (too late, not allowed), QueuedError
(nobody has answered in time; the request is durable and will be taken).

`node` is a word as the commands take it: `draft`, `rounds.2/draft`, an activity id. `by` is who says it, by default the
user of the system. Times are in milliseconds.
"""

from __future__ import annotations

from typing import Any, Literal

from hooks.errors import QueuedError, RefusedError
from hooks.runtime.driving import RunReport
from hooks.runtime.execution_hooks import WorkflowExecutionHooks
from hooks.runtime.meant import meant_effect, meant_gate, meant_to_end, too_late
from hooks.runtime.reading import RunView, read_run
from hooks.runtime.requests import Answer, answer_gate, request_cancel, resolve_effect
from hooks.runtime.runs import DEFAULT_GRACE_MS
from hooks.runtime.user import user_name
from hooks.storage.run_directory import RunDirectory

REQUEST_TIMEOUT_MS = 30_000
_PATIENCE_MS = 30_000


async def cancel(
    directory: RunDirectory,
    *,
    node: str | None = None,
    reason: str | None = None,
    by: str | None = None,
    grace_ms: int | None = None,
    timeout_ms: int | None = None,
    implementation: WorkflowExecutionHooks | None = None,
    handle_signals: bool = False,
) -> RunReport:
    """End a run, or only `node` of it, also when its driver is dead, stopped or busy; returns when that is over.

    Nothing more starts; what runs is told to end, and is killed after `grace_ms` (default: that of the run). An effect
    in flight is looked up once, and is in doubt where that does not tell. A run that has ended is left as it is. A node
    that is cancelled counts as failed for those that depend on it, and the run goes on; it is over when its driver has
    ended it. Waits for `timeout_ms` (default: twice the grace, and half a minute), then raises QueuedError.

    Where nobody drives the run, `implementation` is asked what became of its effects and told what was cancelled; give
    it wherever the run was driven with one. `handle_signals`: SIGINT and SIGTERM cut short what this process does.
    """
    view = read_run(directory)
    if view.state.ended is not None:
        return RunReport(view)
    answer = await request_cancel(
        directory,
        by=by or user_name(),
        reason=reason,
        node=None if node is None else meant_to_end(view, node),
        grace_ms=grace_ms,
        timeout_ms=_patience_ms(view, grace_ms) if timeout_ms is None else timeout_ms,
        implementation=implementation,
        handle_signals=handle_signals,
    )
    if answer.refusal is not None and answer.refusal.code == "Over":
        return RunReport(answer.view)
    _require_granted(answer)
    if node is None and answer.view.state.ended is None:
        raise QueuedError(
            f"Run {view.run_id} is being cancelled and has not ended yet.",
            fix=f"`hooks wait {view.run_id}` waits for it.",
            run=view.run_id,
        )
    return RunReport(answer.view)


async def approve(
    directory: RunDirectory,
    node: str | None = None,
    *,
    comment: str = "",
    digest: str | None = None,
    by: str | None = None,
    timeout_ms: int = REQUEST_TIMEOUT_MS,
) -> RunReport:
    """Say yes at an open gate: that of `node` (or a wait id), or the only one. It starts no work.

    With `digest` (or the beginning of it) only if the gate asks about exactly that.
    """
    return await _answer(directory, node, True, comment=comment, digest=digest, by=by, timeout_ms=timeout_ms)


async def reject(
    directory: RunDirectory,
    node: str | None = None,
    *,
    comment: str = "",
    digest: str | None = None,
    by: str | None = None,
    timeout_ms: int = REQUEST_TIMEOUT_MS,
) -> RunReport:
    """Say no at an open gate: the run is blocked; at the end of a loop the next round begins with the comment."""
    return await _answer(directory, node, False, comment=comment, digest=digest, by=by, timeout_ms=timeout_ms)


async def resolve(
    directory: RunDirectory,
    node: str,
    outcome: Literal["done", "retry", "failed"],
    *,
    output: Any = None,
    new_key: bool = False,
    reason: str | None = None,
    by: str | None = None,
    timeout_ms: int = REQUEST_TIMEOUT_MS,
) -> RunReport:
    """Settle an effect in doubt: it happened (`output` is that of the step), may be done again, or shall not be.

    `new_key`: done again under another idempotency key, so that no provider takes it for the first. Starts no work.
    """
    attempt = meant_effect(read_run(directory), node)
    answer = await resolve_effect(
        directory,
        activity_id=attempt.activity_id,
        attempt_id=attempt.attempt_id,
        outcome=outcome,
        output=output,
        new_key=new_key,
        reason=reason,
        by=by or user_name(),
        timeout_ms=timeout_ms,
    )
    _require_granted(answer)
    return RunReport(answer.view)


async def _answer(
    directory: RunDirectory,
    node: str | None,
    approved: bool,
    *,
    comment: str,
    digest: str | None,
    by: str | None,
    timeout_ms: int,
) -> RunReport:
    view = read_run(directory)
    wait = meant_gate(view, node)
    answer = await answer_gate(
        directory,
        wait_id=wait.created.wait_id,
        approved=approved,
        by=by or user_name(),
        comment=comment,
        digest=digest,
        timeout_ms=timeout_ms,
    )
    if answer.refusal is not None and answer.refusal.code == "AlreadyAnswered":
        raise too_late(view, wait.created.wait_id)
    _require_granted(answer)
    return RunReport(answer.view)


_LOOK = "`hooks show {0}` tells how it stands."
_FIX = {"NotAllowed": "Answer with `--by NAME`; `hooks show {0} --gates` names who may."}


def _require_granted(answer: Answer) -> None:
    """Raise what a request that was not granted means: RefusedError, or QueuedError while nobody has answered."""
    run_id = answer.view.run_id
    if answer.queued:
        holder = answer.view.holder
        raise QueuedError(
            f"{holder or 'Nobody'} has not answered yet; the request is durable and will be taken.",
            fix=f"`hooks show {run_id}` tells when it has been.",
            run=run_id,
        )
    if answer.refusal is not None:
        raise RefusedError(answer.refusal.reason, fix=_FIX.get(answer.refusal.code, _LOOK).format(run_id), run=run_id)


def _patience_ms(view: RunView, grace_ms: int | None) -> int:
    """A driver that does not answer gets the grace before it is killed, and what it left gets it again."""
    created = view.state.created
    grace = grace_ms if grace_ms is not None else created.grace_ms if created is not None else DEFAULT_GRACE_MS
    return 2 * grace + _PATIENCE_MS
