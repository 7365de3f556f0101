"""The shell executor: what it accepts, what the command is sent, and how its end is read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.executors.builders import KEY, execute, look_up, make_call

from hooks.executors.base import Absent, Found, InputError, Later, LookUp, Prepared, Settled
from hooks.executors.shell import ShellExecutor
from hooks.secrets import Masker

SHELL = ShellExecutor()


def prepare(resolved_input: dict[str, Any], at: Path = Path("/")) -> Prepared:
    return SHELL.prepare(resolved_input, working_directory=at, workflow_directory=at)


def done(stdout: str, **more: Any) -> Settled:
    output = {"stdout": stdout, "exit_code": 0, "stdout_bytes": len(stdout.encode()), "truncated": False}
    return Settled("done", {**output, **more})


def test_exit_0_is_done_with_all_of_stdout(tmp_path: Path) -> None:
    assert execute(SHELL, tmp_path, {"argv": ["printf", "a\\r\\nb\\n\\n"]}) == done("a\r\nb\n\n")


def test_argv_words_are_never_read_by_a_shell(tmp_path: Path) -> None:
    """B48"""
    evil = "$(touch pwned); `touch pwned` ' \" \n"

    assert execute(SHELL, tmp_path, {"argv": ["printf", "%s", evil]}) == done(evil)
    assert not (tmp_path / "pwned").exists()


def test_numbers_and_flags_become_their_json_text() -> None:
    prepared = prepare({"argv": ["head", 3, 1.5, True, "x"]})

    assert prepared == Prepared({"argv": ["head", "3", "1.5", "true", "x"]}, provider="shell")


@pytest.mark.parametrize(
    ("resolved_input", "place"),
    [
        ({}, r"either `argv`.*or `script`"),
        ({"argv": ["a"], "script": "b"}, r"either `argv`.*or `script`"),
        ({"argv": "ls"}, r"input\.argv: 'ls' where a list"),
        ({"argv": []}, r"input\.argv: an empty list"),
        ({"argv": [""]}, r"input\.argv\[0\]"),
        ({"argv": ["a", None]}, r"input\.argv\[1\]: null"),
        ({"argv": ["a", ["b"]]}, r"input\.argv\[1\]: a list"),
        ({"argv": ["a", {}]}, r"input\.argv\[1\]: an object"),
        ({"argv": ["a", "b\0"]}, r"input\.argv\[1\].*NUL"),
        ({"argv": ["a", "\ud800"]}, r"surrogate"),
        ({"script": ["ls"]}, r"input\.script"),
        ({"argv": ["a"], "shell": "sh"}, r"input\.shell"),
        ({"argv": ["a"], "idempotent": "yes"}, r"input\.idempotent"),
        ({"argv": ["a"], "idempotency_ttl": "soon"}, r"input\.idempotency_ttl"),
        ({"argv": ["a"], "lookup": "x"}, r"input\.lookup"),
        ({"argv": ["a"], "sdtin": "x"}, r"input\.sdtin: unknown; did you mean 'stdin'"),
    ],
)
def test_an_input_that_cannot_be_performed_names_the_place(resolved_input: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        prepare(resolved_input)


def test_only_an_idempotent_call_has_a_time_to_live() -> None:
    assert prepare({"argv": ["a"]}).idempotency_ttl_ms is None
    assert prepare({"argv": ["a"], "idempotent": True}).idempotency_ttl_ms == 24 * 3_600_000
    assert prepare({"argv": ["a"], "idempotent": True, "idempotency_ttl": "2h"}).idempotency_ttl_ms == 7_200_000


def test_a_script_stops_at_its_first_failure(tmp_path: Path) -> None:
    assert execute(SHELL, tmp_path, {"script": "false | true\ntouch reached"}).outcome == "failed"
    assert execute(SHELL, tmp_path, {"script": "false\ntouch reached"}).outcome == "failed"
    assert not (tmp_path / "reached").exists()


def test_a_script_may_name_its_shell(tmp_path: Path) -> None:
    assert execute(SHELL, tmp_path, {"script": "false; echo $0", "shell": "sh"}).outcome == "done"
    assert execute(SHELL, tmp_path, {"script": "print(6 * 7)", "shell": ["python3", "-c"]}) == done("42\n")


def test_the_command_gets_stdin_key_and_marker(tmp_path: Path) -> None:
    script = 'cat; printf "%s %s" "$HOOKS_IDEMPOTENCY_KEY" "${HOOKS_MARKER%-*}"; pwd >where'

    assert execute(SHELL, tmp_path, {"script": script, "stdin": "in\n"}) == done(f"in\nwf_{'0' * 47} test")
    assert (tmp_path / "where").read_text() == f"{tmp_path}\n"


def test_another_exit_is_failed_with_the_end_of_stderr(tmp_path: Path) -> None:
    settled = execute(SHELL, tmp_path, {"script": "echo no such thing >&2; exit 7"})

    assert settled.outcome == "failed"
    assert settled.error is not None
    assert (settled.error.error_code, settled.error.error_class) == ("ExitStatus", "retryable")
    assert settled.error.error_message == "The command ended with exit code 7. It said: no such thing"
    assert settled.error.details == {"exitCode": 7}


def test_a_death_by_signal_is_unknown(tmp_path: Path) -> None:
    settled = execute(SHELL, tmp_path, {"script": "kill -9 $$"})

    assert settled.outcome == "unknown"
    assert settled.error is not None
    assert settled.error.error_code == "Signalled"


def test_what_could_not_start_is_certainly_not_done(tmp_path: Path) -> None:
    for argv in (["no-such-program"], ["true", "x" * 200_000]):
        settled = execute(SHELL, tmp_path, {"argv": argv})
        assert settled.outcome == "not_done"
        assert settled.error is not None
        assert (settled.error.error_code, settled.error.error_class) == ("CouldNotStart", "userFault")


def test_a_long_output_is_cut_and_says_so(tmp_path: Path) -> None:
    long = {"script": "head -c 3000000 /dev/zero | tr '\\0' x"}
    cut = {"stdout_bytes": 3_000_000, "truncated": True, "truncated_fields": ["stdout"]}

    assert execute(SHELL, tmp_path, long) == done("x" * (1 << 20), **cut)
    assert execute(SHELL, tmp_path, long, max_output_bytes=10) == done("x" * 10, **cut)


def test_bytes_that_are_no_text_are_replaced_and_said_so(tmp_path: Path) -> None:
    """B39"""
    settled = execute(SHELL, tmp_path, {"argv": ["printf", "a\\262\\033[1mb\\r\\n"]})

    assert settled == done("a�\x1b[1mb\r\n", stdout_bytes=9, decoded_with_replacement=True)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo $HOOKS_IDEMPOTENCY_KEY", Found(done(f"{KEY}\n"), {"exit_code": 0, "stdout": f"{KEY}\n"})),
        ("exit 1", Absent()),
        ("echo not now >&2; exit 75", Later("The look-up ended with exit code 75. It said: not now")),
        ("exit 3", Later("The look-up ended with exit code 3.")),
        ("kill -9 $$", Later("The look-up was ended by signal 9.")),
    ],
)
def test_the_exit_of_a_look_up_tells_whether_the_call_happened(tmp_path: Path, script: str, said: LookUp) -> None:
    assert look_up(SHELL, tmp_path, {"argv": ["false"], "lookup": ["sh", "-c", script]}) == said


def test_a_look_up_that_cannot_be_made_may_be_made_later(tmp_path: Path) -> None:
    said = look_up(SHELL, tmp_path, {"argv": ["true"], "lookup": ["no-such-program"]})

    assert isinstance(said, Later)
    assert "no such program" in said.reason


def test_a_look_up_leaves_what_the_call_left_alone(tmp_path: Path) -> None:
    call = make_call(SHELL, tmp_path, {"script": "echo call", "lookup": ["echo", "look-up"]})
    asyncio.run(SHELL.execute(call))

    for _ in range(2):
        found = asyncio.run(SHELL.look_up(call))
        assert isinstance(found, Found)
        assert found.settled == done("look-up\n")
    assert asyncio.run(SHELL.adopt(call)) == done("call\n")


def test_the_terms_of_a_call_are_told_from_its_input() -> None:
    plain = prepare({"argv": ["a"]}).canonical_input
    full = prepare({"argv": ["a"], "lookup": ["b"], "idempotent": True, "settle": "5s"}).canonical_input

    assert [SHELL.can_look_up(given) for given in (plain, full)] == [False, True]
    assert [SHELL.is_idempotent(given) for given in (plain, full)] == [False, True]
    assert [SHELL.settle_ms(given, 60_000) for given in (plain, full)] == [0, 5_000]


def test_secrets_are_masked_in_output_and_errors(tmp_path: Path) -> None:
    masker = Masker({"TOKEN": "s3cret-value"})
    succeeding, failing = (
        {"script": "cat", "stdin": "s3cret-value"},
        {"script": "cat >&2; exit 1", "stdin": "s3cret-value"},
    )

    assert execute(SHELL, tmp_path, succeeding, masker=masker) == done("[secret TOKEN]")
    failed = execute(SHELL, tmp_path, failing, masker=masker)
    assert failed.error is not None
    assert failed.error.error_message == "The command ended with exit code 1. It said: [secret TOKEN]"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]


def test_stdin_whose_secret_was_not_filled_in_is_not_sent(tmp_path: Path) -> None:
    settled = execute(SHELL, tmp_path, {"script": "touch started", "stdin": {"$secret": "${TOKEN}"}})

    assert settled.outcome == "not_done"
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("done_to_it", "why"),
    [
        ("rm $A/stdout; mkfifo $A/stdout", "it is a FIFO, not a file"),
        ("rm $A/stdout; mkdir $A/stdout", "it is a directory, not a file"),
        ("rm -r $A", "it is gone"),
    ],
)
def test_a_command_that_takes_away_what_it_printed_is_done_without_an_output(
    tmp_path: Path, done_to_it: str, why: str
) -> None:
    settled = execute(SHELL, tmp_path, {"script": f"A=.attempt-$HOOKS_MARKER; {done_to_it}"})

    assert settled.outcome == "done"
    assert settled.error is not None
    assert settled.error.error_code == "OutputLost"
    assert "What it printed on stdout is lost" in settled.error.error_message
    assert why in settled.error.error_message


def test_a_command_that_takes_away_its_stderr_has_failed_as_it_failed(tmp_path: Path) -> None:
    settled = execute(SHELL, tmp_path, {"script": "rm -r .attempt-$HOOKS_MARKER; exit 7"})

    assert settled.outcome == "failed"
    assert settled.error is not None
    assert settled.error.error_message.startswith(
        "The command ended with exit code 7. What it printed on stderr is lost"
    )


@pytest.mark.parametrize(("code", "outcome"), [(0, "done"), (7, "failed")])
def test_processes_that_a_command_leaves_behind_are_ended_and_counted(tmp_path: Path, code: int, outcome: str) -> None:
    """B22"""
    settled = execute(SHELL, tmp_path, {"script": f"sleep 60 & sleep 60 & exit {code}"})

    assert (settled.outcome, settled.leaked) == (outcome, 2)


def test_an_exit_code_that_looks_like_a_signal_is_an_exit_code(tmp_path: Path) -> None:
    settled = execute(SHELL, tmp_path, {"script": "exit 143"})

    assert settled.outcome == "failed"
    assert settled.error is not None
    assert settled.error.error_message == "The command ended with exit code 143."
