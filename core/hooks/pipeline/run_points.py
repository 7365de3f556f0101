"""The points of a run as a whole: its beginning and end, its cancels, its gates."""

from __future__ import annotations

from typing import Literal

from hooks.definition.hook_points import HookType
from hooks.pipeline.payload_base import HookPayload
from hooks.pipeline.payload_values import Error, Frozen, FrozenJson


class RunStartedPayload(HookPayload):
    """Before any node of a run starts; a block ends the run."""

    point = HookType.RUN_STARTED

    initiator: str
    """Who started the run."""
    working_directory: str
    workflow_file: str | None
    """Null for a workflow that did not come from a file."""


class RunResumedPayload(HookPayload):
    """After another driver has gone on with a run; `drivers` counts all it has had."""

    point = HookType.RUN_RESUMED

    drivers: int


class RunFinishedPayload(HookPayload):
    """After a run has ended."""

    point = HookType.RUN_FINISHED

    status: Literal["succeeded", "failed", "blocked", "cancelled"]
    failed_node: str | None
    error: Error | None
    cancel_reason: str | None
    latency_ms: int


class ActivitiesCancelledPayload(HookPayload):
    """After it is durable that these were cancelled; may be told twice."""

    point = HookType.ACTIVITIES_CANCELLED

    activity_ids: Frozen[str]
    node_ids: Frozen[str]


class WaitPayload(HookPayload):
    """What the hooks of a gate are shown; `digest` stands for exactly what is asked about."""

    wait_id: str
    stage: Literal["before", "after", "decision", "ask"]
    """Before or after the work of a step, the end of a loop, or a question of hooks."""
    prompt: FrozenJson
    subject: FrozenJson
    """What would be done."""
    digest: str


class WaitCreatedPayload(WaitPayload):
    """After a gate has opened: somebody is to answer."""

    point = HookType.WAIT_CREATED

    approvers: Frozen[str]
    deadline: str | None
    on_timeout: Literal["fail", "success"]


class WaitResolvedPayload(WaitPayload):
    """After a gate was answered, by a person or by its deadline (`timed_out`)."""

    point = HookType.WAIT_RESOLVED

    resolution: Literal["approved", "rejected"]
    timed_out: bool
    by: str | None
    comment: str | None
