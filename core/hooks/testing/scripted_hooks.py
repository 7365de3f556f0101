"""An implementation of `WorkflowExecutionHooks` whose agents and executors answer from scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hooks.agents.base import Agent
from hooks.definition.model import HostExecutorNode, SubagentNode
from hooks.runtime.execution_hooks import (
    Cancelled,
    DispatchContext,
    DispatchOutcome,
    Failed,
    Succeeded,
    WorkflowExecutionHooks,
)
from hooks.runtime.sampling_loop import sample


@dataclass(frozen=True, slots=True)
class ExecutorCall:
    """What an executor was asked to do."""

    node_id: str
    input: Any
    idempotency_key: str


Outcome: TypeAlias = Any
"""An output (any JSON value), a Succeeded or Failed, or an exception, which is raised."""

Script: TypeAlias = Sequence[Outcome] | Mapping[str, Outcome] | Callable[[ExecutorCall], Outcome]


class ScriptedExecutor:
    """Answers in order, by node id, or as a function of the call; `calls` is what it was asked to do."""

    def __init__(self, script: Script) -> None:
        self.calls: list[ExecutorCall] = []
        self._script = script

    def perform(self, call: ExecutorCall) -> DispatchOutcome:
        """The outcome the script has for this call; without one a Failed that says so."""
        self.calls.append(call)
        outcome = self._outcome(call)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome if isinstance(outcome, Succeeded | Failed | Cancelled) else Succeeded(outcome)

    def _outcome(self, call: ExecutorCall) -> Outcome:
        match self._script:
            case Mapping() as by_node:
                return by_node[call.node_id] if call.node_id in by_node else _exhausted(call)
            case Sequence() as in_order:
                return in_order[len(self.calls) - 1] if len(self.calls) <= len(in_order) else _exhausted(call)
            case outcome:
                return outcome(call)


class ScriptedHooks(WorkflowExecutionHooks):
    """Agent steps go through the sampling loop, in which `agents` answer by their names; executor calls go to
    `executors` by theirs.

    An agent without a script is the one that the workflow declares; an executor without one fails the step. `cancelled`
    has what the runtime told of cancels: activity ids and node ids.
    """

    def __init__(
        self, agents: Mapping[str, Agent] | None = None, executors: Mapping[str, ScriptedExecutor] | None = None
    ) -> None:
        self.cancelled: list[tuple[list[str], list[str]]] = []
        self._agents = agents or {}
        self._executors = executors or {}

    def agent_for(self, name: str) -> Agent | None:
        return self._agents.get(name)

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        return await sample(ctx, node, resolved_prompt)

    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        call = ExecutorCall(node.id, parsed_input, ctx.idempotency_key)
        executor = self._executors.get(node.executor)
        return _exhausted(call, node.executor) if executor is None else executor.perform(call)

    async def on_activities_cancelled(self, activity_ids: Sequence[str], node_ids: Sequence[str], run_id: str) -> None:
        self.cancelled.append((list(activity_ids), list(node_ids)))


def _exhausted(call: ExecutorCall, executor: str = "this executor") -> Failed:
    message = f"There is no script for {executor} at node {call.node_id}."
    return Failed("ScriptExhausted", "fatal", message, "not_done")
