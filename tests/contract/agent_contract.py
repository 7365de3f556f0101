"""What every agent owes the runtime. A test class per agent inherits it and gives the samples."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from pathlib import Path

import pytest
from tests.agents.builders import make_request
from tests.processes.builders import alive, until

from hooks import jsonio
from hooks.agents.base import Agent, AgentError, Generation, GenerationRequest


class AgentContract(ABC):
    @abstractmethod
    def echo(self, tmp_path: Path) -> Agent:
        """Answers with the prompt."""

    @abstractmethod
    def failing(self, tmp_path: Path) -> list[Agent]:
        """Agents that give no answer."""

    @abstractmethod
    def endless(self, tmp_path: Path) -> Agent:
        """Makes the file `ready` in its working directory and would go on for ever."""

    def test_the_answer_is_text(self, tmp_path: Path) -> None:
        agent = self.echo(tmp_path)

        assert asyncio.run(agent.generate(make_request(tmp_path, "hi ☃"))).text == "hi ☃"
        assert isinstance(agent.honoured_options, frozenset)

    def test_the_same_request_may_be_asked_again(self, tmp_path: Path) -> None:
        request = make_request(tmp_path, "hi")

        answers = [asyncio.run(self.echo(tmp_path).generate(request)) for _ in range(2)]
        assert answers[0] == answers[1]

    def test_no_answer_is_an_agent_error_that_says_why(self, tmp_path: Path) -> None:
        for agent in self.failing(tmp_path):
            with pytest.raises(AgentError) as caught:
                asyncio.run(agent.generate(make_request(tmp_path)))
            assert caught.value.error.error_message
            assert isinstance(caught.value.stack_trace, str)
            jsonio.check(caught.value.error.details)

    def test_a_cancelled_draw_leaves_no_process(self, tmp_path: Path) -> None:
        request = make_request(tmp_path)

        async def scenario() -> None:
            running = asyncio.create_task(self.endless(tmp_path).generate(request))
            await until((tmp_path / "ready").exists)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        asyncio.run(scenario())
        assert alive(request.marker) == []

    def test_adopting_what_never_ran_starts_nothing(self, tmp_path: Path) -> None:
        agent, request = self.endless(tmp_path), make_request(tmp_path)

        assert asyncio.run(self._adopt(agent, request)) is None
        assert list(request.directory.iterdir()) == []
        assert not (tmp_path / "ready").exists()

    async def _adopt(self, agent: Agent, request: GenerationRequest) -> Generation | None:
        async with asyncio.timeout(20):
            return await agent.adopt(request)
