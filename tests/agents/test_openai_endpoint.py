"""An agent behind an OpenAI-compatible endpoint: what is sent, what of the answer counts, how failures are told apart.

The endpoint is a server of its own on the loopback; tests/real_model has one with a model behind it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import ask, make_request, refusal
from tests.agents.endpoint import USAGE, Endpoint, completion, serving
from tests.cli.command import CommandLine
from tests.processes.builders import until

from hooks.agents.base import Agent, Generation, Message
from hooks.agents.registry import make_agent
from hooks.definition.model import OpenAIAgent
from hooks.secrets import Masker

KEY = "sk-very-secret-0123456789"


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    with serving() as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MODEL_KEY", KEY)


def endpoint_agent(server: Endpoint, behaviour: str = "echo", **more: Any) -> Agent:
    settings = {"base_url": server.base_url(behaviour), "model": "small", "api_key_env": "MODEL_KEY", **more}
    return make_agent(OpenAIAgent(name="writer", **settings), Path("/"))


ANSWER = Generation("hi ☃", model="served-1", usage=USAGE, finish_reason="stop")


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_comes_with_its_model_usage_and_finish_reason(
    server: Endpoint, tmp_path: Path, stream: bool
) -> None:
    assert ask(endpoint_agent(server, stream=stream), tmp_path, "hi ☃") == ANSWER


def test_what_is_sent(server: Endpoint, tmp_path: Path) -> None:
    agent = endpoint_agent(server, options=["top_k"], model_options={"temperature": 0.5, "seed": 1}, organization="o")
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    request = make_request(tmp_path, "now?", options={"seed": 2, "top_k": 3, "stop": None}, format=schema)
    before = [Message("user", "first"), Message("assistant", "second")]

    asyncio.run(agent.generate(replace(request, context=before)))

    asked = server.asked[-1]
    assert asked.body == {
        "model": "small",
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "second"},
            {"role": "user", "content": "now?"},
        ],
        "temperature": 0.5,
        "seed": 2,
        "top_k": 3,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": False},
        },
    }
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["idempotency-key"] == request.key
    assert asked.headers["openai-organization"] == "o"


def test_an_endpoint_without_a_key_is_sent_none_whatever_the_environment_holds(
    server: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "elsewhere")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "elsewhere")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")

    assert ask(endpoint_agent(server, api_key_env=None), tmp_path, "hi ☃") == ANSWER
    assert not {"authorization", "openai-organization", "openai-project"} & server.asked[-1].headers.keys()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "code", "error_class"),
    [
        (400, "BadRequest", "userFault"),
        (401, "Unauthorized", "userFault"),
        (403, "Forbidden", "userFault"),
        (404, "NotFound", "userFault"),
        (408, "RequestTimeout", "retryable"),
        (422, None, "userFault"),
        (429, "TooManyRequests", "retryable"),
        (500, "InternalServerError", "retryable"),
        (503, "ServiceUnavailable", "retryable"),
        (529, "HttpStatus529", "retryable"),
    ],
)
def test_a_status_says_who_can_mend_it_and_the_key_it_echoes_is_not_told(
    server: Endpoint, tmp_path: Path, status: int, code: str | None, error_class: str, stream: bool
) -> None:
    before = len(server.asked)
    error = refusal(endpoint_agent(server, f"status/{status}", stream=stream), tmp_path)

    assert (error.error.error_code, error.error.error_class) == (code or error.error.error_code, error_class)
    assert f"It said: {status} is what Bearer [secret MODEL_KEY] gets" in error.error.error_message
    assert KEY not in f"{error.error}{error.stack_trace}{error.__cause__!r}"
    assert len(server.asked) == before + 1  # the client does not try again by itself


def test_a_quota_that_is_used_up_is_not_waited_for(server: Endpoint, tmp_path: Path) -> None:
    assert refusal(endpoint_agent(server, "quota"), tmp_path).error.error_class == "userFault"


@pytest.mark.parametrize(
    ("behaviour", "stream", "code"),
    [
        ("silent", False, "ConnectionFailed"),
        ("silent", True, "ConnectionFailed"),
        ("cut", False, "ConnectionFailed"),
        ("cut-stream", True, "StreamEnded"),
        ("error-in-stream", True, "ErrorInStream"),
    ],
)
def test_a_connection_that_breaks_may_be_tried_again(
    server: Endpoint, tmp_path: Path, behaviour: str, stream: bool, code: str
) -> None:
    error = refusal(endpoint_agent(server, behaviour, stream=stream), tmp_path).error

    assert (error.error_code, error.error_class) == (code, "retryable")


def test_nobody_at_the_other_end_may_be_tried_again(tmp_path: Path, server: Endpoint) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    error = refusal(endpoint_agent(server, base_url=f"http://127.0.0.1:{port}/v1"), tmp_path).error

    assert (error.error_code, error.error_class) == ("ConnectionFailed", "retryable")
    assert f"http://127.0.0.1:{port}/v1/chat/completions: Connection refused." in error.error_message


@pytest.mark.parametrize(
    ("document", "code", "message"),
    [
        ({"choices": []}, "NoChoices", "no choice at all"),
        ({"error": {"message": "out of order"}}, "NoChoices", "out of order"),
        ([], "AnswerNotFound", "is no object"),
        (completion({"content": None, "refusal": "I will not."}), "Refused", "I will not."),
        (completion({"content": "part"}, "content_filter"), "ContentFiltered", "content filter"),
        (completion({"content": ""}, "length"), "AnswerCutOff", "max_tokens"),
        (completion({"content": None, "tool_calls": [{}]}, "tool_calls"), "ToolCallInstead", "called a tool"),
    ],
)
def test_what_holds_no_answer_is_fatal_and_says_why(
    server: Endpoint, tmp_path: Path, document: Any, code: str, message: str
) -> None:
    error = refusal(endpoint_agent(server, "document"), tmp_path, prompt=json.dumps(document)).error

    assert (error.error_code, error.error_class) == (code, "fatal")
    assert message in error.error_message


def test_an_answer_that_is_no_json_is_shown(server: Endpoint, tmp_path: Path) -> None:
    error = refusal(endpoint_agent(server, "text"), tmp_path).error

    assert (error.error_code, error.error_class) == ("AgentOutputNotJson", "fatal")
    assert "<html>not here" in error.error_message


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": "cut"}, Generation("cut", model="served-1", usage=USAGE, finish_reason="length")),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]},
            Generation("ab", model="served-1", usage=USAGE, finish_reason="length"),
        ),
    ],
)
def test_an_answer_that_was_cut_says_so(
    server: Endpoint, tmp_path: Path, message: dict[str, Any], expected: Generation
) -> None:
    document = completion(message, "length")

    assert ask(endpoint_agent(server, "document"), tmp_path, json.dumps(document)) == expected


def test_an_answer_may_lack_everything_but_itself(server: Endpoint, tmp_path: Path) -> None:
    document = {"choices": [{"message": {"content": "bare"}}]}

    assert ask(endpoint_agent(server, "document"), tmp_path, json.dumps(document)) == Generation("bare")


@pytest.mark.parametrize("value", [None, "", "  ", "a\nb", "schlüssel-123"])
def test_a_key_that_is_none_is_the_users_to_mend(
    server: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("MODEL_KEY")
    if value is not None:
        monkeypatch.setenv("MODEL_KEY", value)
    before = len(server.asked)
    error = refusal(endpoint_agent(server), tmp_path).error

    assert (error.error_code, error.error_class) == ("MissingKey", "userFault")
    assert "MODEL_KEY" in error.error_message
    assert len(server.asked) == before


def test_the_line_break_at_the_end_of_a_key_is_none_of_it(
    server: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY + "\n")

    assert ask(endpoint_agent(server), tmp_path, "hi ☃") == ANSWER


def test_keys_and_secrets_in_an_answer_are_masked(server: Endpoint, tmp_path: Path) -> None:
    masker = Masker({"TOKEN": "s3cret-value"})

    assert ask(endpoint_agent(server), tmp_path, f"s3cret-value {KEY}", masker=masker).text == (
        "[secret TOKEN] [secret MODEL_KEY]"
    )


def test_the_key_is_masked_wherever_an_endpoint_says_it_back(server: Endpoint, tmp_path: Path) -> None:
    choice = {"message": {"content": "hi"}, "finish_reason": f"f {KEY}"}
    said = {"model": f"m {KEY}", "choices": [choice], "usage": {"by": KEY, KEY: 1}}
    masked = "[secret MODEL_KEY]"

    assert ask(endpoint_agent(server, "document", api_key_env="MODEL_KEY"), tmp_path, json.dumps(said)) == Generation(
        "hi", model=f"m {masked}", usage={"by": masked, masked: 1}, finish_reason=f"f {masked}"
    )


@pytest.mark.parametrize(
    ("piece", "code"),
    [
        ('{"choices": [{"delta": {"content": "\\ud800"}, "finish_reason": "stop"}]}', "AgentOutputNotJson"),
        ('{"choices": [], "usage": {"n": 123456789012345678901234567890}}', "AgentOutputNotJson"),
        ("[1, 2]", "AnswerNotFound"),
        ('"text"', "AnswerNotFound"),
        ('{"choices": 5}', "StreamEnded"),
    ],
)
def test_a_stream_of_something_else_is_an_error_of_the_agent(
    server: Endpoint, tmp_path: Path, piece: str, code: str
) -> None:
    error = refusal(endpoint_agent(server, "events", stream=True), tmp_path, f"data: {piece}\n\n").error

    assert error.error_code == code
    assert error.error_message.startswith("Agent writer: ")


def test_an_option_that_is_not_declared_is_refused(server: Endpoint, tmp_path: Path) -> None:
    error = refusal(endpoint_agent(server), tmp_path, options={"top_k": 1}).error
    assert (error.error_code, error.error_class) == ("UnknownModelOption", "userFault")

    with_tools = replace(make_request(tmp_path), tool_calls_enabled=True)
    with pytest.raises(Exception, match="tool_calls_enabled"):
        asyncio.run(endpoint_agent(server).generate(with_tools))


@pytest.mark.parametrize("stream", [False, True])
def test_its_own_timeout_ends_the_request(server: Endpoint, tmp_path: Path, stream: bool) -> None:
    ask(endpoint_agent(server), tmp_path)  # the first prompt of a process takes its time to import the client
    server.gone.clear()
    error = refusal(endpoint_agent(server, "hangs", timeout_ms=3_000, stream=stream), tmp_path).error

    assert (error.error_code, error.error_class) == ("AgentTimeout", "timeout")
    assert server.gone.wait(20)


@pytest.mark.parametrize("stream", [False, True])
def test_a_cancelled_draw_closes_its_connection(server: Endpoint, tmp_path: Path, stream: bool) -> None:
    server.gone.clear()
    server.ready = tmp_path / "ready"

    async def scenario() -> None:
        running = asyncio.create_task(endpoint_agent(server, "hangs", stream=stream).generate(make_request(tmp_path)))
        await until((tmp_path / "ready").exists)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scenario())
    assert server.gone.wait(20)


def test_the_proxy_of_the_environment_is_used_but_not_for_what_it_leaves_out(
    server: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server stands for a proxy: what it is asked names the whole URL."""
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
    somewhere = endpoint_agent(server, base_url="http://models.invalid/echo/v1")

    assert ask(somewhere, tmp_path, "hi ☃") == ANSWER
    assert server.asked[-1].target == "http://models.invalid/echo/v1/chat/completions"

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    ask(endpoint_agent(server), tmp_path)
    assert server.asked[-1].target == "/echo/v1/chat/completions"


def test_bytes_that_are_no_text_are_the_users_to_mend(server: Endpoint, tmp_path: Path) -> None:
    error = refusal(endpoint_agent(server), tmp_path, prompt="a\udcff").error

    assert (error.error_code, error.error_class) == ("PromptNotText", "userFault")


def test_a_schema_of_true_asks_for_any_json(server: Endpoint, tmp_path: Path) -> None:
    anything: Any = True
    ask(endpoint_agent(server), tmp_path, format=anything)

    assert server.asked[-1].body["response_format"] == {"type": "json_object"}


def test_others_go_on_while_the_package_is_imported(tmp_path: Path) -> None:
    """In a process of its own, in which it has not been imported yet."""
    script = f"""
import asyncio, sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.agents.builders import make_request
from hooks.agents.base import AgentError
from hooks.agents.registry import make_agent
from hooks.definition.model import OpenAIAgent

async def main():
    agent = make_agent(OpenAIAgent(name="writer", model="m", base_url="http://127.0.0.1:1/v1"), Path("/"))
    asking = asyncio.create_task(agent.generate(make_request(Path({str(tmp_path)!r}))))
    turns = 0
    while not asking.done():
        await asyncio.sleep(0.01)
        turns += "openai.resources" not in sys.modules
    print(turns, type(asking.exception()).__name__)

asyncio.run(main())
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    turns, error = ran.stdout.split()
    assert int(turns) > 3
    assert error == "AgentError"


WORKFLOW = """\
workflow_id: w
agents: {writer: {kind: openai, base_url: BASE_URL, model: small, api_key_env: MODEL_KEY}}
nodes: {draft: {agent: writer, prompt: hi}}
"""


def test_the_key_that_an_endpoint_echoes_is_in_no_file_and_on_no_terminal(server: Endpoint, tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli.write("w.yaml", WORKFLOW.replace("BASE_URL", server.base_url("status/401")))

    ended = cli.hooks("run", "w.yaml", environment={"MODEL_KEY": KEY, "HOOKS_DEBUG": "1"})

    assert ended.code == 1
    assert "[secret MODEL_KEY]" in ended.err
    assert KEY not in ended.out + ended.err
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_a_draw_that_died_with_its_driver_is_made_again_with_the_same_key(server: Endpoint, tmp_path: Path) -> None:
    server.ready = tmp_path / "ready"
    cli = CommandLine(tmp_path)
    cli.environment["MODEL_KEY"] = KEY
    cli.write("w.yaml", WORKFLOW.replace("BASE_URL", server.base_url("hangs-once")))
    driver = cli.start("run", "w.yaml")
    while not server.ready.exists():
        time.sleep(0.01)
    driver.kill()
    driver.communicate()

    ended = cli.hooks("recover", "last")

    assert ended.code == 0, ended.err
    draws = [line["payload"] for line in cli.log_lines(cli.run_id()) if line["type"] == "generationFinished"]
    assert [(draw.get("interrupted"), draw.get("text")) for draw in draws] == [(True, None), (None, "hi")]
    keys = [asked.headers["idempotency-key"] for asked in server.asked if "/hangs-once/" in asked.target]
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_without_the_package_the_error_names_the_command(tmp_path: Path) -> None:
    """In a process of its own, in which the package cannot be imported."""
    script = f"""
import sys
sys.modules["openai"] = None
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.agents.builders import refusal
from hooks.agents.registry import make_agent
from hooks.definition.model import OpenAIAgent
agent = make_agent(OpenAIAgent(name="writer", model="m", base_url="http://127.0.0.1:1/v1"), Path("/"))
error = refusal(agent, Path({str(tmp_path)!r})).error
print(error.error_code, error.error_class, error.error_message)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout.startswith("ExtraNotInstalled userFault")
    assert "pip install 'workflow-hooks[openai]'" in ran.stdout


def test_the_package_is_imported_with_the_first_prompt_only() -> None:
    script = """
import sys
from pathlib import Path
from hooks.agents.registry import make_agent
from hooks.definition.model import OpenAIAgent
make_agent(OpenAIAgent(name="writer", model="m", base_url="http://127.0.0.1:1/v1"), Path("/"))
sys.exit("openai" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
