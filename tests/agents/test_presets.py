# ruff: noqa: E501  (a document that a tool prints is one line)
"""Command-line agents as presets: what each is sent, what of its documents counts, and who can mend its failures.

The tools are stood in for by scripts that print what the tools print.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agents.builders import ask, make_request, refusal
from tests.definition.builders import HEAD, ONE_NODE, load
from tests.processes.builders import alive

from hooks.agents.base import Agent, AgentError, Generation, Message
from hooks.agents.registry import make_agent

CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "hi",
    "session_id": "s",
    "total_cost_usd": 0.01,
    "usage": {"input_tokens": 3, "output_tokens": 2},
    "modelUsage": {"claude-x": {"inputTokens": 3}},
}
CODEX = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "0", "type": "reasoning", "text": "let me think"}},
    {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "working on it"}},
    {"type": "item.completed", "item": {"id": "2", "type": "command_execution", "text": "ls"}},
    {"type": "item.completed", "item": {"id": "3", "type": "agent_message", "text": "hi"}},
    {"type": "turn.completed", "usage": {"input_tokens": 3, "cached_input_tokens": 0, "output_tokens": 2}},
]
GEMINI = {"session_id": "s", "response": "hi", "stats": {"models": {"gemini-x": {"tokens": {"total": 5}}}}}


def lines(*events: object) -> str:
    return "\n".join(json.dumps(event) for event in events)


def preset(tmp_path: Path, name: str, stdout: str = "", stderr: str = "", code: int = 0, more: str = "") -> Agent:
    """The preset with a script as its program; it leaves its arguments and what came on stdin in `asked`."""
    (tmp_path / "stdout").write_text(stdout)
    (tmp_path / "stderr").write_text(stderr)
    return scripted(tmp_path, name, f'cat "$D/stdout"; cat "$D/stderr" >&2; exit {code}', more)


def scripted(tmp_path: Path, name: str, script: str, more: str = "") -> Agent:
    fake = tmp_path / "fake"
    fake.write_text(
        f'#!/bin/sh\nD={tmp_path}\nprintf "<%s>" "$@" > "$D/asked"; echo >> "$D/asked"; cat >> "$D/asked"\n{script}\n'
    )
    fake.chmod(0o755)
    text = f"{HEAD}agents: {{a: {{kind: command, preset: {name}, argv: [./fake]{more}}}}}\n{ONE_NODE}"
    (declaration,) = load(text).agents
    return make_agent(declaration, tmp_path)


@pytest.mark.parametrize(
    ("name", "stdout", "expected"),
    [
        (
            "claude",
            json.dumps(CLAUDE),
            Generation("hi", model="claude-x", usage={"input_tokens": 3, "output_tokens": 2, "total_cost_usd": 0.01}),
        ),
        (
            "codex",
            "WARNING: proceeding\n" + lines(*CODEX),
            Generation("hi", usage={"input_tokens": 3, "cached_input_tokens": 0, "output_tokens": 2}),
        ),
        ("gemini", json.dumps(GEMINI), Generation("hi", model="gemini-x", usage=GEMINI["stats"])),  # type: ignore[arg-type]
        ("llm", "hi\n", Generation("hi")),
    ],
)
def test_the_answer_is_taken_out_of_what_the_tool_prints(
    tmp_path: Path, name: str, stdout: str, expected: Generation
) -> None:
    assert ask(preset(tmp_path, name, stdout), tmp_path) == expected


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("claude", "<-p><--output-format><json><--model><big>"),
        ("codex", "<exec><--json><--skip-git-repo-check><-><--model><big>"),
        ("gemini", "<--output-format><json><--model><big>"),
        ("llm", "<prompt><--no-stream><--model><big>"),
    ],
)
def test_the_prompt_goes_in_on_stdin_and_the_model_as_an_argument(tmp_path: Path, name: str, arguments: str) -> None:
    agent = preset(tmp_path, name, {"claude": json.dumps(CLAUDE), "codex": lines(*CODEX)}.get(name, json.dumps(GEMINI)))

    ask(agent, tmp_path, "line\n$(x) ☃", options={"model": "big"})
    assert (tmp_path / "asked").read_text() == f"{arguments}\nline\n$(x) ☃"


def test_the_model_of_the_declaration_holds_where_a_step_names_none(tmp_path: Path) -> None:
    agent = preset(tmp_path, "llm", "hi", more=", model: small, model_options: {seed: 1}")

    assert ask(agent, tmp_path, "x") == Generation("hi", model="small")
    assert (tmp_path / "asked").read_text() == "<prompt><--no-stream><--model><small><--option><seed><1>\nx"
    assert ask(agent, tmp_path, "x", options={"model": "big", "seed": None}) == Generation("hi", model="big")
    assert (tmp_path / "asked").read_text() == "<prompt><--no-stream><--model><big>\nx"


def test_a_conversation_is_told_as_one_text(tmp_path: Path) -> None:
    agent = preset(tmp_path, "llm", "hi")
    said = (Message("user", "one"), Message("assistant", "two"))

    asyncio.run(agent.generate(replace(make_request(tmp_path, "three"), context=said)))
    assert (tmp_path / "asked").read_text() == (
        "<prompt><--no-stream>\n"
        "The conversation so far:\n\n[user]\none\n\n[assistant]\ntwo\n\nAnswer what comes next:\n\n[user]\nthree"
    )


def test_tools_are_allowed_where_the_declaration_knows_of_them(tmp_path: Path) -> None:
    allowed = replace(make_request(tmp_path), tool_calls_enabled=True)

    answer = asyncio.run(preset(tmp_path, "claude", json.dumps(CLAUDE)).generate(allowed))
    assert answer.text == "hi"
    without = preset(tmp_path, "claude", json.dumps(CLAUDE), more=", tools: false")
    with pytest.raises(AgentError, match="does not know the option 'tool_calls_enabled'"):
        asyncio.run(without.generate(allowed))
    declared = preset(tmp_path, "llm", "hi", more=", options: {tool_calls_enabled: [--tool, llm_time]}")
    asyncio.run(declared.generate(allowed))
    assert "<--tool><llm_time>" in (tmp_path / "asked").read_text()


def failed_claude(result: str | None, **more: object) -> str:
    document = {**CLAUDE, "is_error": True, "result": result, **more}
    return json.dumps({key: value for key, value in document.items() if value is not None})


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    ("name", "stdout", "error_class", "message"),
    [
        ("claude", failed_claude('API Error: 429 {"type":"error","error":{"type":"rate_limit_error"}}'), "retryable", "429"),
        ("claude", failed_claude("API Error (529 {…overloaded_error…})"), "retryable", "529"),
        ("claude", failed_claude("Claude AI usage limit reached|1753088400"), "retryable", "usage limit"),
        ("claude", failed_claude("API Error: Connection error."), "retryable", "Connection error"),
        ("claude", failed_claude("Invalid API key · Please run /login"), "userFault", "Invalid API key"),
        ("claude", failed_claude('API Error: 404 {"type":"not_found_error","message":"model: x"}'), "userFault", "404"),
        ("claude", failed_claude("There's an issue with the selected model (x)."), "userFault", "selected model"),
        ("claude", failed_claude("Credit balance is too low"), "userFault", "Credit balance"),
        ("claude", failed_claude("Something else"), "fatal", "Something else"),
        ("claude", failed_claude(None, subtype="error_during_execution"), "fatal", "error_during_execution"),
        ("claude", failed_claude(None, subtype="error_max_turns", is_error=False), "fatal", "error_max_turns"),
        ("codex", lines(*CODEX[:4], {"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}), "userFault", "401"),
        ("codex", lines(CODEX[0], {"type": "error", "message": "stream disconnected before completion"}), "retryable", "stream disconnected"),
        ("codex", lines(CODEX[0], {"type": "error", "message": "the model x does not exist"}, {"type": "turn.failed", "error": {"message": "the model x does not exist"}}), "userFault", "does not exist"),
        ("codex", lines(*CODEX[:4], {"type": "turn.failed", "error": {"message": "odd"}}), "fatal", "odd"),
        ("gemini", json.dumps({"error": {"type": "ApiError", "message": "odd", "code": 503}}), "retryable", "odd"),
        ("gemini", json.dumps({"error": {"type": "Error", "message": "Please set an Auth method", "code": 41}}), "userFault", "Auth method"),
        ("gemini", json.dumps({"error": {"type": "Error", "message": "odd", "code": 1}}), "fatal", "odd"),
    ],
)  # fmt: skip
def test_an_error_document_is_an_error_of_its_class(
    tmp_path: Path, name: str, stdout: str, code: int, error_class: str, message: str
) -> None:
    error = refusal(preset(tmp_path, name, stdout, code=code), tmp_path).error

    assert (error.error_code, error.error_class) == ("AgentFailed", error_class)
    assert message in error.error_message


@pytest.mark.parametrize(
    ("name", "stderr", "code", "error_class"),
    [
        ("llm", "Error: Error code: 401 - {'error': {'message': 'Incorrect API key provided'}}\n", 1, "userFault"),
        ("llm", "Error: No key found - add one using 'llm keys set openai'\n", 1, "userFault"),
        ("llm", "Error: 'Unknown model: x'\n", 1, "userFault"),
        ("llm", "Error: Error code: 429 - Rate limit reached, see your api keys\n", 1, "retryable"),
        ("llm", "Error: Connection error.\n", 1, "retryable"),
        ("llm", "Traceback …\n", 1, "fatal"),
        ("gemini", "Please set something\n", 41, "userFault"),
        ("gemini", json.dumps({"error": {"type": "ApiError", "message": "quota", "code": 429}}), 1, "retryable"),
        ("claude", "node: command not found\n", 127, "fatal"),
        ("codex", "", 1, "fatal"),
    ],
)
def test_a_failure_without_a_document_is_told_by_what_it_says(
    tmp_path: Path, name: str, stderr: str, code: int, error_class: str
) -> None:
    error = refusal(preset(tmp_path, name, stderr=stderr, code=code), tmp_path)

    assert (error.error.error_code, error.error.error_class) == ("ExitStatus", error_class)
    assert error.error.error_message.startswith(f"Agent a ended with exit code {code}.")
    assert error.stack_trace == stderr


def test_an_error_that_was_got_over_is_none(tmp_path: Path) -> None:
    reconnecting = {"type": "error", "message": "Reconnecting... 1/5"}

    assert ask(preset(tmp_path, "codex", lines(CODEX[0], reconnecting, *CODEX[1:])), tmp_path).text == "hi"


@pytest.mark.parametrize(
    ("name", "stdout", "code"),
    [
        ("claude", "not json", "AgentOutputNotJson"),
        ("claude", "", "AgentOutputNotJson"),
        ("claude", '{"type": "result"}', "AnswerNotFound"),
        ("codex", "not json\nneither", "AgentOutputNotJson"),
        ("codex", lines(*CODEX[:3]), "AnswerNotFound"),
        ("codex", "", "AnswerNotFound"),
        ("gemini", "[]", "AnswerNotFound"),
    ],
)
def test_what_is_no_answer_is_fatal(tmp_path: Path, name: str, stdout: str, code: str) -> None:
    error = refusal(preset(tmp_path, name, stdout), tmp_path).error

    assert (error.error_code, error.error_class) == (code, "fatal")


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "llm"])
def test_a_tool_that_hangs_is_ended_with_its_children_by_its_own_timeout(tmp_path: Path, name: str) -> None:
    agent = scripted(tmp_path, name, "sleep 600 & sleep 600", more=", timeout: 500ms")
    request = make_request(tmp_path)
    started = time.monotonic()
    with pytest.raises(AgentError) as caught:
        asyncio.run(agent.generate(request))

    assert (caught.value.error.error_code, caught.value.error.error_class) == ("AgentTimeout", "timeout")
    assert time.monotonic() - started < 60
    assert alive(request.marker) == []
