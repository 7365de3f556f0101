"""Payloads about a run itself, its gates and its cancels as JSON, each function named like its point. Pure.

`ordinal` counts the dispatches of the point in the run, from 1; it makes the request id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hooks.definition.hook_points import HookType
from hooks.events.payloads import (
    ErrorInfo,
    RunCancelled,
    RunSucceeded,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.kernel.state import RunEnding, WaitState
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.payload_parts import RunOccasion, error_value, iso_time, run_fields

_STATUS = {"runSucceeded": "succeeded", "runFailed": "failed", "runBlocked": "blocked", "runCancelled": "cancelled"}


def run_started(occasion: RunOccasion, *, ordinal: int = 1) -> PayloadDocument:
    """Before any node of the run starts."""
    state = occasion.state
    assert state.created is not None
    return {
        **run_fields(occasion, HookType.RUN_STARTED, state.created_at, ordinal=ordinal),
        "initiator": state.created.initiator,
        "working_directory": state.created.working_directory,
        "workflow_file": state.created.workflow_file,
    }


def run_resumed(occasion: RunOccasion, at: int, *, ordinal: int = 1) -> PayloadDocument:
    """After another driver has gone on with the run at `at` (ms)."""
    return {
        **run_fields(occasion, HookType.RUN_RESUMED, at, ordinal=ordinal),
        "drivers": len(occasion.state.sessions),
    }


def run_finished(occasion: RunOccasion, event: RunEnding, at: int, *, ordinal: int = 1) -> PayloadDocument:
    """After the run has ended as `event`, recorded at `at` (ms), says."""
    error: ErrorInfo | None = None
    failed_node: str | None = None
    if not isinstance(event, RunSucceeded | RunCancelled):
        error, failed_node = event.error, event.node_id
    return {
        **run_fields(occasion, HookType.RUN_FINISHED, at, ordinal=ordinal),
        "status": _STATUS[event.type],
        "failed_node": failed_node,
        "error": None if error is None else error_value(error, occasion.resolve),
        "cancel_reason": event.reason if isinstance(event, RunCancelled) else None,
        "latency_ms": at - (occasion.state.started_at or at),
    }


def activities_cancelled(
    occasion: RunOccasion, activity_ids: Sequence[str], node_ids: Sequence[str], at: int, *, ordinal: int = 1
) -> PayloadDocument:
    """After it is durable that these were cancelled."""
    return {
        **run_fields(occasion, HookType.ACTIVITIES_CANCELLED, at, ordinal=ordinal),
        "activity_ids": list(activity_ids),
        "node_ids": list(node_ids),
    }


def wait_created(occasion: RunOccasion, event: WaitCreated, at: int, *, ordinal: int = 1) -> PayloadDocument:
    """After a gate has opened at `at` (ms)."""
    deadline = event.deadline_at
    return {
        **run_fields(occasion, HookType.WAIT_CREATED, at, ordinal=ordinal),
        **_wait_fields(occasion, event),
        "approvers": list(event.approvers),
        "deadline": None if deadline is None else iso_time(deadline),
        "on_timeout": event.on_timeout,
    }


def wait_resolved(
    occasion: RunOccasion, wait: WaitState, event: WaitResolved | WaitDeadlineExceeded, at: int, *, ordinal: int = 1
) -> PayloadDocument:
    """After the gate `wait` was answered, or its deadline has answered it, as `event`, recorded at `at` (ms), says."""
    is_answered = isinstance(event, WaitResolved)
    resolution: Literal["approved", "rejected"] = "approved" if event.approved else "rejected"
    return {
        **run_fields(occasion, HookType.WAIT_RESOLVED, at, ordinal=ordinal),
        **_wait_fields(occasion, wait.created),
        "resolution": resolution,
        "timed_out": not is_answered,
        "by": event.by if isinstance(event, WaitResolved) else None,
        "comment": event.comment if isinstance(event, WaitResolved) else None,
    }


def _wait_fields(occasion: RunOccasion, created: WaitCreated) -> dict[str, Json]:
    iteration = occasion.state.scopes[created.scope].iteration if created.scope in occasion.state.scopes else 0
    return {
        # Empty where a policy asked about the run itself.
        "node_id": created.node_id or None,
        "activity_id": created.activity_id,
        "loop_iteration": iteration or None,
        "wait_id": created.wait_id,
        "stage": created.stage,
        "prompt": occasion.resolve(created.prompt),
        "subject": occasion.resolve(created.subject),
        "digest": created.digest,
    }
