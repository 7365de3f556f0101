"""What a declaration limits holds for agents of every kind: the time of a draw, and what may be asked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agents.builders import ask, make_request, refusal
from tests.cli.command import CommandLine
from tests.processes.builders import alive, until

from hooks.agents.base import Agent, AgentError, Generation
from hooks.agents.registry import make_agent
from hooks.definition.model import CommandAgent, PythonAgent


def sleeping(tmp_path: Path) -> list[Agent]:
    (tmp_path / "agents.py").write_text(
        "import asyncio, time\nasync def later(prompt): await asyncio.sleep(600)\ndef never(prompt): time.sleep(600)\n"
    )
    words = ["sh", "-c", "trap '' TERM; sleep 600 & sleep 600"]
    return [
        make_agent(declaration, tmp_path)
        for declaration in (
            CommandAgent(name="a", argv=words, timeout_ms=200),
            PythonAgent(name="a", callable="agents.py:later", timeout_ms=200),
            PythonAgent(name="a", callable="agents.py:never", timeout_ms=200),
        )
    ]


def test_a_draw_that_takes_longer_than_the_agents_own_timeout_is_ended(tmp_path: Path) -> None:
    for agent in sleeping(tmp_path):
        request = replace(make_request(tmp_path), grace_ms=100)
        with pytest.raises(AgentError) as caught:
            asyncio.run(agent.generate(request))

        assert (caught.value.error.error_code, caught.value.error.error_class) == ("AgentTimeout", "timeout")
        assert caught.value.error.error_message == "Agent a gave no answer within its timeout of 200 ms."
        assert alive(request.marker) == []


def test_a_draw_that_is_adopted_is_ended_by_the_timeout_too(tmp_path: Path) -> None:
    request = replace(make_request(tmp_path), grace_ms=100)
    words = ["sh", "-c", "touch begun; sleep 600"]
    abandoned = make_agent(CommandAgent(name="a", argv=words), tmp_path)
    limited = make_agent(CommandAgent(name="a", argv=words, timeout_ms=200), tmp_path)

    async def scenario() -> Generation | None:
        running = asyncio.create_task(abandoned.generate(request))
        await until((tmp_path / "begun").exists)
        try:
            return await limited.adopt(request)
        finally:
            await asyncio.gather(running, return_exceptions=True)

    with pytest.raises(AgentError) as caught:
        asyncio.run(scenario())
    assert caught.value.error.error_class == "timeout"
    assert alive(request.marker) == []


def test_a_timeout_error_of_the_function_itself_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text("def slow(prompt): raise TimeoutError('the line is busy')\n")
    agent = make_agent(PythonAgent(name="a", callable="agents.py:slow", timeout_ms=60_000), tmp_path)

    assert refusal(agent, tmp_path).error.error_code == "TimeoutError"


def test_the_options_of_the_declaration_hold_where_the_request_sets_nothing_else(tmp_path: Path) -> None:
    agent = make_agent(
        CommandAgent(
            name="a",
            argv=["sh", "-c", 'echo "$@"', "a"],
            options={"t": ["-t", "{value}"], "s": ["-s", "{value}"]},
            model_options={"t": 1, "s": 2},
        ),
        tmp_path,
    )

    assert ask(agent, tmp_path).text == "-t 1 -s 2"
    assert ask(agent, tmp_path, options={"s": None, "t": 3}).text == "-t 3"


def test_an_option_that_is_not_known_is_refused_before_anything_starts(tmp_path: Path) -> None:
    for agent in sleeping(tmp_path):
        started = time.monotonic()
        assert refusal(agent, tmp_path, options={"x": 1}).error.error_code == "UnknownModelOption"
        assert time.monotonic() - started < 30


def test_a_step_is_tried_again_after_the_timeout_of_its_agent(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    (tmp_path / "agent.sh").write_text("#!/bin/sh\n[ -e once ] && exec cat\ntouch once; sleep 600\n")
    (tmp_path / "agent.sh").chmod(0o755)
    cli.write(
        "w.yaml",
        "workflow_id: w\n"
        "agents: {a: {kind: command, argv: [./agent.sh], timeout: 1s}}\n"
        "nodes: {a: {agent: a, prompt: hi, retry: {max_attempts: 2, base: 1ms}}}\n",
    )

    ended = cli.hooks("run", "w.yaml", "--grace", "100ms")

    assert ended.code == 0, ended.err
    assert ended.document == {"a": "hi"}
