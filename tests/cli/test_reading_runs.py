"""ls, show, logs, verify: what they say of runs, whole and damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hooks.definition.model import CommandAgent, Retry
from hooks.events.envelope import FIRST_PREV, close_line, open_line
from hooks.events.payloads import RunStarted
from hooks.storage.event_log import EventLog
from hooks.storage.log_reader import LogReader
from hooks.storage.run_directory import RunDirectory
from tests.cli.command import FAILING, CommandLine
from tests.runtime.runs import Runs, agent_step
from tests.storage.builders import add_group


def damage_middle(cli: CommandLine, run_id: str) -> None:
    log = cli.runs / run_id / "events.jsonl"
    data = bytearray(log.read_bytes())
    data[data.index(b'"seq":2') + 6] ^= 1
    log.write_bytes(data)


def tear_last_line(cli: CommandLine, run_id: str) -> None:
    log = cli.runs / run_id / "events.jsonl"
    log.write_bytes(log.read_bytes()[:-30])


def test_no_run_is_an_empty_list(cli: CommandLine) -> None:
    assert cli.hooks("ls", "--json").document == {"schema": "hooks.ls/1", "runs": []}
    assert cli.hooks("ls", "-q").out == ""


def test_a_step_that_will_not_run_any_more_is_shown_with_the_reason(cli: CommandLine) -> None:
    three = FAILING + "  after: {executor: shell, read_only: true, depends: [bad], input: {argv: [true]}}\n"
    assert cli.hooks("run", cli.write("three.yaml", three), "--run-id", "r", "-q").code == 1

    nodes, page = cli.hooks("show", "r", "--json").document["nodes"], cli.hooks("show", "r").out

    assert [(node["status"], node["not_run_because"]) for node in nodes.values()] == [
        ("succeeded", None),
        ("failed", None),
        ("not_run", "bad failed"),
    ]
    (row,) = [line for line in page.splitlines() if line.startswith("after ")]
    assert row.split("  ")[1].strip() == "not_run"
    assert row.endswith("bad failed")
    assert "Status       not_run: bad failed\n" in cli.hooks("show", "r", "--node", "after").out


def test_the_next_try_is_shown_with_its_number(cli: CommandLine) -> None:
    retry = "retry: {max_attempts: 3, base: 1h, on: [fatal, retryable]}, human_gate: {prompt: Go?}"
    again = FAILING.replace("depends: [good]", f"depends: [good], {retry}")
    assert cli.hooks("run", cli.write("again.yaml", again), "--run-id", "r", "-q").code == 4
    cli.hooks("approve", "r")
    assert cli.hooks("tick", "r").code == 8

    node = cli.hooks("show", "r", "--node", "bad", "--json").document

    assert (node["status"], node["next_try"], node["max_attempts"]) == ("retrying", 2, 3)
    assert f"Next try     {node['next_try_at']}, attempt 2 of 3\n" in cli.hooks("show", "r", "--node", "bad").out


def test_a_run_that_is_shown_is_not_told_to_be_looked_at(cli: CommandLine) -> None:
    cli.write("no.yaml", "- {on: run_started, name: no, argv: [sh, -c, 'echo not today >&2; exit 2']}\n")
    ended = cli.hooks("run", "greeting.yaml", "--run-id", "r", "--hooks", "no.yaml", "-q")

    shown = cli.hooks("show", "r", "--json").document

    assert "    hooks show r\n    hooks retry r" in ended.err
    assert shown["next"] == ["hooks retry r"]
    assert {node["not_run_because"] for node in shown["nodes"].values()} == {"the run was refused"}


def test_runs_can_be_picked_by_status_workflow_and_age(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "good")
    cli.hooks("run", "failing.yaml", "--run-id", "bad")

    assert cli.hooks("ls", "-q").out == "good\nbad\n"
    assert cli.hooks("ls", "-q", "--status", "failed").out == "bad\n"
    assert cli.hooks("ls", "-q", "--workflow", "greeting").out == "good\n"
    assert cli.hooks("ls", "-q", "--since", "1h").out == "good\nbad\n"
    assert cli.hooks("ls", "--since", "yesterday").code == 2


def test_a_damaged_run_is_a_row_of_its_own_and_hides_no_other(cli: CommandLine) -> None:
    """B32"""
    cli.hooks("run", "greeting.yaml", "--run-id", "good")
    cli.hooks("run", "greeting.yaml", "--run-id", "harmed")
    damage_middle(cli, "harmed")

    table, document = cli.hooks("ls"), cli.hooks("ls", "--json").document
    shown, verified = cli.hooks("show", "harmed", "--json"), cli.hooks("verify", "--all", "--json")

    assert table.code == 9
    assert {row["run_id"]: row["status"] for row in document["runs"]} == {"good": "succeeded", "harmed": "damaged"}
    assert shown.code == 9
    assert shown.error["file"].endswith("harmed/events.jsonl")
    assert (shown.error["line"], shown.error["byte"] > 0) == (2, True)
    assert verified.code == 9
    assert {run["run_id"]: run["intact"] for run in verified.document["runs"]} == {"good": True, "harmed": False}


def test_a_torn_last_line_is_no_damage_and_is_cut_by_recover(cli: CommandLine) -> None:
    """B32"""
    cli.hooks("run", "greeting.yaml", "--run-id", "torn")
    tear_last_line(cli, "torn")

    assert cli.hooks("show", "torn", "--field", "status").out == "pending\n"
    assert cli.hooks("verify", "torn").code == 0
    assert "torn" in cli.hooks("verify", "torn").out
    assert cli.hooks("recover", "torn").code == 0
    assert [line["type"] for line in cli.log_lines("torn")].count("logRepaired") == 1


def test_a_changed_sidecar_is_found(cli: CommandLine) -> None:
    cli.write(
        "effect.yaml", "workflow_id: e\nversion: 1\nnodes:\n  a: {executor: file, input: {path: out, content: x}}\n"
    )
    assert cli.hooks("run", "effect.yaml", "--run-id", "effect").code == 0
    (sidecar,) = (cli.runs / "effect").rglob("effect-input.json")
    sidecar.write_bytes(sidecar.read_bytes() + b" ")

    ended = cli.hooks("verify", "effect")

    assert ended.code == 9
    assert "effect-input.json" in ended.out


def test_a_history_that_no_run_can_have_is_damage_though_every_hash_fits(cli: CommandLine) -> None:
    assert cli.hooks("run", "greeting.yaml", "--run-id", "odd").code == 0
    directory = RunDirectory(cli.runs / "odd")
    reader = LogReader(directory.log)
    reader.read_new()
    with EventLog(
        directory.log, run_id="odd", blobs=directory.blob_store(), durability="relaxed", position=reader.position
    ) as log:
        add_group(log, RunStarted())

    ended = cli.hooks("verify", "odd")

    assert ended.code == 9
    assert f"line {reader.position.seq + 1}" in ended.out


def test_a_json_array_in_the_log_gives_a_message_and_no_traceback(cli: CommandLine) -> None:
    """B32"""
    cli.hooks("run", "greeting.yaml", "--run-id", "odd")
    log = cli.runs / "odd" / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], b"[1]\n", *lines[3:]]))

    ended = cli.hooks("show", "odd")

    assert ended.code == 9
    assert "Traceback" not in ended.err


def test_show_gives_one_value_of_its_document(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml")

    def field(path: str) -> str:
        return cli.hooks("show", "last", "--field", path).out

    assert field("status") == "succeeded\n"
    assert field("nodes.loud.output") == "HELLO WORLD\n"
    assert json.loads(field("nodes.hello.output"))["exit_code"] == 0
    assert field("params.name") == "world\n"
    assert cli.hooks("show", "last", "--field", "nodes.lout").code == 7


def test_a_large_output_is_shown_though_it_stands_in_a_blob(cli: CommandLine) -> None:
    long_name = "x" * 20_000
    cli.hooks("run", "greeting.yaml", "-p", f"name={long_name}")

    assert cli.hooks("show", "last", "--field", "nodes.loud.output").out == f"HELLO {long_name.upper()}\n"
    assert cli.hooks("show", "last", "--json").document["output"] == {"loud": f"HELLO {long_name.upper()}"}
    assert "more characters" not in cli.hooks("show", "last").out
    assert max(map(len, cli.hooks("show", "last").out.splitlines())) < 500


def test_what_a_step_prints_cannot_reach_the_terminal(cli: CommandLine) -> None:
    """B39"""
    cli.write(
        "rude.yaml",
        "workflow_id: rude\nversion: 1\nnodes:\n  a: {executor: shell, read_only: true, "
        "input: {script: \"printf '\\\\033[2Jgone\\\\n' >&2; exit 1\"}}\n",
    )
    run = cli.hooks("run", "rude.yaml")

    for text in (run.err, cli.hooks("show", "last").out, cli.hooks("ls").out, cli.hooks("tail", "last").out):
        assert "\x1b" not in text
        assert "gone" in text or "[2J" in text
    assert cli.hooks("logs", "last", "a", "--stderr").out == "\x1b[2Jgone\n"


def test_logs_are_the_bytes_the_process_wrote(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml")

    assert cli.hooks("logs", "last", "bad", "--stderr").out == "went wrong\n"
    assert cli.hooks("logs", "last", "bad").out == ""
    assert cli.hooks("logs", "last", "bda").code == 7
    assert cli.hooks("logs", "last", "bad", "--stderr", "--json").document["text"] == "went wrong\n"


def _link_elsewhere(path: Path) -> None:
    path.with_name("elsewhere").write_text("a diary")
    path.symlink_to(path.with_name("elsewhere"))


@pytest.mark.parametrize(("put", "said"), [(_link_elsewhere, "a symbolic link"), (os.mkfifo, "a FIFO")])
def test_logs_print_nothing_that_was_put_in_place_of_what_the_process_wrote(
    cli: CommandLine, put: Callable[[Path], object], said: str
) -> None:
    cli.hooks("run", "failing.yaml")
    (stderr,) = [path for path in cli.runs.glob("*/attempts/*/stderr") if path.read_text() == "went wrong\n"]
    stderr.unlink()
    put(stderr)
    ended = cli.hooks("logs", "last", "bad", "--stderr")

    assert (ended.code, ended.out) == (9, "")
    assert f"{stderr}: it is {said}, not a file" in ended.err


def test_a_run_of_a_newer_version_is_not_called_damaged_goods(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml")
    log = cli.runs / cli.run_id() / "events.jsonl"
    first, *others = log.read_bytes().splitlines(keepends=True)
    head = open_line(first).replace(b'"schema_version":1', b'"schema_version":2')
    log.write_bytes(b"".join([close_line(head, FIRST_PREV)[0], *others]))
    ended = cli.hooks("show", "last")

    assert ended.code == 9
    assert "this version of hooks reads up to 1" in ended.err
    assert "fix: Install a newer version of hooks" in ended.err


def test_a_run_is_named_by_id_prefix_last_or_directory(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "alpha-1")
    cli.hooks("run", "greeting.yaml", "--run-id", "alpha-2")

    def shown(word: str) -> str:
        return cli.hooks("show", word, "--field", "run_id").out.strip()

    assert shown("alpha-1") == "alpha-1"
    assert shown("last") == "alpha-2"
    assert shown("last~1") == "alpha-1"
    assert shown("runs/alpha-1") == "alpha-1"
    ambiguous = cli.hooks("show", "alpha")
    assert ambiguous.code == 7
    assert "alpha-1, alpha-2" in ambiguous.err
    assert "Did you mean alpha-1" in cli.hooks("show", "alhpa-1").err


def test_what_only_reads_ends_quietly_when_nobody_reads(cli: CommandLine) -> None:
    """B41"""
    cli.hooks("run", "failing.yaml")

    for words in (["ls"], ["ls", "--json"], ["show", "last"], ["tail", "last"], ["verify", "last"], ["--help"]):
        ended = cli.into_closed_pipe(*words)
        assert (words, ended.code, ended.err) == (words, 0, "")


def test_a_step_whose_agent_is_asked_again_later_says_so_and_when(cli: CommandLine) -> None:
    """The delay of a call in its loop is shown like that between two attempts."""
    failing = CommandAgent(
        name="busy", argv=["sh", "-c", "echo busy >&2; exit 1"], error_classes={"retryable": ["busy"]}
    )
    step = agent_step("told", agent="busy", retry=Retry(max_attempts=2, base_ms=3_600_000))
    report = Runs(cli.directory).tick(step, agents=[failing], run_id="r")
    shown, told = cli.hooks("show", "r", "--json").document, cli.hooks("show", "r").out

    assert report.status.next_due_at is not None
    assert (shown["status"], shown["exit_code"]) == ("pending", 8)
    assert shown["next_due_at"] in told
    assert shown["nodes"]["told"]["status"] == "retrying"
