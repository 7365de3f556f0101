"""The openai agent against a real model: asserted are forms, not wit."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.agents.builders import ask, make_request, refusal
from tests.processes.builders import until
from tests.real_model.conftest import start_server

from hooks.agents.base import Agent, AgentError, Message
from hooks.agents.registry import make_agent
from hooks.definition.model import OpenAIAgent

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def writer(base_url: str, **more: Any) -> Agent:
    settings = {"model": "smollm2", "model_options": {"max_tokens": 12, "temperature": 0.8}, **more}
    return make_agent(OpenAIAgent(name="writer", base_url=base_url, **settings), Path("/"))


def test_the_answer_comes_with_its_model_usage_and_finish_reason(model_url: str, tmp_path: Path) -> None:
    answer = ask(writer(model_url), tmp_path, "Say hello.")

    assert answer.text
    assert answer.model == "smollm2"
    assert answer.finish_reason in ("stop", "length")
    assert answer.usage is not None
    assert answer.usage["completion_tokens"] <= 12
    assert answer.usage["total_tokens"] == answer.usage["prompt_tokens"] + answer.usage["completion_tokens"]


def test_the_same_seed_gives_the_same_text_streamed_or_not(model_url: str, tmp_path: Path) -> None:
    answers = [
        ask(writer(model_url, stream=stream), tmp_path, "Tell me a story.", options={"seed": seed})
        for stream, seed in [(False, 7), (False, 7), (True, 7), (False, 8)]
    ]

    assert answers[0] == answers[1] == answers[2]
    assert answers[3].text != answers[0].text


def test_an_answer_that_is_cut_off_says_so(model_url: str, tmp_path: Path) -> None:
    answer = ask(writer(model_url), tmp_path, "Count from one to a thousand.", options={"max_tokens": 3})

    assert answer.finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage["completion_tokens"] == 3


@pytest.mark.parametrize("stream", [False, True])
def test_a_format_makes_the_answer_json_of_that_form(model_url: str, tmp_path: Path, stream: bool) -> None:
    answer = ask(
        writer(model_url, stream=stream),
        tmp_path,
        "Invent a person. Answer in JSON.",
        options={"max_tokens": 120, "seed": 1},
        format=SCHEMA,
    )

    value = json.loads(answer.text)
    assert value.keys() == {"name", "age"}
    assert isinstance(value["name"], str)
    assert isinstance(value["age"], int)


def test_the_turns_before_the_prompt_are_part_of_what_it_reads(model_url: str, tmp_path: Path) -> None:
    alone = make_request(tmp_path, "And then?")
    before = replace(
        alone, context=[Message("user", "A fox met a crow."), Message("assistant", "The crow had cheese.")]
    )

    answers = [asyncio.run(writer(model_url).generate(request)) for request in (alone, before)]
    usages = [answer.usage or {} for answer in answers]
    assert usages[0]["prompt_tokens"] < usages[1]["prompt_tokens"]


@pytest.mark.parametrize(
    ("options", "path", "code"),
    [
        ({"max_tokens": "many"}, "", "BadRequest"),
        ({"seed": 1}, "/nowhere", "NotFound"),
    ],
)
def test_a_request_that_is_wrong_is_the_users_to_mend(
    model_url: str, tmp_path: Path, options: dict[str, Any], path: str, code: str
) -> None:
    error = refusal(writer(model_url + path), tmp_path, options=options).error

    assert (error.error_code, error.error_class) == (code, "userFault")


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_is_killed_while_it_answers_may_be_tried_again(
    model_file: Path, tmp_path: Path, stream: bool
) -> None:
    (tmp_path / "users").mkdir()
    (tmp_path / "users" / str(os.getpid())).touch()
    start_server(model_file, tmp_path)
    url = (tmp_path / "url").read_text()
    agent = writer(f"{url}/v1", stream=stream, model_options={"max_tokens": 4000})

    async def scenario() -> None:
        request = make_request(tmp_path, "Count from one to a thousand, in words.")
        asking = asyncio.create_task(agent.generate(request))
        await until(lambda: httpx.get(f"{url}/slots", trust_env=False).json()[0]["is_processing"])
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        with pytest.raises(AgentError) as caught:
            await asking
        assert (caught.value.error.error_code, caught.value.error.error_class) == ("ConnectionFailed", "retryable")

    asyncio.run(scenario())
