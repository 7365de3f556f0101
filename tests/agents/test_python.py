"""A Python agent: how the function is called, and what of its answer counts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agents.builders import ask, make_request, refusal

from hooks.agents.base import Agent, Generation, Message
from hooks.agents.registry import make_agent
from hooks.agents.transcript import as_text
from hooks.definition.model import PythonAgent
from hooks.secrets import Masker

SOURCE = """
from hooks.agents.base import AgentError
from hooks.events.payloads import ErrorInfo

def echo(prompt): return prompt
def with_options(prompt, options): return {"prompt": prompt, "options": options}
async def later(prompt, options): return [prompt]
def fails(prompt): raise LookupError("nothing there")
def busy(prompt): raise AgentError(ErrorInfo(error_code="Busy", error_class="retryable", error_message="later"))
def with_messages(prompt, options, messages): return [prompt, options, messages]
def with_optional_messages(prompt, options=None, messages=()): return [prompt, messages]
def with_third_of_its_own(prompt, options=None, tries=7): return [prompt, tries]
def opaque(prompt): return {"x": object()}
def nan(prompt): return float("nan")
"""


def agent(tmp_path: Path, function: str) -> Agent:
    (tmp_path / "agents.py").write_text(SOURCE)
    declaration = PythonAgent(name="writer", callable=f"agents.py:{function}", model_options=["seed"])
    return make_agent(declaration, tmp_path)


def test_text_is_the_answer_as_it_is(tmp_path: Path) -> None:
    assert ask(agent(tmp_path, "echo"), tmp_path, " hi\n") == Generation(" hi\n")


def test_json_is_the_answer_as_value_and_text(tmp_path: Path) -> None:
    assert ask(agent(tmp_path, "later"), tmp_path, "hi") == Generation('["hi"]', value=["hi"])


def test_options_are_given_to_a_function_that_takes_them(tmp_path: Path) -> None:
    writer = agent(tmp_path, "with_options")

    assert writer.honoured_options == {"seed"}
    assert ask(writer, tmp_path, "hi", options={"seed": 1}).value == {"prompt": "hi", "options": {"seed": 1}}


@pytest.mark.parametrize(
    ("function", "code", "error_class", "message"),
    [
        ("fails", "LookupError", "fatal", "Agent writer: LookupError: nothing there"),
        ("busy", "Busy", "retryable", "later"),
        ("opaque", "AnswerNotJson", "fatal", "neither text nor plain JSON"),
        ("nan", "AnswerNotJson", "fatal", "neither text nor plain JSON"),
        ("missing", "CallableNotFound", "userFault", "has no 'missing'"),
    ],
)
def test_every_failure_is_an_agent_error(
    tmp_path: Path, function: str, code: str, error_class: str, message: str
) -> None:
    error = refusal(agent(tmp_path, function), tmp_path)

    assert (error.error.error_code, error.error.error_class) == (code, error_class)
    assert message in error.error.error_message


def test_the_stack_trace_is_the_functions(tmp_path: Path) -> None:
    trace = refusal(agent(tmp_path, "fails"), tmp_path).stack_trace

    assert trace.startswith("Traceback")
    assert 'agents.py", line' in trace


def test_secrets_are_masked_in_answers_and_errors(tmp_path: Path) -> None:
    masker = Masker({"TOKEN": "s3cret-value", "WORD": "nothing there"})

    assert ask(agent(tmp_path, "echo"), tmp_path, "s3cret-value", masker=masker).text == "[secret TOKEN]"
    assert ask(agent(tmp_path, "later"), tmp_path, "s3cret-value", masker=masker).value == ["[secret TOKEN]"]
    failed = refusal(agent(tmp_path, "fails"), tmp_path, masker=masker)
    assert failed.error.error_message == "Agent writer: LookupError: [secret WORD]"
    assert "nothing there" not in failed.stack_trace


@pytest.mark.parametrize(
    "raised",
    ["Mute()", "AgentError('only text')", r"ValueError('\udc80')"],
)
def test_whatever_a_function_raises_is_an_error_of_the_agent(tmp_path: Path, raised: str) -> None:
    (tmp_path / "mute.py").write_text(
        "from hooks.agents.base import AgentError\n"
        "class Mute(Exception):\n  def __str__(self): raise RuntimeError\n  __repr__ = __str__\n"
        f"def f(prompt): raise {raised}\n"
    )
    agent = make_agent(PythonAgent(name="writer", callable="mute.py:f"), tmp_path)

    assert refusal(agent, tmp_path).error.error_class == "fatal"


def test_what_an_error_says_is_kept_as_the_log_can_carry_it(tmp_path: Path) -> None:
    """A file name that is no text, say, in the message: the error stays of its class, and is the agent's."""
    (tmp_path / "names.py").write_text(
        "from hooks.agents.base import agent_error\n"
        r"def f(prompt): raise agent_error('Busy', 'retryable', 'no \udc80', 'at \udc80')"
    )

    error = refusal(make_agent(PythonAgent(name="writer", callable="names.py:f"), tmp_path), tmp_path)

    assert (error.error.error_class, error.error.error_message, error.stack_trace) == ("retryable", "no ?", "at ?")


TURNS = [Message("user", "one"), Message("assistant", "two")]
AS_JSON = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("with_messages", ["three", {"seed": 1}, AS_JSON]),
        ("with_optional_messages", ["three", AS_JSON]),
        ("with_third_of_its_own", [as_text(TURNS, "three"), 7]),
    ],
)
def test_the_messages_before_the_prompt_are_given_to_a_function_that_takes_them(
    tmp_path: Path, function: str, answer: object
) -> None:
    """To another all of it is given as one text; a third argument that was there for something else stays that."""
    request = replace(make_request(tmp_path, "three", options={"seed": 1}), context=TURNS)

    assert asyncio.run(agent(tmp_path, function).generate(request)).value == answer
