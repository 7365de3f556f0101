"""`hooks run`: ids, output, params, and what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.cli.command import CommandLine


def test_the_id_comes_first_on_stderr_and_the_output_on_stdout(cli: CommandLine) -> None:
    ended = cli.hooks("run", "greeting.yaml")

    assert ended.code == 0
    assert ended.run_id == cli.run_id()
    assert ended.document == {"loud": "HELLO WORLD"}


def test_progress_can_be_turned_off(cli: CommandLine) -> None:
    ended = cli.hooks("run", "greeting.yaml", "-q")

    assert [line.split()[0] for line in ended.err.splitlines()] == [cli.run_id(), cli.run_id()]


def test_json_is_one_document_with_the_status_on_top(cli: CommandLine) -> None:
    document = cli.hooks("run", "greeting.yaml", "--json").document

    assert list(document)[:4] == ["schema", "run_id", "status", "exit_code"]
    assert document["schema"] == "hooks.run/1"
    assert document["run_id"] == cli.run_id()
    assert (document["status"], document["exit_code"]) == ("succeeded", 0)
    assert document["output"] == {"loud": "HELLO WORLD"}
    assert document["created_at"].endswith("Z")


def test_a_failed_run_names_the_node_the_error_and_the_next_command(cli: CommandLine) -> None:
    """B42"""
    ended = cli.hooks("run", "failing.yaml")

    assert (ended.code, ended.out) == (1, "")
    assert "bad: ExitStatus" in ended.err
    assert "went wrong" in ended.err
    assert f"hooks logs {cli.run_id()} bad --stderr" in ended.err


def test_the_log_is_whole_and_in_order(cli: CommandLine) -> None:
    run_id = cli.hooks("run", "greeting.yaml").run_id
    lines = cli.log_lines(run_id)

    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["prev"] for line in lines] == ["0" * 64, *(line["hash"] for line in lines[:-1])]
    assert (lines[0]["type"], lines[-1]["type"]) == ("runCreated", "runSucceeded")


def test_params_come_from_flag_before_file_before_environment_before_default(cli: CommandLine) -> None:
    cli.write("params.yaml", "name: file")
    environment = {"HOOKS_PARAM_NAME": "environment"}

    def output(*words: str) -> str:
        return str(cli.hooks("run", "greeting.yaml", *words, environment=environment).document["loud"])

    assert output() == "HELLO ENVIRONMENT"
    assert output("--params-file", "params.yaml") == "HELLO FILE"
    assert output("--params-file", "params.yaml", "-p", "name=flag") == "HELLO FLAG"


def test_a_workflow_may_come_on_stdin(cli: CommandLine) -> None:
    text = (cli.directory / "greeting.yaml").read_text()

    assert cli.hooks("run", "-", "-p", "name=you", stdin=text).document == {"loud": "HELLO YOU"}


def test_the_same_run_id_with_the_same_params_gives_the_same_result_again(cli: CommandLine) -> None:
    """B16"""
    first = cli.hooks("run", "greeting.yaml", "--run-id", "mine", "-p", "name=a")
    events = cli.log_lines("mine")

    again = cli.hooks("run", "greeting.yaml", "--run-id", "mine", "-p", "name=a")
    other = cli.hooks("run", "greeting.yaml", "--run-id", "mine", "-p", "name=b", "--json")

    assert (again.code, again.document) == (first.code, first.document)
    assert other.code == 2
    assert "name" in other.error["message"]
    assert cli.log_lines("mine") == events


def test_a_dry_run_checks_everything_and_makes_nothing(cli: CommandLine) -> None:
    ended = cli.hooks("run", "greeting.yaml", "--dry-run", "-p", "name=x", "--json")
    page = cli.hooks("run", "greeting.yaml", "--dry-run", "-p", "name=x").out

    assert 'name = "x"' in page
    assert ["loud", "shout", "hello"] in [line.split() for line in page.splitlines()]
    assert ended.document["params"] == {"name": "x"}
    assert [node["node"] for node in ended.document["nodes"]] == ["hello", "loud"]
    assert not cli.runs.exists()
    assert cli.hooks("run", "greeting.yaml", "--dry-run", "-p", "nmae=x").code == 2


def test_what_is_wrong_with_the_file_is_told_with_its_place_and_nothing_is_made(cli: CommandLine) -> None:
    cli.write(
        "wrong.yaml", "workflow_id: x\nversion: 1\nnodes:\n  a: {executr: shell}\n  b: {agent: nobody, prompt: x}\n"
    )

    ended = cli.hooks("run", "wrong.yaml")
    as_json = cli.hooks("run", "wrong.yaml", "--json")

    assert ended.code == 2
    assert "wrong.yaml:4:3: " in ended.err
    assert "Traceback" not in ended.err
    assert as_json.out == ""
    assert {(problem["file"], problem["line"]) for problem in as_json.error["problems"]} >= {("wrong.yaml", 4)}
    assert not cli.runs.exists()


def test_two_runs_in_the_same_instant_are_two_whole_runs(cli: CommandLine) -> None:
    """B28"""
    processes = [cli.start("run", "greeting.yaml", "--json") for _ in range(4)]
    documents = [json.loads(process.communicate(timeout=60)[0]) for process in processes]

    assert [process.returncode for process in processes] == [0] * 4
    assert len({document["run_id"] for document in documents}) == 4
    assert cli.hooks("verify", "--all").code == 0
    assert [path for path in cli.runs.iterdir() if path.name.startswith(".")] == []


def test_two_runs_of_one_id_are_one_run_and_one_refusal_or_its_result(cli: CommandLine) -> None:
    """B28"""
    processes = [cli.start("run", "greeting.yaml", "--run-id", "same") for _ in range(4)]
    for process in processes:
        process.communicate(timeout=60)

    assert {process.returncode for process in processes} <= {0, 6}
    assert 0 in {process.returncode for process in processes}
    assert [line["type"] for line in cli.log_lines("same")].count("runCreated") == 1
    assert cli.hooks("verify", "same").code == 0


def test_a_closed_stdout_stops_no_run(cli: CommandLine) -> None:
    """B41"""
    assert cli.into_closed_pipe("run", "greeting.yaml").code == 0
    assert cli.into_closed_pipe("run", "failing.yaml").code == 1
    assert [row["status"] for row in cli.hooks("ls", "--json").document["runs"]] == ["succeeded", "failed"]


def test_output_is_utf8_whatever_the_locale(cli: CommandLine) -> None:
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    cli.write("params.json", '{"name": "Zoë ☃"}')

    ended = cli.hooks("run", "greeting.yaml", "--params-file", "params.json", environment=environment)

    assert "☃" in ended.document["loud"]


def test_a_stdout_that_is_not_even_open_does_not_become_the_log(cli: CommandLine) -> None:
    """With `>&-` the next file that is opened gets descriptor 1."""
    script = f'exec "{sys.executable}" -m hooks_cli run greeting.yaml >&-'
    done = subprocess.run(
        ["sh", "-c", script], cwd=cli.directory, env=cli.environment, capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert cli.hooks("verify", "last").code == 0


def test_an_output_that_cannot_be_written_is_told_and_the_run_is_what_it_was(cli: CommandLine) -> None:
    with open("/dev/full", "wb") as full, cli.start("run", "greeting.yaml", stdout=full.fileno()) as process:
        _, err = process.communicate(timeout=60)

    assert process.returncode == 74
    assert b"Cannot write to stdout" in err
    assert cli.hooks("show", "last", "--field", "status").out == "succeeded\n"


@pytest.mark.parametrize("pair", ["x=\udcff", "\udcff=x"])
def test_meta_that_is_no_text_makes_no_run(cli: CommandLine, pair: str) -> None:
    refused = cli.hooks("run", "greeting.yaml", "--meta", pair)

    assert refused.code == 2
    assert f"--meta {os.fsencode(pair)!r} is not UTF-8" in refused.err


def test_a_directory_whose_name_no_log_can_carry_makes_no_run(cli: CommandLine) -> None:
    (cli.directory / "\udcff").mkdir()
    greeting = (cli.directory / "greeting.yaml").read_text(encoding="utf-8")

    refused = cli.hooks("run", cli.write("\udcff/w.yaml", greeting))

    assert refused.code == 2
    assert "workflow_directory: the log cannot carry it" in refused.err
