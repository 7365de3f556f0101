"""A runtime of hooks whose work is done by the workers of a job queue.

The idempotency key of a piece of work is the key of its job. So a driver that comes after one that was killed finds the
job that was submitted, and an effect is done once: what became of it is asked of the queue, never tried again blindly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from jobs import Job, JobQueue

from hooks import (
    DispatchContext,
    DispatchOutcome,
    EffectLog,
    Failed,
    HostExecutorNode,
    PreparedCall,
    RecoveryResult,
    RunState,
    SubagentNode,
    Succeeded,
    WorkflowExecutionHooks,
)

PROVIDER = "job-queue"
REMEMBERS_MS = 7 * 24 * 3_600_000
"""How long the queue keeps jobs that are over."""
_POLL_S = 0.02


class JobQueueHooks(WorkflowExecutionHooks):
    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        return _outcome(await self._done(ctx, "prompt", resolved_prompt))

    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        return _outcome(await self._done(ctx, node.executor, parsed_input))

    def prepare_host_executor(self, executor_name: str, resolved_input: Any) -> PreparedCall:
        if executor_name != "mail":
            raise ValueError(f"No worker does {executor_name!r}; they do mail.")
        if set(resolved_input) != {"to", "text"}:
            raise ValueError(f"mail takes `to` and `text`, not {', '.join(sorted(resolved_input)) or 'nothing'}.")
        canonical = {"text": str(resolved_input["text"]), "to": str(resolved_input["to"]).strip().lower()}
        return PreparedCall(canonical, canonical, PROVIDER, REMEMBERS_MS)

    async def recover_dangling_effects(self, log: EffectLog, snapshot: RunState) -> RecoveryResult:
        """What the queue knows of mail that was to be sent when the driver died, or was cancelled."""
        settled = unsettled = False
        for effect in log.dangling:
            job = self._queue.find(effect.idempotency_key)
            if job is None or job.state == "revoked":
                log.absent(effect)
            elif job.state == "done":
                log.done(effect, job.result, evidence={"job": job.key})
            elif job.state == "failed":
                log.failed(effect, "JobFailed", str(job.result))
            else:
                unsettled = True
                continue
            settled = True
        return RecoveryResult(had_progress=settled, has_remaining_dangling=unsettled)

    async def end_leftovers(self, ctx: DispatchContext, node: SubagentNode | HostExecutorNode) -> None:
        self._queue.revoke(ctx.idempotency_key)

    async def on_activities_cancelled(self, activity_ids: Sequence[str], node_ids: Sequence[str], run_id: str) -> None:
        self._queue.revoke_activities(activity_ids)

    async def _done(self, ctx: DispatchContext, kind: str, payload: Any) -> Job:
        """Submit the job, or find the one that was submitted; wait for its end."""
        self._queue.submit(ctx.idempotency_key, ctx.activity_id, kind, payload)
        try:
            return await self._over(ctx.idempotency_key)
        except asyncio.CancelledError:
            self._queue.revoke(ctx.idempotency_key)
            async with asyncio.timeout(ctx.grace_ms / 1000):
                await self._over(ctx.idempotency_key)  # a worker has it already: let it finish
            raise

    async def _over(self, key: str) -> Job:
        while True:
            job = self._queue.find(key)
            if job is not None and job.is_over:
                return job
            await asyncio.sleep(_POLL_S)


def _outcome(job: Job) -> DispatchOutcome:
    if job.state == "done":
        return Succeeded(job.result)
    if job.state == "failed":
        return Failed("JobFailed", "fatal", str(job.result), "failed")
    return Failed("JobRevoked", "retryable", "The job was revoked before a worker took it.", "not_done")
