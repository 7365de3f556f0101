"""What becomes of requests: each turns into the event that grants it, or into one that says why not.

Requests are taken in order; a repeated id is dropped. A request is compared with the run as it stands: the first of two
contradicting answers wins, and the second is told so. Its file is removed only when its event is durable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, assert_never

from hooks.events.payloads import CancelRequested, ErrorInfo, Payload, ReconcileResult, RequestRefused, WaitResolved
from hooks.ids import ActivityId, NodeId
from hooks.kernel.state import RunState
from hooks.runtime.recorder import Recorder
from hooks.runtime.step_errors import step_error
from hooks.storage.durable_files import Durability
from hooks.storage.inbox import (
    BadRequest,
    CancelRequest,
    GateAnswer,
    Request,
    Resolution,
    put_aside,
    remove_request,
    requests_in,
)
from hooks.storage.run_directory import RunDirectory

Code: TypeAlias = Literal[
    "TooLate", "AlreadyAnswered", "NoSuchGate", "NotAllowed", "DigestDiffers", "NothingInDoubt", "Over"
]


def answer_requests(
    recorder: Recorder,
    directory: RunDirectory,
    durability: Durability,
    *,
    is_running: Callable[[ActivityId], bool],
    tell: Callable[[str], None],
) -> None:
    """Answer everything that lies in the inbox; durable on return.

    `is_running` says whether this driver is performing an activity just now. What is no request is put aside under a
    name that nobody reads, and said: it must not keep others from being answered.
    """
    found = list(requests_in(directory.inbox))
    good = [(path, request) for path, request in found if not isinstance(request, BadRequest)]
    for path, request in found:
        if isinstance(request, BadRequest):
            tell(f"{path} is no request ({request.reason}); it is put aside as {put_aside(path, durability).name}.")
    for _, request in good:
        if request.id not in recorder.state.requests:
            recorder.record(answer(recorder.state, request, is_running), "human")
    if good:
        recorder.commit_now()
    for path, _ in good:
        remove_request(path, durability)


def _nothing_runs(activity_id: ActivityId) -> bool:
    return False


def answer(state: RunState, request: Request, is_running: Callable[[ActivityId], bool] = _nothing_runs) -> Payload:
    """The event that grants or refuses `request` in this state."""
    match request:
        case CancelRequest():
            return _cancel(state, request)
        case GateAnswer():
            return _gate(state, request)
        case Resolution():
            return _resolve(state, request, is_running)
        case _:
            assert_never(request)


def _refuse(request: Request, code: Code, reason: str) -> RequestRefused:
    kind = {CancelRequest: "cancel", GateAnswer: "gate", Resolution: "resolve"}[type(request)]
    return RequestRefused(request_id=request.id, request=kind, code=code, reason=reason)


def _cancel(state: RunState, request: CancelRequest) -> Payload:
    if state.ended is not None:
        return _refuse(request, "Over", f"The run is over ({state.ended.type}).")
    if request.node is not None:
        node = state.node(request.node.node_id, request.node.scope)
        if node is not None and node.ended_at is not None:
            return _refuse(request, "Over", f"The node {request.node.node_id} is over ({node.status}).")
    return CancelRequested(
        request_id=request.id, by=request.by, reason=request.reason, node=request.node, grace_ms=request.grace_ms
    )


def _gate(state: RunState, request: GateAnswer) -> Payload:
    wait = state.waits.get(request.wait_id)
    if wait is None:
        if request.wait_id in state.answered:
            return _refuse(request, "AlreadyAnswered", f"The gate {request.wait_id} is not open any more.")
        return _refuse(request, "NoSuchGate", f"There is no gate {request.wait_id}.")
    created = wait.created
    if created.deadline_at is not None and request.at >= created.deadline_at:
        return _refuse(request, "TooLate", "The deadline of the gate was over when it was answered.")
    if request.digest is not None and not created.digest.startswith(request.digest):
        return _refuse(request, "DigestDiffers", f"The gate asks about {created.digest}, not about {request.digest}.")
    if created.approvers and request.by not in created.approvers:
        allowed = ", ".join(created.approvers)
        return _refuse(request, "NotAllowed", f"{request.by} may not answer this gate; {allowed} may.")
    return WaitResolved(
        wait_id=request.wait_id,
        approved=request.approved,
        by=request.by,
        comment=request.comment,
        answered_at=request.at,
        request_id=request.id,
    )


_OUTCOMES: dict[str, Any] = {"done": "done", "failed": "failed", "retry": "not_done"}


def _resolve(state: RunState, request: Resolution, is_running: Callable[[ActivityId], bool]) -> Payload:
    attempt = state.in_doubt.get(ActivityId(request.activity_id)) or state.open.get(ActivityId(request.activity_id))
    if attempt is None or not attempt.is_dangling or attempt.effect is None:
        return _refuse(request, "NothingInDoubt", f"No effect of {request.activity_id} is in doubt.")
    if attempt.attempt_id != request.attempt_id:
        return _refuse(request, "NothingInDoubt", f"{request.attempt_id} is not the attempt that is in doubt.")
    if attempt.settled is None and is_running(attempt.activity_id):
        return _refuse(request, "NothingInDoubt", f"{request.activity_id} is still running; its outcome will be known.")
    return ReconcileResult(
        activity_id=attempt.activity_id,
        attempt_id=attempt.attempt_id,
        node_id=NodeId(attempt.node_id),
        idempotency_key=attempt.effect.idempotency_key,
        outcome=_OUTCOMES[request.outcome],
        reason=request.reason or "resolved by a person",
        output=request.output,
        error=_said_failed(request) if request.outcome == "failed" else None,
        by=request.by,
        retry=request.outcome == "retry",
        new_key=request.new_key,
        request_id=request.id,
    )


def _said_failed(request: Resolution) -> ErrorInfo:
    because = f": {request.reason}" if request.reason else "."
    return step_error("ResolvedAsFailed", "manual", f"{request.by} says that it failed{because}")
