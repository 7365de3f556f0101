"""What the attributes of generative calls are called, and how they follow from what the log says of a call.

Names and span names are those of the OpenTelemetry semantic conventions for generative AI, version 1.41.0 (status:
Development): `chat {model}` for a call of an agent, `invoke_agent {agent}` for a step of one, `execute_tool {executor}`
for an executor at work, `invoke_workflow {workflow}` for the run.
https://github.com/open-telemetry/semantic-conventions/blob/v1.41.0/docs/gen-ai/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import orjson

from hooks.definition.model import AgentDeclaration, CommandAgent, EntryPointAgent, OpenAIAgent
from hooks.events.payloads import GenerationFinished, GenerationStarted
from hooks.telemetry.spans import Attributes

SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0"
OPERATION = "gen_ai.operation.name"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
WORKFLOW = "gen_ai.workflow.name"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL = "gen_ai.tool.call.id"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
ERROR_TYPE = "error.type"

_PROVIDERS = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini"}
"""Of command agents whose program is known, by its name."""
_WRITTEN = "cache_creation_input_tokens"
_NUMBERS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
}
_INTEGERS = {
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
}


def provider_of(agent: AgentDeclaration | None) -> str:
    """Who answers, as far as the declaration says: the conventions' own names, else the kind of agent."""
    match agent:
        case OpenAIAgent():
            return "openai"  # or whoever speaks as it does; server.address says who
        case CommandAgent(argv=argv):
            return _PROVIDERS.get(PurePath(argv[0]).name, "command")
        case EntryPointAgent(entry_point=kind):
            return kind
        case None:
            return "_OTHER"
        case _:
            return "python"


def model_of(agent: AgentDeclaration | None, options: Mapping[str, Any]) -> str | None:
    """The model that is asked for, where anything says it."""
    model = options.get("model") or getattr(agent, "model", None)
    return model if isinstance(model, str) else None


def agent_attributes(name: str, agent: AgentDeclaration | None, run_id: str) -> Attributes:
    """Who is asked, and in which conversation: that of the run, which is the session that hooks are told of."""
    attributes: Attributes = {AGENT: name, "gen_ai.provider.name": provider_of(agent), CONVERSATION: run_id}
    if (model := model_of(agent, {})) is not None:
        attributes["gen_ai.request.model"] = model
    if isinstance(agent, OpenAIAgent):
        attributes |= _server(agent.base_url)
    return attributes


def _server(url: str) -> Attributes:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return {}
    if not parts.hostname:
        return {}
    address: Attributes = {"server.address": parts.hostname}
    return address if port is None else {**address, "server.port": port}


def request_attributes(agent: AgentDeclaration | None, started: GenerationStarted, options: Any) -> Attributes:
    """What is asked for; `options` are the model options, resolved."""
    options = options if isinstance(options, dict) else {}
    attributes: Attributes = {}
    if (model := model_of(agent, options)) is not None:
        attributes["gen_ai.request.model"] = model
    for option, name in _NUMBERS.items():
        if _is_number(options.get(option)):
            attributes[name] = float(options[option])
    for option, name in _INTEGERS.items():
        if _is_number(options.get(option)):
            attributes[name] = int(options[option])
    if stop := options.get("stop"):
        attributes["gen_ai.request.stop_sequences"] = [
            str(word) for word in (stop if isinstance(stop, list) else [stop])
        ]
    if isinstance(agent, OpenAIAgent) and agent.stream:
        attributes["gen_ai.request.stream"] = True
    if started.format is not None:
        attributes["gen_ai.output.type"] = "json"
    return attributes


def response_attributes(finished: GenerationFinished) -> Attributes:
    """What came back, but for what it says."""
    attributes: Attributes = {}
    if finished.model is not None:
        attributes["gen_ai.response.model"] = finished.model
    if finished.finish_reason is not None:
        attributes["gen_ai.response.finish_reasons"] = [finished.finish_reason]
    return attributes | _usage_attributes(finished.usage or {})


def _usage_attributes(usage: Mapping[str, Any]) -> Attributes:
    """Tokens, as endpoints and CLI agents count them. Input tokens include cached ones."""
    attributes: Attributes = {}
    # Where these two are told, they are told apart from the rest.
    read, written = _first_number(usage.get("cache_read_input_tokens")), _first_number(usage.get(_WRITTEN))
    given = _first_number(usage.get("input_tokens"), usage.get("prompt_tokens"))
    if given is not None:
        attributes["gen_ai.usage.input_tokens"] = given + (read or 0) + (written or 0)
    answered = _first_number(usage.get("output_tokens"), usage.get("completion_tokens"))
    if answered is not None:
        attributes["gen_ai.usage.output_tokens"] = answered
    cached = _first_number(read, _detail(usage, "prompt_tokens_details"), _detail(usage, "input_tokens_details"))
    if cached is not None:
        attributes["gen_ai.usage.cache_read.input_tokens"] = cached
    if written is not None:
        attributes["gen_ai.usage.cache_creation.input_tokens"] = written
    return attributes


def _detail(usage: Mapping[str, Any], name: str) -> Any:
    details = usage.get(name)
    return details.get("cached_tokens") if isinstance(details, dict) else None


def _first_number(*counts: Any) -> int | None:
    return next((int(count) for count in counts if _is_number(count)), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def messages(turns: Iterable[tuple[Any, Any]], prompt: Any) -> str:
    """The conversation that is sent: prompts and answers so far, and the prompt. JSON, as spans carry it."""
    said = [message for asked, answer in turns for message in (_message("user", asked), _message("assistant", answer))]
    return orjson.dumps([*said, _message("user", prompt)]).decode()


def answer(text: Any, finish_reason: str | None) -> str:
    """The message that came back."""
    return orjson.dumps([{**_message("assistant", text), "finish_reason": finish_reason or "stop"}]).decode()


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content if isinstance(content, str) else ""}]}
