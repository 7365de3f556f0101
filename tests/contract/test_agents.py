"""The agents that come with hooks and installed ones keep the contract."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from tests.agents.builders import make_request
from tests.contract.agent_contract import AgentContract
from tests.executors.distribution import MODULE, install

from hooks.agents.base import Agent
from hooks.agents.registry import make_agent
from hooks.definition.model import CommandAgent, EntryPointAgent, PythonAgent


class TestCommandAgent(AgentContract):
    def _agent(self, *argv: str) -> Agent:
        return make_agent(CommandAgent(name="a", argv=list(argv)), Path("/"))

    def echo(self, tmp_path: Path) -> Agent:
        return self._agent("cat")

    def failing(self, tmp_path: Path) -> list[Agent]:
        return [self._agent("false"), self._agent("no-such-program"), self._agent("sh", "-c", "kill -9 $$")]

    def endless(self, tmp_path: Path) -> Agent:
        return self._agent("sh", "-c", "sleep 9999 & touch ready; sleep 9999")

    def test_a_finished_draw_can_be_read_again_by_whoever_comes_next(self, tmp_path: Path) -> None:
        agent, request = self.echo(tmp_path), make_request(tmp_path, "hi")

        assert asyncio.run(agent.generate(request)) == asyncio.run(agent.adopt(request))


class TestPythonAgent(AgentContract):
    def _agent(self, tmp_path: Path, function: str) -> Agent:
        (tmp_path / "agents.py").write_text(
            "import asyncio, pathlib\n"
            "def echo(prompt): return prompt\n"
            "def fails(prompt): raise ValueError(prompt)\n"
            f"async def forever(prompt):\n  pathlib.Path({str(tmp_path)!r}, 'ready').touch()\n"
            "  await asyncio.Event().wait()\n"
        )
        return make_agent(PythonAgent(name="a", callable=f"agents.py:{function}"), tmp_path)

    def echo(self, tmp_path: Path) -> Agent:
        return self._agent(tmp_path, "echo")

    def failing(self, tmp_path: Path) -> list[Agent]:
        return [self._agent(tmp_path, "fails"), self._agent(tmp_path, "missing")]

    def endless(self, tmp_path: Path) -> Agent:
        return self._agent(tmp_path, "forever")


class TestInstalledAgent(AgentContract):
    """One whose kind another distribution registers."""

    @pytest.fixture(autouse=True)
    def _install(self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
        site = tmp_path_factory.mktemp("site")
        install(site)
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, MODULE, raising=False)

    def _agent(self, mark: str) -> Agent:
        return make_agent(EntryPointAgent(name="a", entry_point="repeating", settings={"mark": mark}), Path("/"))

    def echo(self, tmp_path: Path) -> Agent:
        return self._agent("")

    def failing(self, tmp_path: Path) -> list[Agent]:
        return [self._agent("fail")]

    def endless(self, tmp_path: Path) -> Agent:
        return self._agent("wait")
