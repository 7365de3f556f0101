"""`show --node`: what each attempt of a step was given to do, how it ended, and who allowed it."""

from __future__ import annotations

from tests.cli.command import CommandLine

TWICE = """\
workflow_id: twice
version: 1
nodes:
  send:
    executor: shell
    input: {argv: [sh, -c, 'printf "first\\n\\033[2Jlast\\n" >&2; exit 3']}
    retry: {max_attempts: 2, base: 1ms}
"""

GATED = """\
workflow_id: gated
version: 1
params: {word: {type: string, default: hello}}
nodes:
  note:
    executor: file
    human_gate: {prompt: "Write?"}
    input: {path: note.txt, mode: write, content: "${params.word}"}
"""


def test_each_attempt_has_a_row_and_the_last_one_tells_all(cli: CommandLine) -> None:
    cli.write("twice.yaml", TWICE)
    assert cli.hooks("run", "twice.yaml", "--run-id", "r", "-q").code == 1

    shown, page = cli.hooks("show", "r", "--node", "send", "--json").document, cli.hooks("show", "r", "--node", "send")

    first, last = shown["history"]
    assert [(each["attempt"], each["ended"], each["error"]["errorCode"]) for each in (first, last)] == [
        (1, "failed", "ExitStatus"),
        (2, "failed", "ExitStatus"),
    ]
    assert last["given"]["argv"][:2] == ["sh", "-c"]
    assert last["effect"]["outcome"] == "failed"
    assert last["effect"]["idempotency_key"].startswith("wf_")
    assert last["stderr"] == ["first", "\x1b[2Jlast"]
    for line in ("  | first", "  | \\x1b[2Jlast", last["effect"]["idempotency_key"], last["directory"]):
        assert line in page.out


def test_an_attempt_that_nobody_saw_end_is_told_as_that(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking(read_only=False), "--run-id", "r") as run:
        run.kill_step()
        run.kill_driver()
    cli.hooks("recover", "r")

    (attempt,) = cli.hooks("show", "r", "--node", "step", "--json").document["history"]

    assert (attempt["ended"], attempt["effect"]["outcome"]) == (None, "in_doubt")


def test_who_answered_a_gate_is_told_with_the_comment_and_what_was_done_is_what_was_hashed(cli: CommandLine) -> None:
    cli.write("gated.yaml", GATED)
    assert cli.hooks("run", "gated.yaml", "--run-id", "r", "-q").code == 4
    assert cli.hooks("approve", "r", "note", "--by", "dana", "--comment", "fine with me").code == 0
    assert cli.hooks("recover", "r", "-q").code == 0

    shown, page = cli.hooks("show", "r", "--node", "note", "--json").document, cli.hooks("show", "r", "--node", "note")

    (answer,) = shown["answers"]
    assert (answer["approved"], answer["by"], answer["comment"]) == (True, "dana", "fine with me")
    assert "Approved (before) by dana" in page.out
    (attempt,) = shown["history"]
    assert attempt["given"]["content"] == "hello"
    assert attempt["given"]["path"].endswith("/note.txt")
    assert attempt["effect"]["outcome"] == "done"
