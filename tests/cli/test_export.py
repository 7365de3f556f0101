"""`hooks export`: a run as one file that can be read, verified and replayed elsewhere, and holds no secret."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from tests.cli.command import HOOKS, CommandLine, Ended
from tests.cli.workflows import ONE_GATE

RECORDED = Path(__file__).parents[2] / "sample_runs" / "review_loop" / "recorded" / "review-loop-sample"
VALUE = 'pass"word/zwölf'
ENVIRONMENT = {"TOKEN": VALUE}
"""Needs escapes in JSON, and has a character of two bytes."""

LEAKING = """\
workflow_id: leaking
version: 1
params: {token: {type: string, default: none}}
agents: {echo: {kind: command, argv: [cat]}}
nodes:
  printed: {executor: shell, read_only: true, input: {argv: [printenv, TOKEN]}}
  large: {executor: shell, read_only: true, depends: [printed], input: {script: 'seq 3000; printenv TOKEN'}}
  encoded: {executor: shell, read_only: true, input: {script: 'printenv TOKEN | base64'}}
  asked: {agent: echo, depends: [large, encoded], prompt: "${params.token} ${printed.output} ${large.output.stdout}"}
  kept: {executor: file, depends: [asked], input: {path: out.txt, content: "${printed.output.stdout}"}}
"""
ESCAPED = json.dumps(VALUE, ensure_ascii=False)[1:-1]
ENCODED = base64.b64encode(VALUE.encode()).decode()[:-4]
"""Without its end, which depends on what follows."""


def unpacked(cli: CommandLine, archive: str) -> Path:
    """The run that an archive holds, elsewhere."""
    elsewhere = cli.directory / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    subprocess.run(["tar", "xzf", cli.directory / archive, "-C", elsewhere], check=True)
    (top,) = elsewhere.iterdir()
    return top


def everything_in(archive: Path) -> bytes:
    """Names and contents, as they are in the tar."""
    return gzip.decompress(archive.read_bytes())


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("workflow_id: leaking", "workflow_id: hunter-two", "The workflow_id of workflow.json"),
        ("  kept:", "  hunter-two:", "The id of node 5 of workflow.json"),
    ],
)
def test_an_id_that_is_a_secret_is_refused_with_where_it_stands(
    cli: CommandLine, old: str, new: str, place: str
) -> None:
    """All of a run is named by it, so that the copy without it would be another run. The value itself is not said."""
    cli.write("leaking.yaml", LEAKING.replace(old, new))
    assert cli.hooks("run", "leaking.yaml", "--run-id", "r", "-q", environment={"TOKEN": "x"}).code == 0

    refused = cli.hooks("export", "r", "--mask", "SECRET", environment={"SECRET": "hunter-two"})

    assert refused.code == 2
    assert f"hooks: {place}" in refused.err
    assert "holds a value that is to be masked" in refused.err
    assert "unset its variable" in refused.err
    assert "hunter-two" not in refused.err


@pytest.fixture
def leaking(cli: CommandLine) -> CommandLine:
    """A run that holds a value everywhere: nobody has said that it is a secret."""
    cli.write("leaking.yaml", LEAKING)
    ended = cli.hooks("run", "leaking.yaml", "--run-id", "leak", "-p", f"token={VALUE}", environment=ENVIRONMENT)
    assert ended.code == 0, ended.err
    return cli


def exported(cli: CommandLine, *words: str) -> Ended:
    ended = cli.hooks("export", *words, environment=ENVIRONMENT)
    assert ended.code == 0, ended.err
    return ended


def test_an_unpacked_archive_is_the_run(cli: CommandLine) -> None:
    exported(cli, str(RECORDED))
    run = unpacked(cli, "review-loop-sample.tar.gz")

    def said(*words: str) -> list[str]:
        return [cli.hooks(*words[:1], where, *words[1:]).out for where in (str(RECORDED), str(run))]

    assert run.name == "review-loop-sample"
    assert cli.hooks("verify", str(run)).out == "review-loop-sample: intact\n"
    assert len(set(said("replay"))) == 1
    assert len(set(said("logs", "notes[0]"))) == 1
    shown = [json.loads(out) for out in said("show", "--json")]
    assert shown[0]["output"] == shown[1]["output"]
    assert (run / "events.jsonl").read_bytes() == (RECORDED / "events.jsonl").read_bytes()
    assert {path.name for path in run.iterdir()} == {"attempts", "events.jsonl", "export.json", "workflow.json"}


def test_an_archive_says_where_it_came_from(cli: CommandLine) -> None:
    document = exported(cli, str(RECORDED), "--json").document
    manifest = json.loads((unpacked(cli, "review-loop-sample.tar.gz") / "export.json").read_bytes())
    last = json.loads((RECORDED / "events.jsonl").read_bytes().splitlines()[-1])

    assert (manifest["schema"], manifest["run_id"], manifest["events"]) == (
        "hooks.archive/1",
        "review-loop-sample",
        120,
    )
    assert (manifest["origin_last_hash"], manifest["last_hash"], manifest["masked"]) == (last["hash"], last["hash"], [])
    (archive,) = document["archives"]
    assert document["schema"] == "hooks.export/1"
    assert archive["file"] == str(cli.directory / "review-loop-sample.tar.gz")
    assert archive["bytes"] == (cli.directory / "review-loop-sample.tar.gz").stat().st_size


def test_the_same_run_is_the_same_bytes_wherever_and_whenever(cli: CommandLine, tmp_path: Path) -> None:
    copy = shutil.copytree(RECORDED, tmp_path / "renamed")
    os.utime(copy / "workflow.json", (1, 1))
    exported(cli, str(RECORDED), "-o", "one.tar.gz")
    exported(cli, str(copy), "-o", "two.tar.gz")

    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


def test_a_copy_that_could_go_on_is_not_moved(cli: CommandLine) -> None:
    cli.write("gate.yaml", ONE_GATE)
    cli.hooks("run", "gate.yaml", "--run-id", "gated")
    exported(cli, "gated")
    run = unpacked(cli, "gated.tar.gz")

    assert cli.hooks("show", str(run), "--json").document["status"] == "waiting"
    assert cli.hooks("recover", str(run)).code == 6
    assert "--take-over" in cli.hooks("recover", str(run)).err


def test_no_form_of_a_value_is_in_the_archive(leaking: CommandLine) -> None:
    """In events, params, prompts, blobs, sidecars, what processes printed and were given."""
    exported(leaking, "leak", "-o", "plain.tar.gz")
    exported(leaking, "leak", "-o", "masked.tar.gz", "--mask", "TOKEN")
    plain, masked = (everything_in(leaking.directory / name) for name in ("plain.tar.gz", "masked.tar.gz"))

    assert [form for form in (VALUE, ESCAPED, ENCODED) if form.encode() not in plain] == []
    assert [form for form in (VALUE, ESCAPED, json.dumps(VALUE)[1:-1], ENCODED) if form.encode() in masked] == []


def test_what_was_masked_holds_together_and_is_told(leaking: CommandLine) -> None:
    ended = exported(leaking, "leak", "--mask", "TOKEN")
    run = unpacked(leaking, "leak.tar.gz")
    origin = leaking.runs / "leak"
    masked = json.loads((run / "export.json").read_bytes())["masked"]

    assert leaking.hooks("verify", str(run)).out == "leak: intact\n"
    assert leaking.hooks("replay", str(run)).code == 0
    assert leaking.hooks("logs", str(run), "printed").out == "*" * len(VALUE.encode()) + "\n"
    assert VALUE.encode() in (origin / "events.jsonl").read_bytes().replace(b'\\"', b'"'), "the origin is as it was"
    assert {place.split("/")[0].split(",")[0] for place in masked} == {"events.jsonl", "blobs", "attempts"}
    assert {place.rsplit("/", 1)[-1] for place in masked if place.startswith("attempts/")} >= {
        "stdout",
        "effect-input.json",
    }
    assert f"masked: {masked[0]}" in ended.err
    assert VALUE not in ended.err


def test_sizes_stay_what_they_were(leaking: CommandLine) -> None:
    exported(leaking, "leak", "--mask", "TOKEN")
    run, origin = unpacked(leaking, "leak.tar.gz"), leaking.runs / "leak"

    def sizes(top: Path) -> dict[str, int]:
        places = [*top.glob("attempts/*/std*"), *top.glob("attempts/*/exit.json")]
        return {str(path.relative_to(top)): path.stat().st_size for path in places}

    assert sizes(run) == sizes(origin)


def test_a_secret_that_the_definition_holds_takes_revision_and_keys_along(cli: CommandLine) -> None:
    """Where a person has put it into the workflow itself; the effect's key follows from that."""
    cli.write(
        "literal.yaml",
        "workflow_id: literal\nversion: 1\nnodes:\n"
        "  kept: {executor: file, input: {path: out.txt, content: 'open sesame'}}\n",
    )
    cli.hooks("run", "literal.yaml", "--run-id", "literal")
    ended = cli.hooks("export", "literal", "--mask", "WORD", environment={"WORD": "open sesame"})
    run = unpacked(cli, "literal.tar.gz")

    assert ended.code == 0, ended.err
    assert b"open sesame" not in everything_in(cli.directory / "literal.tar.gz")
    assert cli.hooks("verify", str(run)).out == "literal: intact\n"
    assert cli.hooks("replay", str(run)).code == 0


def test_secrets_that_the_workflow_names_are_searched_for_unasked(cli: CommandLine) -> None:
    """The second net: here the run was made while the variable held something else."""
    cli.write(
        "secret.yaml",
        "workflow_id: named\nversion: 1\nnodes:\n"
        "  call:\n    executor: shell\n    read_only: true\n    secrets: [KEY, PIN, GONE, NOTHING]\n"
        "    input: {argv: [echo, the-old-value]}\n",
    )
    environment = {"KEY": "another-value", "PIN": "1234", "GONE": "gone-value", "NOTHING": "nothing-yet"}
    assert cli.hooks("run", "secret.yaml", "--run-id", "named", environment=environment).code == 0
    ended = cli.hooks("export", "named", "--json", environment={"KEY": "the-old-value", "PIN": "1234", "NOTHING": ""})

    assert b"the-old-value" not in everything_in(cli.directory / "named.tar.gz")
    (archive,) = ended.document["archives"]
    assert (archive["searched_for"], archive["not_searched_for"]) == (["KEY"], ["GONE", "NOTHING", "PIN"])
    assert "GONE is not set here" in ended.err
    assert "NOTHING is empty here" in ended.err
    assert "PIN is shorter than 8 bytes" in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mask", "GONE"], "--mask GONE: there is no such variable."),
        (["--mask", "NOTHING"], "--mask NOTHING: that variable is empty."),
        (["-o", ""], "-o '': this is no name of a file."),
    ],
)
def test_what_cannot_be_meant_is_refused(cli: CommandLine, words: list[str], said: str) -> None:
    ended = cli.hooks("export", str(RECORDED), *words, environment={"NOTHING": ""})

    assert (ended.code, said in ended.err) == (2, True), ended.err
    assert not list(cli.directory.glob("*.tar.gz"))


def test_a_value_in_the_name_of_a_file_and_in_a_key_is_found(cli: CommandLine) -> None:
    cli.write(
        "keys.yaml",
        "workflow_id: keys\nversion: 1\n"
        'agents: {maker: {kind: command, argv: [echo, \'{"open-sesame": 1, "open-barley": 2}\'], output: text}}\n'
        "nodes: {make: {agent: maker, prompt: x, output_schema: {type: object}}}\n",
    )
    cli.hooks("run", "keys.yaml", "--run-id", "keys")
    (attempt,) = (cli.runs / "keys" / "attempts").iterdir()
    (attempt / "open-sesame.txt").write_text("x")
    (attempt / "effect-input.json").write_text('{"half": "open-sesame')
    words = {"ONE": "open-sesame", "TWO": "open-barley"}
    ended = cli.hooks("export", "keys", "--mask", "ONE", "--mask", "TWO", environment=words)
    run = unpacked(cli, "keys.tar.gz")

    assert ended.code == 0, ended.err
    left = everything_in(cli.directory / "keys.tar.gz")
    assert [word for word in words.values() if word.encode() in left] == []
    assert (run / "attempts" / attempt.name / ("*" * 11 + ".txt")).exists()
    output = cli.hooks("show", str(run), "--json").document["output"]
    assert sorted(output["make"].items()) == [("*" * 11, 1), ("*" * 10 + "2", 2)]


def test_a_value_that_the_log_cannot_do_without_is_refused(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "greeting-1")
    in_the_id = cli.hooks("export", "greeting-1", "--mask", "X", environment={"X": "greeting-1"})
    in_the_format = cli.hooks("export", "greeting-1", "--mask", "X", environment={"X": "activityId"})

    assert (in_the_id.code, in_the_format.code) == (2, 2)
    assert "The id of the run holds a value that is to be masked" in in_the_id.err
    assert "greeting-1.tar.gz" not in os.listdir(cli.directory)


def test_a_live_run_is_written_as_far_as_it_has_come(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking(read_only=False)):
        ended = cli.hooks("export", "last", "-o", "live.tar.gz")
        run = unpacked(cli, "live.tar.gz")
        shown = cli.hooks("show", str(run), "--json").document["status"]

    assert ended.code == 0, ended.err
    assert cli.hooks("verify", str(run)).code == 0
    assert shown == "interrupted", "nobody drives the copy"
    assert cli.hooks("show", "last", "--json").document["status"] == "succeeded", "the run was left in peace"


def test_a_damaged_run_is_refused_with_the_place(cli: CommandLine) -> None:
    damaged = shutil.copytree(RECORDED, cli.directory / "damaged")
    log = damaged / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"total lacks', b'"TOTAL lacks', 1))
    ended = cli.hooks("export", str(damaged), "-o", "out.tar.gz")

    assert ended.code == 9
    assert "events.jsonl, line 24, byte" in ended.err
    assert "out.tar.gz" not in os.listdir(cli.directory)


def test_of_several_runs_the_good_ones_are_written(cli: CommandLine) -> None:
    for name in ("one", "two"):
        cli.hooks("run", "greeting.yaml", "--run-id", name, "-q")
    log = cli.runs / "one" / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"HELLO", b"HALLO"))
    archives = cli.hooks("export", "--all", "--json")
    traces = cli.hooks("export", "--all", "--otlp", "-o", "traces.jsonl", "--json")

    assert (archives.code, traces.code) == (9, 9)
    assert [archive["run_id"] for archive in archives.document["archives"]] == ["two"]
    assert [trace["run_id"] for trace in traces.document["traces"]] == ["two"]
    assert cli.hooks("export", "--all", "-o", "both.tar.gz").code == 2


@pytest.mark.parametrize("planted", ["file", "attempt", "attempts"])
def test_what_was_planted_is_not_followed(cli: CommandLine, planted: str) -> None:
    run = shutil.copytree(RECORDED, cli.directory / "planted")
    (cli.directory / "private").mkdir()
    (cli.directory / "private" / "stdout").write_text("a diary")
    attempt = sorted((run / "attempts").iterdir())[0]
    if planted == "file":
        (attempt / "extra").symlink_to(cli.directory / "private" / "stdout")
        os.mkfifo(attempt / "pipe")
    else:
        place = attempt if planted == "attempt" else run / "attempts"
        shutil.rmtree(place)
        place.symlink_to(cli.directory / "private")
    ended = cli.hooks("export", str(run), "-o", "out.tar.gz")

    assert ended.code == (0 if planted == "file" else 9)
    if planted == "file":
        assert b"a diary" not in everything_in(cli.directory / "out.tar.gz")
        with tarfile.open(cli.directory / "out.tar.gz") as archive:
            assert all(member.isreg() or member.isdir() for member in archive)


def test_a_file_that_is_there_stays_unless_it_may_be_replaced(cli: CommandLine) -> None:
    (cli.directory / "mine").write_text("mine")
    refused = cli.hooks("export", str(RECORDED), "-o", "mine")
    assert (refused.code, (cli.directory / "mine").read_text()) == (2, "mine")

    exported(cli, str(RECORDED), "-o", "mine", "--force")
    assert tarfile.is_tarfile(cli.directory / "mine")
    assert [name for name in os.listdir(cli.directory) if name.endswith(".tmp")] == []


def test_stdout_is_the_archive(cli: CommandLine) -> None:
    written = subprocess.run(
        [*HOOKS, "export", str(RECORDED), "-o", "-"], cwd=cli.directory, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(written.stdout)) as archive:
        assert archive.getnames()[0] == "review-loop-sample"
    assert cli.hooks("export", str(RECORDED), "-o", "-", "--json").code == 2
    assert cli.into_closed_pipe("export", str(RECORDED), "-o", "-").code == 0


@pytest.mark.parametrize("words", [[], ["--otlp"]])
def test_a_stdout_that_takes_nothing_is_told_with_its_place(cli: CommandLine, words: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        ended = cli.start("export", str(RECORDED), *words, "-o", "-", stdout=full.fileno())
        _, err = ended.communicate(timeout=60)

    assert ended.returncode == 74
    assert b"Cannot write to stdout: No space left on device.\n    fix: " in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_export_that_is_ended_leaves_nothing_beside_its_file(cli: CommandLine, number: int) -> None:
    with cli.under_way(cli.blocking()):
        export = cli.start("export", "last", "--otlp", "--follow", "-o", "spans.jsonl")
        while not list(cli.directory.glob(".spans.jsonl.*")):
            assert export.poll() is None
            time.sleep(0.01)
        export.send_signal(number)
        export.communicate(timeout=60)

    assert export.returncode == -number
    assert list(cli.directory.glob("*spans*")) == list(cli.directory.glob(".*spans*")) == []
