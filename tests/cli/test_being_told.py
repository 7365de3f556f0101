"""What the command line tells a person who got something slightly wrong, or who wants to know what goes on."""

from __future__ import annotations

import shutil
import signal
import subprocess

import pytest

from tests.cli.command import HOOKS, CommandLine


@pytest.mark.parametrize("words", [["--json", "--version"], ["--version", "--json"]])
def test_the_version_is_told_as_json_too(cli: CommandLine, words: list[str]) -> None:
    ended = cli.hooks(*words)

    assert (ended.code, ended.document["schema"]) == (0, "hooks.version/1")
    assert f"hooks {ended.document['version']}\n" == cli.hooks("--version").out


def test_a_version_that_cannot_be_written_is_a_message_and_no_traceback(cli: CommandLine) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*HOOKS, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, env=cli.environment, check=False
        )

    assert ended.returncode == 74
    assert ended.stderr.splitlines() == [
        "hooks: Cannot write to stdout: No space left on device.",
        "    fix: Free space where stdout leads, or have it lead elsewhere; then say it again.",
    ]


def test_options_without_a_command_ask_for_one(cli: CommandLine) -> None:
    ended = cli.hooks("--json")

    assert (ended.code, ended.error["message"]) == (2, "No command is named.")


def test_a_closed_stdin_is_an_empty_file(cli: CommandLine) -> None:
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *HOOKS, "run", "-"],
        capture_output=True,
        text=True,
        env=cli.environment,
        check=False,
    )

    assert (ended.returncode, ended.stderr.splitlines()[0]) == (2, "<stdin>:1:1: the file is empty")


@pytest.mark.parametrize("run_id", ["last", "-x"])
def test_a_run_id_that_commands_would_take_for_something_else_is_refused(cli: CommandLine, run_id: str) -> None:
    ended = cli.hooks("run", "greeting.yaml", f"--run-id={run_id}")

    assert (ended.code, ended.err.splitlines()[0]) == (2, f"hooks: {run_id!r} cannot be a run id.")
    assert not cli.runs.exists()


def test_words_that_can_match_nothing_are_told(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "one")

    def told(*words: str) -> tuple[int, str]:
        ended = cli.hooks(*words)
        return ended.code, ended.err.splitlines()[0]

    assert told("ls", "--status", "nonsense") == (2, "hooks: No run has the status 'nonsense'.")
    assert told("ls", "--workflow", "greetnig") == (7, "hooks: There is no run of a workflow 'greetnig'.")
    assert told("tail", "one", "--node", "helo") == (7, "hooks: Run one has no node 'helo'.")
    assert told("tail", "one", "--type", "nodde*") == (2, "hooks: No event type matches 'nodde*'.")
    assert told("ls", "--runs-dir", "nowhere") == (7, "hooks: There is no directory nowhere.")
    assert cli.hooks("ls", "--status", "failed").code == 0


def test_a_word_for_a_run_that_is_none_is_answered_by_what_it_looks_like(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml")
    (cli.directory / "c5").mkdir()

    assert "`last:WORKFLOW`" in cli.hooks("show", "last~x").err
    assert "The directory c5 here is no run directory" in cli.hooks("show", "c5").err
    assert "last:WORKFLOW" in cli.hooks("show", "--help").out + cli.hooks("show", "--help").err


def test_a_variable_that_looks_like_a_misspelt_param_is_warned_about(cli: CommandLine) -> None:
    ended = cli.hooks("run", "greeting.yaml", environment={"HOOKS_PARAM_NMAE": "x", "HOOKS_PARAM_OF_ANOTHER": "y"})

    assert (ended.code, ended.document) == (0, {"loud": "HELLO WORLD"})
    assert ended.err.splitlines()[:2] == [
        "warning: HOOKS_PARAM_NMAE is set, but this workflow has no such param",
        "    fix: did you mean `HOOKS_PARAM_NAME`?",
    ]
    assert "OF_ANOTHER" not in ended.err


def test_a_missing_workflow_file_has_a_fix_and_its_name_in_json(cli: CommandLine) -> None:
    (problem,) = cli.hooks("validate", "nope.yaml", "--json").document["files"][0]["problems"]
    ended = cli.hooks("run", "nope.yaml")

    assert (problem["file"], problem["line"], problem["message"]) == ("nope.yaml", None, "there is no such file")
    assert ended.code == 2
    assert "fix: correct the path" in ended.err
    assert "`failing.yaml`, `greeting.yaml`" in ended.err


def test_json_errors_have_one_shape(cli: CommandLine) -> None:
    cli.write("wrong.yaml", "workflow_id: x\nversion: 1\nnodes: {a: {executor: shell, argvv: 1, input: {argv: [x]}}}\n")
    of_a_file = cli.hooks("run", "wrong.yaml", "--json").error
    of_a_param = cli.hooks("run", "greeting.yaml", "-p", "nmae=x", "--json").error

    assert (of_a_file["file"], of_a_file["line"]) == ("wrong.yaml", 3)
    assert of_a_file["message"] == "unknown key `argvv` in the node `a`"
    assert "an executor call takes" in of_a_file["fix"]
    assert (of_a_param["message"], of_a_param["fix"]) == ("unknown param `nmae`", "did you mean `name`?")
    assert cli.hooks("run", "greeting.yaml", "-p", "nmae=x").err.startswith("hooks: unknown param `nmae`\n")


def test_what_a_validation_warns_of_is_no_error(cli: CommandLine) -> None:
    cli.write(
        "w.yaml",
        "workflow_id: x\nversion: 1\nnodes: {a: {executor: shell, input: {argv: [no-such-program]}}}\n",
    )
    ended, document = cli.hooks("validate", "w.yaml"), cli.hooks("validate", "w.yaml", "--json").document

    assert (ended.code, ended.out) == (0, "w.yaml: ok: x, 1 nodes\n")
    assert ended.err.startswith("w.yaml:3:45: warning: there is no program `no-such-program` in PATH here\n")
    assert [warning["line"] for warning in document["files"][0]["warnings"]] == [3]


def test_what_can_be_seen_without_running_stops_a_run_before_it_is_made(cli: CommandLine) -> None:
    text = (cli.directory / "greeting.yaml").read_text()
    cli.write("hooked.yaml", text + "hooks:\n  - {on: component_pre_execute, argv: [./gone.sh]}\n")

    ended = cli.hooks("run", "hooked.yaml")

    assert ended.code == 2
    assert ended.err.startswith(f"hooked.yaml:11:40: there is no file {cli.directory / 'gone.sh'}\n")
    assert not cli.runs.exists()


def test_a_runs_dir_that_cannot_be_one_says_that_nothing_was_started(cli: CommandLine) -> None:
    cli.write("file", "")

    ended = cli.hooks("run", "greeting.yaml", "--runs-dir", "file")

    assert ended.code == 74
    assert "fix: Name a directory: use another `--runs-dir`." in ended.err
    assert "recover" not in ended.err


def test_what_a_hook_printed_instead_of_an_answer_is_shown(cli: CommandLine) -> None:
    cli.write("h.yaml", "- {name: policy, on: component_pre_execute, argv: [sh, -c, 'cat >&2; echo deny']}\n")

    ended = cli.hooks("run", "greeting.yaml", "--hooks", "h.yaml")
    tail = cli.hooks("tail", "last", "--type", "hookDecided", "--no-follow")

    assert ended.code == 0
    assert "policy: ignored: not a JSON object: deny" in ended.err.splitlines()
    assert tail.out.count("policy: ignored: not a JSON object: deny") == 2


def test_what_python_prints_does_not_get_into_the_result(cli: CommandLine) -> None:
    cli.write(
        "loud.py",
        "import subprocess\n\n\ndef shout(prompt):\n    print('printed')\n"
        "    subprocess.run(['echo', 'echoed'], check=True)\n    return prompt\n",
    )
    cli.write(
        "loud.yaml",
        "workflow_id: loud\nversion: 1\nagents: {a: {kind: python, callable: 'loud.py:shout'}}\n"
        "nodes: {a: {agent: a, prompt: hi}}\n",
    )

    ended = cli.hooks("run", "loud.yaml", "--json")

    assert ended.document["output"] == {"a": "hi"}
    assert {"printed", "echoed"} <= {*ended.err.splitlines()}


def test_the_first_signal_tells_what_is_waited_for_and_the_second_ends_it(cli: CommandLine) -> None:
    file = cli.blocking(read_only=False)
    process = cli.start("run", file, "--grace", "1h")
    cli.wait_for_step()
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    lines = iter(process.stderr.readline, b"")

    told = next(line for line in lines if line.startswith(b"SIGINT"))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert told == b"SIGINT: waiting up to 1h for step to finish. A second signal kills at once.\n"
    assert process.returncode == -signal.SIGINT


def test_recover_names_the_run_first_and_says_what_an_earlier_driver_had_begun(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking()) as run:
        run.kill_driver()
        recovery = cli.start("recover", "last")
    _, err = recovery.communicate(timeout=60)

    assert err.decode().splitlines()[:2] == [cli.run_id(), "  step: succeeded, begun by an earlier driver"]


def test_a_copy_of_a_finished_run_is_left_alone_like_the_run_itself(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml", "--run-id", "original")
    copy = cli.directory / "copy"
    shutil.copytree(cli.runs / "original", copy)

    assert cli.hooks("recover", "./copy").code == 1
    assert cli.hooks("tick", "./copy").code == 1
    assert (copy / "events.jsonl").read_bytes() == (cli.runs / "original" / "events.jsonl").read_bytes()


def test_every_node_that_failed_is_named(cli: CommandLine) -> None:
    cli.write(
        "two.yaml",
        "workflow_id: two\nversion: 1\nnodes:\n"
        "  a: {executor: shell, read_only: true, input: {script: 'exit 3'}}\n"
        "  b: {executor: shell, read_only: true, input: {script: 'exit 4'}}\n",
    )
    ended = cli.hooks("run", "two.yaml", "-q")

    assert {line.split(":")[0] for line in ended.err.splitlines() if "ExitStatus" in line} == {"  a", "  b"}
    assert "Look closer, or try again, with:" in ended.err


@pytest.mark.parametrize(
    ("node", "command"),
    [
        ("{executor: shell, read_only: true, input: {script: 'exit 3'}}", "logs {run} a --stderr"),
        ("{agent: cat, prompt: text, output_schema: {type: object}}", "logs {run} a"),
        ("{executor: shell, read_only: true, input: {argv: [no-such-program]}}", None),
    ],
)
def test_logs_are_offered_where_the_process_said_something(cli: CommandLine, node: str, command: str | None) -> None:
    cli.write(
        "w.yaml",
        f"workflow_id: w\nversion: 1\nagents: {{cat: {{kind: command, argv: [cat]}}}}\nnodes:\n  a: {node}\n",
    )
    document = cli.hooks("run", "w.yaml", "--json").document
    run_id = document["run_id"]

    logs = [] if command is None else [f"hooks {command.format(run=run_id)}"]
    assert document["next"] == [f"hooks show {run_id} --node a", *logs, f"hooks retry {run_id}"]


def test_a_program_looked_for_in_the_wrong_directory_is_found_for_the_person(cli: CommandLine) -> None:
    workflow = cli.directory / "workflow"
    workflow.mkdir()
    script = workflow / "s.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    (workflow / "w.yaml").write_text(
        "workflow_id: w\nversion: 1\nnodes: {a: {executor: shell, input: {argv: [./s.sh]}}}\n"
    )

    ended = cli.hooks("run", "workflow/w.yaml")

    assert ended.code == 1
    assert f"There is {script}, but the paths of a step resolve from where the run was started." in ended.err


def test_a_run_that_goes_on_has_no_exit_code_yet(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking()):
        page = cli.hooks("show", "last").out

    assert ["Status", "running"] in [line.split() for line in page.splitlines()]


def test_nodes_that_failed_are_not_counted_as_succeeded(cli: CommandLine) -> None:
    cli.hooks("run", "failing.yaml")
    (row,) = cli.hooks("ls", "--json").document["runs"]

    assert (row["nodes_succeeded"], row["nodes_finished"], row["nodes_total"]) == (1, 2, 2)
    assert " 1/2 " in cli.hooks("ls").out
