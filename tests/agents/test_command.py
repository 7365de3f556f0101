"""A command agent: what the command is sent, what of its output is the answer, and how it says it failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import ask, refusal

from hooks.agents.base import Agent, Generation
from hooks.agents.registry import make_agent
from hooks.definition.model import CommandAgent
from hooks.errors import UsageError
from hooks.secrets import Masker


def command(*argv: str, **more: Any) -> Agent:
    return make_agent(CommandAgent(name="writer", argv=list(argv), **more), Path("/"))


def script(text: str, **more: Any) -> Agent:
    return command("bash", "-c", text, "agent", **more)


def test_the_prompt_goes_in_on_stdin_and_the_answer_is_stdout(tmp_path: Path) -> None:
    prompt = "line\r\n$(touch pwned) ☃ ${prompt}\n\n"

    assert ask(command("cat"), tmp_path, prompt) == Generation(prompt.removesuffix("\n"))
    assert not (tmp_path / "pwned").exists()


def test_a_prompt_in_argv_leaves_stdin_empty(tmp_path: Path) -> None:
    on_stdin = script('printf "%s|" "$@"; cat', options={"n": ["-n", "{value}"]})
    in_argv = command("bash", "-c", 'printf "%s|" "$@"; cat', "agent", "ask: ${prompt}!")

    assert ask(in_argv, tmp_path, "a b ${prompt}").text == "ask: a b ${prompt}!|"
    assert ask(on_stdin, tmp_path, "typed", options={"n": 3}).text == "-n|3|typed"


def test_options_become_the_arguments_declared_for_them(tmp_path: Path) -> None:
    agent = script(
        'printf "%s\\n" "$@"',
        options={
            "temperature": ["--temperature", "{value}"],
            "stop": ["--stop={value}"],
            "verbose": ["-v"],
            "quiet": ["-q"],
            "seed": ["--seed", "{value}"],
            "format": ["--schema", "{value}"],
        },
    )
    options = {"quiet": False, "verbose": True, "stop": ["a", 1], "temperature": 0.5, "seed": None}

    answer = ask(agent, tmp_path, options=options, format={"type": "object"})

    assert answer.text.split("\n") == [
        "--temperature",
        "0.5",
        '--stop=["a",1]',
        "-v",
        "--schema",
        '{"type":"object"}',
    ]
    assert agent.honoured_options == {"temperature", "stop", "verbose", "quiet", "seed"}


def test_a_format_is_not_passed_to_an_agent_that_has_no_argument_for_it(tmp_path: Path) -> None:
    assert ask(script('echo "$#"'), tmp_path, format={"type": "object"}).text == "0"


def test_an_option_without_arguments_is_refused(tmp_path: Path) -> None:
    error = refusal(script("true", options={"seed": ["-s"]}), tmp_path, options={"temperature": 1})

    assert (error.error.error_code, error.error.error_class) == ("UnknownModelOption", "userFault")
    assert "'temperature' (it knows: seed)" in error.error.error_message


def test_the_environment_is_the_declared_one_then_the_steps(tmp_path: Path) -> None:
    agent = script('echo "$A $B ${HOOKS_MARKER%-*} $HOOKS_IDEMPOTENCY_KEY"', env={"A": "agent", "B": "agent"})

    assert ask(agent, tmp_path, environment={"B": "step"}).text == f"agent step test wf_{'0' * 47}"


def test_a_program_with_a_relative_path_is_one_of_the_workflow(tmp_path: Path) -> None:
    (tmp_path / "flow").mkdir()
    (tmp_path / "flow" / "agent").write_text("#!/bin/sh\npwd; echo $HOOKS_WORKFLOW_DIRECTORY\n")
    (tmp_path / "flow" / "agent").chmod(0o700)
    agent = make_agent(CommandAgent(name="writer", argv=["./agent"]), tmp_path / "flow")

    assert ask(agent, tmp_path).text == f"{tmp_path}\n{tmp_path}/flow"


@pytest.mark.parametrize(
    ("document", "extract", "expected"),
    [
        ('{"result": "hi\\n"}', "result", Generation("hi\n")),
        ('{"result": {"b": 1, "a": [2]}}', "result", Generation('{"a":[2],"b":1}', value={"a": [2], "b": 1})),
        ('{"choices": [{"message": {"content": "hi"}}]}', "choices[0].message.content", Generation("hi")),
        ('[1, "x"]', "[1]", Generation("x")),
        ("[1,\n 2]\n", None, Generation("[1,2]", value=[1, 2])),
        ('"hi"', None, Generation("hi")),
        (
            '{"result": "hi", "model": "m-1", "usage": {"tokens": 3}}',
            "result",
            Generation("hi", model="m-1", usage={"tokens": 3}),
        ),
    ],
)
def test_an_answer_in_json_is_taken_out_of_it(
    tmp_path: Path, document: str, extract: str | None, expected: Generation
) -> None:
    assert ask(command("cat", output="json", extract=extract), tmp_path, document) == expected


@pytest.mark.parametrize(
    ("document", "code", "message"),
    [
        ("no json", "AgentOutputNotJson", "did not answer with JSON"),
        ("", "AgentOutputNotJson", "did not answer with JSON"),
        ('{"n": 123456789012345678901234567890}', "AgentOutputNotJson", "64 bit"),
        ('{"other": 1}', "AnswerNotFound", "has no 'result'"),
        ("[1]", "AnswerNotFound", "has no 'result'"),
    ],
)
def test_an_answer_that_is_not_there_is_an_error(tmp_path: Path, document: str, code: str, message: str) -> None:
    error = refusal(command("cat", output="json", extract="result"), tmp_path, prompt=document)

    assert (error.error.error_code, error.error.error_class) == (code, "fatal")
    assert message in error.error.error_message


@pytest.mark.parametrize(
    ("document", "extract", "expected"),
    [
        ('{"a": {"type": "x", "text": "hi"}}', "a[type=x].text", "hi"),
        ('{"type": "x.y", "text": "hi"}', "[type=x.y].text", "hi"),
        ('{"is": true, "text": "hi"}', "[is=true].text", "hi"),
        ('{"n": 1, "all": [{"id": 2, "text": "hi"}]}', "[n=1].all[0][id=2].text", "hi"),
    ],
)
def test_a_path_may_lead_on_only_where_something_is_so(
    tmp_path: Path, document: str, extract: str, expected: str
) -> None:
    agent = command("cat", output="json", extract=extract)

    assert ask(agent, tmp_path, document).text == expected
    other = document.replace('"x', '"z').replace("true", "false").replace("2,", "3,")
    assert refusal(agent, tmp_path, prompt=other).error.error_code == "AnswerNotFound"


@pytest.mark.parametrize(
    ("printed", "text", "usage"),
    [
        ('{"t": "a", "x": "one"}\n{"t": "b", "x": "no"}\n{"t": "a", "x": "two"}\n', "two", None),
        ('warning: so\n\n{"t": "a", "x": "one"}\n[not json\n', "one", None),
        ('{"t": "a", "x": "one"}\n{"usage": {"n": 1}}\n{"usage": {"n": 2}}', "one", {"n": 2}),
        ('{"error": "lost"}\n{"t": "a", "x": "one"}', "one", None),
    ],
)
def test_of_lines_the_last_that_has_an_answer_counts(
    tmp_path: Path, printed: str, text: str, usage: dict[str, int] | None
) -> None:
    agent = command("cat", output="jsonl", extract="[t=a].x", error_extract="error")

    assert ask(agent, tmp_path, printed) == Generation(text, usage=usage)


def test_of_lines_an_error_after_the_answer_counts(tmp_path: Path) -> None:
    agent = command("cat", output="jsonl", extract="[t=a].x", error_extract=["failed.message", "error"])
    printed = '{"t": "a", "x": "one"}\n{"failed": {"message": "lost"}}\n'

    assert refusal(agent, tmp_path, prompt=printed).error.error_message == "Agent writer: lost"


def test_usage_and_model_are_found_where_the_declaration_says(tmp_path: Path) -> None:
    agent = command(
        "cat",
        output="json",
        extract="result",
        usage_extract=["stats.tokens", "cost.usd", "nothing"],
        model_extract="stats.by_model",
    )
    document = '{"result": "hi", "stats": {"tokens": {"in": 1}, "by_model": {"m-1": {}}}, "cost": {"usd": 0.5}}'

    assert ask(agent, tmp_path, document) == Generation("hi", model="m-1", usage={"in": 1, "usd": 0.5})


def test_the_class_of_an_error_is_told_by_its_words(tmp_path: Path) -> None:
    agent = script("cat >&2; exit 1", error_classes={"retryable": ["busy"], "userFault": [r"\bkey\b", "busy key"]})

    assert refusal(agent, tmp_path, prompt="BUSY key").error.error_class == "retryable"
    assert refusal(agent, tmp_path, prompt="no key").error.error_class == "userFault"
    assert refusal(agent, tmp_path, prompt="no keys").error.error_class == "fatal"


def test_the_model_is_the_one_that_was_asked_for_where_the_answer_names_none(tmp_path: Path) -> None:
    agent = script("echo hi", model="small", options={"model": ["-m", "{value}"]}, model_options={"model": "large"})

    assert ask(agent, tmp_path).model == "large"
    assert ask(agent, tmp_path, options={"model": "huge"}).model == "huge"
    assert ask(script("echo hi", model="small"), tmp_path).model == "small"


@pytest.mark.parametrize("extract", ["", ".a", "a.", "a..b", "a[x]", "a[0", "a]", "a[=x]"])
def test_a_path_that_is_none_is_refused_at_once(extract: str) -> None:
    with pytest.raises(UsageError, match="is not a path"):
        command("cat", output="json", extract=extract)


@pytest.mark.parametrize("code", [0, 1])
def test_an_error_in_the_document_counts_whatever_the_exit_code(tmp_path: Path, code: int) -> None:
    agent = script(f"cat; exit {code}", output="json", extract="result", error_extract="error")

    fatal = refusal(agent, tmp_path, prompt='{"error": "out of credit", "result": ""}').error
    assert (fatal.error_code, fatal.error_class) == ("AgentFailed", "fatal")
    assert fatal.error_message == "Agent writer: out of credit"
    said = '{"error": {"message": "slow down", "errorClass": "retryable"}}'
    assert refusal(agent, tmp_path, prompt=said).error.error_class == "retryable"


def test_an_empty_error_is_none(tmp_path: Path) -> None:
    agent = command("cat", output="json", extract="result", error_extract="is_error")

    assert ask(agent, tmp_path, '{"is_error": false, "result": "hi"}').text == "hi"


def test_another_exit_code_is_fatal_and_tells_what_it_said(tmp_path: Path) -> None:
    error = refusal(script("echo partial; echo 'no key' >&2; exit 3"), tmp_path)

    assert (error.error.error_code, error.error.error_class) == ("ExitStatus", "fatal")
    assert error.error.error_message == "Agent writer ended with exit code 3. It said: no key"
    assert error.stack_trace == "no key\n"


def test_a_death_by_signal_may_be_tried_again(tmp_path: Path) -> None:
    error = refusal(script("kill -9 $$"), tmp_path)

    assert (error.error.error_code, error.error.error_class) == ("Signalled", "retryable")


def test_an_agent_that_cannot_start_is_the_users_to_mend(tmp_path: Path) -> None:
    error = refusal(command("no-such-agent"), tmp_path)
    assert (error.error.error_code, error.error.error_class) == ("CouldNotStart", "userFault")

    too_long = refusal(command("echo", "${prompt}"), tmp_path, prompt="x" * 200_000)
    assert "argv[1] alone 200000" in too_long.error.error_message
    assert "stdin" in too_long.error.error_message


def test_secrets_of_the_environment_are_masked_in_answers_and_errors(tmp_path: Path) -> None:
    secret: dict[str, Any] = {
        "environment": {"TOKEN": "s3cret-value"},
        "masker": Masker({"TOKEN": "s3cret-value"}),
    }

    assert ask(script("echo $TOKEN"), tmp_path, **secret).text == "[secret TOKEN]"
    failed = refusal(script("echo $TOKEN >&2; exit 1"), tmp_path, **secret)
    assert "It said: [secret TOKEN]" in failed.error.error_message
    assert failed.stack_trace == "[secret TOKEN]\n"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]


def test_an_answer_in_which_a_key_stands_twice_is_not_usable(tmp_path: Path) -> None:
    agent = script("""echo '{"result": "no", "result": "yes"}'""", output="json", extract="result")

    error = refusal(agent, tmp_path).error
    assert error.error_code == "AgentOutputNotJson"
    assert "the key 'result' stands twice in one object" in error.error_message


@pytest.mark.parametrize("done_to_it", ["rm $A/stdout; mkfifo $A/stdout", "rm -r $A", "rm $A/stderr; mkdir $A/stderr"])
def test_an_agent_that_takes_away_what_it_printed_has_given_no_answer(tmp_path: Path, done_to_it: str) -> None:
    agent = script(f"A=.draw-$HOOKS_MARKER; {done_to_it}; echo hello")

    error = refusal(agent, tmp_path).error
    assert error.error_code == "OutputLost"
    assert "is lost" in error.error_message


def test_processes_that_an_agent_leaves_behind_are_ended_and_counted(tmp_path: Path) -> None:
    """B22"""
    assert ask(script("sleep 60 & sleep 60 & echo hello"), tmp_path) == Generation("hello", leaked=2)
    assert refusal(script("sleep 60 & exit 3"), tmp_path).leaked == 1
