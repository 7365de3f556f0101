"""`hooks tail`: what is there, and what comes."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.cli.command import CommandLine


def test_without_following_it_prints_what_is_there(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml", "--run-id", "one")
    events = cli.log_lines("one")

    printed = [json.loads(line) for line in cli.hooks("tail", "one", "--no-follow", "--jsonl").out.splitlines()]

    assert [(line["seq"], line["type"], line["payload"]) for line in printed] == [
        (event["seq"], event["type"], event["payload"]) for event in events
    ]
    assert cli.hooks("tail", "one", "--no-follow").code == 0
    assert len(cli.hooks("tail", "one", "-n", "3").out.splitlines()) == 3
    assert cli.hooks("tail", "one", "--json").document["schema"] == "hooks.tail/1"


def test_events_can_be_picked(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml", "--run-id", "one")

    def types(*words: str) -> list[str]:
        out = cli.hooks("tail", "one", "--no-follow", "--jsonl", *words).out
        return [json.loads(line)["type"] for line in out.splitlines()]

    assert types("--type", "node*") == ["nodeSucceeded", "nodeFailed"]
    assert set(types("--node", "bad")) > {"attemptCreated", "nodeFailed"}
    assert types("--from", str(len(cli.log_lines("one")))) == ["runFailed"]


def test_it_follows_a_run_of_another_process_and_ends_with_its_code(cli: CommandLine) -> None:
    """B42"""
    with cli.under_way(cli.blocking()):
        tail = cli.start("tail", "last", "--jsonl", stderr=subprocess.DEVNULL)
        assert tail.stdout is not None
        first = tail.stdout.readline()
    with tail:
        types = [json.loads(line)["type"] for line in [first, *tail.stdout.readlines()]]

    assert tail.returncode == 0
    assert types == [line["type"] for line in cli.log_lines(cli.run_id())]


def test_without_a_run_it_follows_runs_that_come_later(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "before")
    tail = cli.start("tail", "--jsonl", "-n", "1")
    assert tail.stdout is not None
    assert json.loads(tail.stdout.readline())["run_id"] == "before"

    cli.hooks("run", "greeting.yaml", "--run-id", "after")
    seen = [json.loads(tail.stdout.readline()) for _ in cli.log_lines("after")]
    tail.send_signal(signal.SIGINT)
    tail.communicate(timeout=60)

    assert [(line["run_id"], line["seq"]) for line in seen] == [("after", seq) for seq in range(1, len(seen) + 1)]
    assert tail.returncode == -signal.SIGINT


def test_a_reader_that_has_seen_enough_ends_it_quietly(cli: CommandLine) -> None:
    """B41: also while the run goes on and says nothing."""
    with cli.under_way(cli.blocking()):
        ended = cli.into_closed_pipe("tail", "last", "--from", "1000")

    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("left", [b"", b"\0" * 5_000], ids=["nothing", "zeros"])
def test_a_log_without_an_event_is_damage(left: bytes, cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "one")
    (cli.runs / "one" / "events.jsonl").write_bytes(left)

    for words in (["one", "--no-follow"], ["one"], ["--no-follow"]):
        ended = cli.hooks("tail", *words)
        assert (ended.code, ended.out) == (9, "")
        assert "the log has no events" in ended.err


def test_an_endless_stream_makes_no_document(cli: CommandLine) -> None:
    assert cli.hooks("tail", "--json").code == 2
