"""`WorkflowExecutionHooks` as the command line uses it: the workflow's agents and executors, through a WorkEngine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hooks.definition.model import HostExecutorNode, SubagentNode
from hooks.executors.base import EffectCall, LookUp, Settled
from hooks.runtime.execution_hooks import (
    DispatchContext,
    DispatchOutcome,
    EffectPolicy,
    Failed,
    Succeeded,
    WorkflowExecutionHooks,
)
from hooks.runtime.leftovers import tell_of_leftovers
from hooks.runtime.prepared_call import PreparedCall
from hooks.runtime.sampling_loop import sample
from hooks.runtime.work_engine import ExecuteWork, LocalWorkEngine


class LocalExecutionHooks(WorkflowExecutionHooks):
    """Agent steps go through the sampling loop, executor calls straight to their executor."""

    def __init__(self, engine: LocalWorkEngine, *, workflow_directory: Path) -> None:
        self._engine = engine
        self._workflow_directory = workflow_directory

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        return await sample(ctx, node, resolved_prompt)

    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        work = ExecuteWork(node.executor, _call(ctx, node, parsed_input))
        return _outcome(ctx, await self._engine.execute(work))

    async def adopt_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome | None:
        if ctx.leftover != "trusted":
            return None
        settled = await self._engine.reattach_execution(ExecuteWork(node.executor, _call(ctx, node, parsed_input)))
        return None if settled is None else _outcome(ctx, settled)

    def prepare_in(self, working_directory: Path, executor_name: str, resolved_input: Any) -> PreparedCall:
        prepared = self._engine.executor(executor_name).prepare(
            resolved_input, working_directory=working_directory, workflow_directory=self._workflow_directory
        )
        return PreparedCall(
            prepared.canonical_input, prepared.canonical_input, prepared.provider, prepared.idempotency_ttl_ms
        )

    def effect_policy(self, node: HostExecutorNode, canonical_input: Any, timeout_ms: int | None) -> EffectPolicy:
        executor = self._engine.executor(node.executor)
        return EffectPolicy(
            can_look_up=executor.can_look_up(canonical_input),
            is_idempotent=executor.is_idempotent(canonical_input),
            settle_ms=executor.settle_ms(canonical_input, timeout_ms),
            may_retry=executor.may_retry(canonical_input),
        )

    async def look_up_effect(self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any) -> LookUp:
        return await self._engine.look_up(ExecuteWork(node.executor, _call(ctx, node, parsed_input)))


def _call(ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any) -> EffectCall:
    return EffectCall(
        input=parsed_input,
        directory=ctx.directory,
        working_directory=ctx.working_directory,
        workflow_directory=ctx.workflow_directory,
        marker=ctx.marker,
        key=ctx.idempotency_key,
        grace_ms=ctx.grace_ms,
        max_output_bytes=node.max_output_bytes,
        environment=ctx.environment,
        hidden=ctx.hidden,
        masker=ctx.masker,
        on_kill=ctx.on_kill,
    )


def _outcome(ctx: DispatchContext, settled: Settled) -> DispatchOutcome:
    """What a call comes to; what it left behind is told."""
    tell_of_leftovers(ctx, settled.leaked)
    error = settled.error
    if settled.outcome == "done" and error is None:
        return Succeeded(settled.output)
    if error is None:
        return Failed("OutcomeUnknown", "manual", "Nothing is known of how this ended.", settled.outcome)
    return Failed(error.error_code, error.error_class, error.error_message, settled.outcome, output=settled.output)
