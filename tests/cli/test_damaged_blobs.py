"""A blob of a run that is gone or changed: no step fails for it, and the run goes on once it is back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import CommandLine

LARGE = """\
workflow_id: large
version: 1
agents: {cat: {kind: command, argv: [cat]}}
nodes:
  long: {agent: cat, prompt: "PROMPT"}
  ok: {executor: shell, read_only: true, depends: [long], human_gate: {prompt: "Good?"}, input: {argv: ["true"]}}
  again: {agent: cat, depends: [long, ok], prompt: "<${long.output}>"}
""".replace("PROMPT", "x" * 9_000)


@pytest.fixture
def blob(cli: CommandLine) -> Path:
    """The one large value of a run that waits at a gate."""
    assert cli.hooks("run", cli.write("large.yaml", LARGE), "--run-id", "r", "-q").code == 4
    (blob,) = (cli.runs / "r" / "blobs").iterdir()
    return blob


def flip(blob: Path) -> None:
    blob.write_bytes(b"y" + blob.read_bytes()[1:])


def shorten(blob: Path) -> None:
    blob.write_bytes(blob.read_bytes()[:-1])


@pytest.mark.parametrize("harm", [Path.unlink, shorten])
def test_what_moves_or_answers_a_run_first_looks_for_its_blobs(
    cli: CommandLine, blob: Path, harm: Callable[[Path], None]
) -> None:
    log, content = (cli.runs / "r" / "events.jsonl").read_bytes(), blob.read_bytes()
    harm(blob)

    refused = [cli.hooks(*words) for words in (["cancel", "r"], ["recover", "r"])]

    assert [ended.code for ended in refused] == [9, 9]
    assert all(str(blob) in ended.err and "Put this file back" in ended.err for ended in refused)
    assert (cli.runs / "r" / "events.jsonl").read_bytes() == log
    assert list((cli.runs / "r" / "inbox").iterdir()) == []
    blob.write_bytes(content)
    assert cli.hooks("approve", "r").code == 0
    assert cli.hooks("recover", "r", "-q").code == 0


def test_a_changed_blob_stops_the_driver_and_fails_no_step(cli: CommandLine, blob: Path) -> None:
    content = blob.read_bytes()
    assert cli.hooks("approve", "r").code == 0
    flip(blob)

    stopped = [cli.hooks("recover", "r", "-q") for _ in range(2)]

    assert [ended.code for ended in stopped] == [9, 9]
    assert "is not what its name says" in stopped[0].err
    assert {"activityFailed", "nodeFailed", "runFailed"}.isdisjoint(line["type"] for line in cli.log_lines("r"))
    assert "hooks recover r" in cli.hooks("show", "r").out
    blob.write_bytes(content)
    assert cli.hooks("recover", "r", "-q").code == 0
