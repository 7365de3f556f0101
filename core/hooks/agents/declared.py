"""What holds for a declared agent of whatever kind: its own timeout, its own model options, what it is not asked.

The kinds know how to ask; this is the one place where the declaration's limits are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import TypeVar

from hooks.agents.base import Agent, AgentError, Generation, GenerationRequest, agent_error
from hooks.definition.model import TOOLS_OPTION, AgentDeclaration, CommandAgent, OpenAIAgent

_T = TypeVar("_T")


class DeclaredAgent:
    """An agent within the limits of its declaration."""

    def __init__(
        self, declaration: AgentDeclaration, agent: Agent, *, also_honours: frozenset[str] = frozenset()
    ) -> None:
        self._declaration = declaration
        self._agent = agent
        self._also_honours = also_honours

    @property
    def honoured_options(self) -> frozenset[str]:
        return self._agent.honoured_options | self._also_honours

    async def generate(self, request: GenerationRequest) -> Generation:
        self._refuse_unknown(request)
        return await self._in_time(self._agent.generate(self._with_own_options(request)))

    async def adopt(self, request: GenerationRequest) -> Generation | None:
        """What is left of the timeout is not known here: a draw that goes on gets all of it again."""
        return await self._in_time(self._agent.adopt(self._with_own_options(request)))

    def _with_own_options(self, request: GenerationRequest) -> GenerationRequest:
        declaration = self._declaration
        if not isinstance(declaration, CommandAgent | OpenAIAgent) or not declaration.model_options:
            return request
        return replace(request, model_options={**declaration.model_options, **request.model_options})

    def _refuse_unknown(self, request: GenerationRequest) -> None:
        known = self.honoured_options
        if unknown := sorted(set(request.model_options) - known):
            raise self._refusal(unknown[0], known)
        if request.tool_calls_enabled and not self._declaration.knows_tools:
            raise self._refusal(TOOLS_OPTION, known)

    def _refusal(self, option: str, known: frozenset[str]) -> AgentError:
        return agent_error(
            "UnknownModelOption",
            "userFault",
            f"Agent {self._declaration.name} does not know the option {option!r} "
            f"(it knows: {', '.join(sorted(known)) or 'none'}). Declare it with the agent, or leave it out.",
        )

    async def _in_time(self, work: Coroutine[None, None, _T]) -> _T:
        timeout_ms = self._declaration.timeout_ms
        if timeout_ms is None:
            return await work
        limit = asyncio.timeout(timeout_ms / 1000)
        try:
            async with limit:
                return await work
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"Agent {self._declaration.name} gave no answer within its timeout of {timeout_ms} ms."
            raise agent_error("AgentTimeout", "timeout", message) from error
