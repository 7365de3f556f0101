"""The agents that come with hooks and installed ones keep the contract."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents.builders import make_request
from tests.agents.endpoint import serving
from tests.contract.agent_contract import AgentContract
from tests.definition.builders import HEAD, ONE_NODE, load
from tests.executors.distribution import MODULE, install

from hooks.agents.base import Agent
from hooks.agents.registry import make_agent
from hooks.definition.model import CommandAgent, EntryPointAgent, OpenAIAgent, PythonAgent


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


class TestOpenAIAgent(AgentContract):
    """One behind an endpoint on the loopback."""

    @pytest.fixture(autouse=True)
    def _serve(self) -> Iterator[None]:
        with serving() as self.server:
            yield

    def _agent(self, behaviour: str) -> Agent:
        return make_agent(OpenAIAgent(name="a", model="m", base_url=self.server.base_url(behaviour)), Path("/"))

    def echo(self, tmp_path: Path) -> Agent:
        return self._agent("echo")

    def failing(self, tmp_path: Path) -> list[Agent]:
        return [self._agent("status/500"), self._agent("silent"), self._agent("text")]

    def endless(self, tmp_path: Path) -> Agent:
        self.server.ready = tmp_path / "ready"
        return self._agent("hangs")


class PresetContract(AgentContract):
    """A preset, with a script in the place of its tool."""

    preset: str
    prints: str
    """What the tool prints for the answer `%s`."""

    def _agent(self, tmp_path: Path, script: str) -> Agent:
        fake = tmp_path / f"fake-{abs(hash(script))}"
        fake.write_text(f"#!/bin/sh\n{script}\n")
        fake.chmod(0o755)
        agents = f"agents: {{a: {{kind: command, preset: {self.preset}, argv: [./{fake.name}]}}}}\n"
        (declaration,) = load(HEAD + agents + ONE_NODE).agents
        return make_agent(declaration, tmp_path)

    def echo(self, tmp_path: Path) -> Agent:
        return self._agent(tmp_path, f"printf '{self.prints}\\n' \"$(cat)\"")

    def failing(self, tmp_path: Path) -> list[Agent]:
        return [self._agent(tmp_path, "exit 1"), self._agent(tmp_path, "kill -9 $$")]

    def endless(self, tmp_path: Path) -> Agent:
        return self._agent(tmp_path, "sleep 9999 & touch ready; sleep 9999")


class TestClaude(PresetContract):
    preset = "claude"
    prints = '{"type": "result", "is_error": false, "result": "%s"}'


class TestCodex(PresetContract):
    preset = "codex"
    prints = '{"type": "item.completed", "item": {"type": "agent_message", "text": "%s"}}'


class TestGemini(PresetContract):
    preset = "gemini"
    prints = '{"response": "%s"}'


class TestLlm(PresetContract):
    preset = "llm"
    prints = "%s"


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
