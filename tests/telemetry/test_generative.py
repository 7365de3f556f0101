"""The names of the conventions, from what agents declare and endpoints answer."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.definition.model import AgentDeclaration, CommandAgent, EntryPointAgent, OpenAIAgent, PythonAgent
from hooks.events.payloads import GenerationFinished, GenerationStarted
from hooks.telemetry.generative import agent_attributes, request_attributes, response_attributes
from hooks.telemetry.spans import Attributes

SMALL = OpenAIAgent(name="small", model="small-1", base_url="https://models.example:8443/v1", stream=True)


CALL: Any = {"activity_id": "a", "attempt_id": "a::att-1", "node_id": "n", "generation_id": "g", "draw": 1}


def started(**fields: Any) -> GenerationStarted:
    return GenerationStarted(**CALL, agent="small", prompt="p", **fields)


def finished(**fields: Any) -> GenerationFinished:
    return GenerationFinished(**CALL, **fields)


def test_an_endpoint_is_told_by_model_and_address() -> None:
    assert agent_attributes("small", SMALL, "run-1") == {
        "gen_ai.agent.name": "small",
        "gen_ai.provider.name": "openai",
        "gen_ai.conversation.id": "run-1",
        "gen_ai.request.model": "small-1",
        "server.address": "models.example",
        "server.port": 8443,
    }


@pytest.mark.parametrize(
    ("agent", "provider"),
    [
        (CommandAgent(name="a", argv=["/usr/bin/claude", "-p"]), "anthropic"),
        (CommandAgent(name="a", argv=["./answer.sh"]), "command"),
        (PythonAgent(name="a", callable="a:b"), "python"),
        (EntryPointAgent(name="a", entry_point="vendor"), "vendor"),
        (None, "_OTHER"),
    ],
)
def test_a_provider_is_told_as_far_as_it_is_known(agent: AgentDeclaration | None, provider: str) -> None:
    assert agent_attributes("a", agent, "r")["gen_ai.provider.name"] == provider


def test_options_have_the_types_of_the_conventions() -> None:
    options = {"model": "other", "temperature": 0, "max_tokens": 9.0, "seed": 7, "stop": "END", "top_p": True, "x": 1}

    assert request_attributes(SMALL, started(format={"type": "object"}), options) == {
        "gen_ai.request.model": "other",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.seed": 7,
        "gen_ai.request.stop_sequences": ["END"],
        "gen_ai.request.stream": True,
        "gen_ai.output.type": "json",
    }


@pytest.mark.parametrize(
    ("usage", "attributes"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2}, {"input_tokens": 3, "output_tokens": 2}),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
            {"input_tokens": 9, "cache_read.input_tokens": 4},
        ),
        (
            {"input_tokens": 1, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 300, "output_tokens": 5},
            {
                "input_tokens": 321,
                "output_tokens": 5,
                "cache_read.input_tokens": 20,
                "cache_creation.input_tokens": 300,
            },
        ),
        ({"prompt_tokens": None, "total": "many"}, {}),
        (None, {}),
    ],
)
def test_tokens_are_counted_as_the_conventions_have_it(usage: dict[str, Any] | None, attributes: Attributes) -> None:
    assert response_attributes(finished(usage=usage)) == {
        f"gen_ai.usage.{name}": count for name, count in attributes.items()
    }


def test_an_answer_is_told_by_its_model_and_why_it_ended() -> None:
    assert response_attributes(finished(model="small-1b", finish_reason="length")) == {
        "gen_ai.response.model": "small-1b",
        "gen_ai.response.finish_reasons": ["length"],
    }
