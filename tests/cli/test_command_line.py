"""Words that make no sense, and how they are answered."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["rnu"], 2, "Did you mean `run`?"),
        (["xyzzy"], 2, "There is no command `xyzzy`."),
        (["ls", "--jsn"], 2, "Did you mean `--json`?"),
        (["run"], 2, "Missing argument 'FILE'"),
        (["report", "last"], 2, "`hooks report` is not supported yet."),
        (["run", "greeting.yaml", "--detach"], 2, "--detach is not supported yet."),
        (["run", "greeting.yaml", "--accept", "failed"], 2, "--accept 'failed' is none of waiting,"),
        (["run", "greeting.yaml", "--timeout", "soon"], 2, "--timeout soon"),
        (["run", "greeting.yaml", "--engine", "temporal"], 2, "--engine is not supported yet."),
        (["run", "greting.yaml"], 2, "greeting.yaml"),
        (["run", "greeting.yaml", "-j", "0"], 2, "-j"),
        (["run", "greeting.yaml", "-p", "nmae=x"], 2, "did you mean `name`?"),
        (["run", "greeting.yaml", "--grace", "soon"], 2, "--grace soon"),
        (["run", "greeting.yaml", "--meta", "x"], 2, "x=value"),
        (["run", "greeting.yaml", "--durability", "none"], 2, "neither strict nor relaxed"),
        (["run", "greeting.yaml", "--run-id", "../x"], 2, "../x"),
        (["show", "nothing"], 7, "There is no run 'nothing'"),
        (["recover"], 2, "No run is named."),
        (["recover", "x", "--all"], 2, "exclude each other"),
        (["cancel"], 2, "No run is named."),
        (["approve", "nothing"], 7, "There is no run 'nothing'"),
        (["resolve", "x", "y"], 2, "exactly one of --done, --retry and --failed"),
        (["resolve", "x", "y", "--done", "--retry"], 2, "exactly one of --done, --retry and --failed"),
        (["resolve", "x", "y", "--failed", "--output", "1"], 2, "--output only goes with --done"),
        (["resolve", "x", "y", "--done", "--output", "{"], 2, "--output is no JSON"),
        (["resolve", "x", "y", "--done", "--new-key"], 2, "--new-key only goes with --retry"),
        (["gc", "--older-than", "old"], 2, "--older-than old"),
    ],
)
def test_a_mistake_gets_a_message_and_a_code(cli: CommandLine, words: list[str], code: int, said: str) -> None:
    ended = cli.hooks(*words)

    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_without_a_word_it_shows_its_help_and_says_that_nothing_was_done(cli: CommandLine) -> None:
    ended = cli.hooks()

    assert ended.code == 2
    assert ended.err == cli.hooks("--help").out


def test_with_json_an_error_is_one_object(cli: CommandLine) -> None:
    ended = cli.hooks("ls", "--jsn", "--json")

    assert ended.error == {
        "code": "Usage",
        "exit": 2,
        "message": "`hooks ls` has no option `--jsn`.",
        "fix": "Did you mean `--json`?",
        "run": None,
        "file": None,
        "line": None,
    }


def test_the_runs_dir_may_stand_before_or_after_the_command(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--runs-dir", "elsewhere", "--run-id", "there")

    assert cli.hooks("--runs-dir", "elsewhere", "ls", "-q").out == "there\n"
    assert cli.hooks("ls", "-q", "--runs-dir", "elsewhere").out == "there\n"
    assert cli.hooks("--json", "ls").document["runs"] == []


def test_validate_prints_all_problems_of_all_files(cli: CommandLine) -> None:
    cli.write("one.yaml", "workflow_id: x\nversion: 1\nnodes: {a: {executr: shell}}\n")
    cli.write("two.yaml", "workflow_id: y\nversion: 1\nnodes: {b: {agent: nobody, prompt: hi}}\n")

    ended = cli.hooks("validate", "one.yaml", "greeting.yaml", "two.yaml")
    document = cli.hooks("validate", "one.yaml", "greeting.yaml", "two.yaml", "--json").document

    assert ended.code == 2
    assert "one.yaml:3:" in ended.err
    assert "two.yaml:3:" in ended.err
    assert "greeting.yaml: ok" in ended.out
    assert [file["valid"] for file in document["files"]] == [False, True, False]
    assert cli.hooks("validate", "greeting.yaml").code == 0


def test_a_binary_file_gets_a_message(cli: CommandLine) -> None:
    (cli.directory / "binary.yaml").write_bytes(bytes(range(256)))
    cli.write("deep.yaml", "[" * 5_000)
    cli.write("empty.yaml", "")

    ended = cli.hooks("validate", "binary.yaml", "deep.yaml", "empty.yaml")

    assert ended.code == 2
    assert "Traceback" not in ended.err
    assert {line.split(":")[0] for line in ended.err.splitlines() if not line.startswith(" ")} == {
        "binary.yaml",
        "deep.yaml",
        "empty.yaml",
    }
