"""Executors that a config declares: the input goes in as JSON, the answer comes out as JSON."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.executors.builders import KEY, execute, look_up, make_call

from hooks.definition.model import ExecutorDeclaration
from hooks.executors.base import CannotTell, Executor, Found, InputError, Later, Settled
from hooks.executors.registry import make_executor
from hooks.secrets import Masker


def command(script: str, **declared: Any) -> Executor:
    return make_executor("do", [ExecutorDeclaration(name="do", argv=["sh", "-c", script], **declared)])


def test_a_command_gets_the_input_and_its_answer_is_the_output(tmp_path: Path) -> None:
    resolved_input = {"b": ["ü", None], "a": {"c": 1}}

    assert execute(command("cat"), tmp_path, resolved_input) == Settled("done", resolved_input)
    assert execute(command(":"), tmp_path, {}) == Settled("done", None)
    assert execute(command('printf \'"%s"\' "$HOOKS_IDEMPOTENCY_KEY"'), tmp_path, {}) == Settled("done", KEY)


def test_a_declared_environment_reaches_the_command(tmp_path: Path) -> None:
    assert execute(command('printf \'"%s"\' "$WHERE"', env={"WHERE": "here"}), tmp_path, {}).output == "here"


@pytest.mark.parametrize(
    ("script", "outcome", "code"),
    [
        ("echo not json", "done", "OutputNotJson"),
        ("""echo '{"id": 1, "id": 2}'""", "done", "OutputNotJson"),
        ("head -c 2000000 /dev/zero", "done", "OutputTooLarge"),
        ("exit 3", "failed", "ExitStatus"),
        ("kill -9 $$", "unknown", "Signalled"),
    ],
)
def test_every_failure_is_an_outcome(tmp_path: Path, script: str, outcome: str, code: str) -> None:
    settled = execute(command(script), tmp_path, {})

    assert settled.error is not None
    assert (settled.outcome, settled.error.error_code) == (outcome, code)


def test_what_is_declared_stands_in_the_sidecar_and_the_input_stays_where_it_is(tmp_path: Path) -> None:
    executor = command("cat", lookup=["./bin/find"], idempotent=True, declared_in="/etc/hooks/config.yaml")

    prepared = executor.prepare(
        {"to": {"$secret": "${TOKEN}"}}, working_directory=tmp_path, workflow_directory=tmp_path
    )

    assert prepared.canonical_input == {
        "to": {"$secret": "${TOKEN}"},
        "$declared": {
            "argv": ["sh", "-c", "cat"],
            "lookup": ["/etc/hooks/bin/find"],
            "idempotent": True,
            "idempotency_ttl": 86_400_000,
        },
    }
    assert (prepared.provider, prepared.idempotency_ttl_ms) == ("do", 86_400_000)
    assert executor.is_idempotent(prepared.canonical_input)
    assert executor.can_look_up(prepared.canonical_input)


def test_a_call_is_made_as_it_was_declared_when_it_was_prepared(tmp_path: Path) -> None:
    call = make_call(command("echo 1"), tmp_path, {})

    assert asyncio.run(command("echo 2").execute(call)) == Settled("done", 1)


def test_an_input_cannot_declare_anything(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"input\.\$declared: this key is taken"):
        make_call(command("cat"), tmp_path, {"$declared": {"argv": ["rm"]}})


def test_a_look_up_gets_the_input_too(tmp_path: Path) -> None:
    found = look_up(command("true", lookup=["cat"]), tmp_path, {"a": 1})

    assert found == Found(Settled("done", {"a": 1}), {"exit_code": 0, "stdout": '{"a":1}'})
    assert isinstance(look_up(command("true", lookup=["sh", "-c", "exit 75"]), tmp_path, {}), Later)
    assert isinstance(look_up(command("true"), tmp_path, {}), CannotTell)


def test_a_function_gets_the_input_as_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "do.py").write_text("def greet(name, idempotency_key): return [name, idempotency_key]\n")
    declaration = ExecutorDeclaration(name="do", callable="do.py:greet", declared_in=str(tmp_path / "config.yaml"))
    executor = make_executor("do", [declaration], Path("/nowhere"))

    assert execute(executor, tmp_path, {"name": "you"}) == Settled("done", ["you", KEY])
    assert execute(executor, tmp_path, {"nmae": "you"}).outcome == "not_done"


def test_secrets_are_masked_in_the_answer(tmp_path: Path) -> None:
    (tmp_path / "do.py").write_text("def echo(a): return a\n")
    masker = Masker({"TOKEN": "s3cret-value"})
    function = make_executor("do", [ExecutorDeclaration(name="do", callable="do.py:echo")], tmp_path)

    for executor, output in ((command("cat"), {"a": "[secret TOKEN]"}), (function, "[secret TOKEN]")):
        assert execute(executor, tmp_path, {"a": "s3cret-value"}, masker=masker) == Settled("done", output)
