"""The second seam, below `WorkflowExecutionHooks`: where one piece of work is performed.

A WorkEngine performs one draw or one executor call at a time. The one here does it in this process and its children;
another can send it elsewhere, while sampling, hooks and the log stay with the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hooks.agents.base import Agent, Generation, GenerationRequest
from hooks.agents.registry import make_agent
from hooks.definition.model import AgentDeclaration, Workflow
from hooks.executors.base import EffectCall, Executor, LookUp, Settled
from hooks.executors.registry import make_executor
from hooks.processes.ending import kill_marked
from hooks.processes.running import mask_captured
from hooks.secrets import Masker


@dataclass(frozen=True, slots=True)
class GenerateWork:
    """One draw of an agent."""

    agent: str
    request: GenerationRequest


@dataclass(frozen=True, slots=True)
class ExecuteWork:
    """One executor call."""

    executor: str
    call: EffectCall


class WorkEngine(Protocol):
    """Performs work, and learns what became of work that a driver that is gone had started."""

    async def generate(self, work: GenerateWork) -> Generation:
        """Have the agent answer. Raises AgentError."""

    async def execute(self, work: ExecuteWork) -> Settled:
        """Perform the call; a failure is an outcome."""

    async def reattach_generation(self, work: GenerateWork) -> Generation | None:
        """The answer of a draw that was started before, waited for if it still runs; None if nothing is known."""

    async def reattach_execution(self, work: ExecuteWork) -> Settled | None:
        """How a call that was started before ended, waited for if it still runs; None if nothing is known."""

    async def look_up(self, work: ExecuteWork) -> LookUp:
        """Whether a call of which nobody knows how it ended did happen."""

    async def end_leftovers(self, marker: str, grace_ms: int, directory: Path, masker: Masker | None) -> None:
        """End whatever still runs for an attempt whose outcome is not wanted any more, and mask what it has printed."""


class LocalWorkEngine:
    """Performs work here, with the workflow's own agents and executors, made when they are first used.

    `agent_for` may give another agent for a name that the workflow declares.
    """

    def __init__(
        self,
        definition: Workflow,
        workflow_directory: Path,
        agent_for: Callable[[str], Agent | None] = lambda name: None,
    ) -> None:
        self._declarations: dict[str, AgentDeclaration] = {agent.name: agent for agent in definition.agents}
        self._executor_declarations = definition.executors
        self._workflow_directory = workflow_directory
        self._agent_for = agent_for
        self._agents: dict[str, Agent] = {}
        self._executors: dict[str, Executor] = {}

    def agent(self, name: str) -> Agent:
        if name not in self._agents:
            declaration, own = self._declarations[name], self._agent_for(name)
            self._agents[name] = make_agent(declaration, self._workflow_directory, own)
        return self._agents[name]

    def executor(self, name: str) -> Executor:
        if name not in self._executors:
            self._executors[name] = make_executor(name, self._executor_declarations, self._workflow_directory)
        return self._executors[name]

    async def generate(self, work: GenerateWork) -> Generation:
        return await self.agent(work.agent).generate(work.request)

    async def execute(self, work: ExecuteWork) -> Settled:
        return await self.executor(work.executor).execute(work.call)

    async def reattach_generation(self, work: GenerateWork) -> Generation | None:
        return await self.agent(work.agent).adopt(work.request)

    async def reattach_execution(self, work: ExecuteWork) -> Settled | None:
        return await self.executor(work.executor).adopt(work.call)

    async def look_up(self, work: ExecuteWork) -> LookUp:
        return await self.executor(work.executor).look_up(work.call)

    async def end_leftovers(self, marker: str, grace_ms: int, directory: Path, masker: Masker | None) -> None:
        try:
            await kill_marked(marker, grace_ms)
        finally:
            await mask_captured(directory, masker)
