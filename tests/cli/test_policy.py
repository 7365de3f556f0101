"""`policy list|test|sample`, `schema payload`, `doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from hooks.definition.hook_points import HookType
from tests.cli.command import CommandLine

WORKFLOW = """\
workflow_id: notes
version: 1
hooks:
  - {name: hours, on: PreToolUse, argv: [./hours.sh], match: {executor: shell}}
  - {python: "budget.py:Budget"}
nodes:
  say:
    executor: shell
    input: {argv: [echo, hello]}
    hooks: [{name: look, on: effect_post_settle, argv: [./hours.sh], mode: audit}]
"""
BUDGET = """\
from hooks import HookType, Plugin, block, hook

class Budget(Plugin):
    priority = 10
    @hook(HookType.EFFECT_PRE_ATTEMPT)
    def before(self, payload):
        if payload.executor == "file":
            return block("no files")
    @hook(HookType.RUN_FINISHED)
    def end(self, payload): ...
"""


@pytest.fixture
def notes(cli: CommandLine) -> CommandLine:
    cli.write("notes.yaml", WORKFLOW)
    cli.write("budget.py", BUDGET)
    script(cli, "hours.sh", "exit 0")
    return cli


def script(cli: CommandLine, name: str, body: str, *, mode: int = 0o755) -> None:
    cli.write(name, f"#!/bin/sh\n{body}\n")
    (cli.directory / name).chmod(mode)


def test_list_shows_the_order_in_which_hooks_are_asked_and_where_each_comes_from(notes: CommandLine) -> None:
    notes.write("more.yaml", "- {name: last, on: effect_pre_attempt, argv: [jq, .], mode: concurrent}\n")

    ended = notes.hooks("policy", "list", "notes.yaml", "--hooks", "more.yaml", "--json")

    assert [
        (point["point"], [(hook["name"], hook["mode"], hook["priority"], hook["origin"]) for hook in point["hooks"]])
        for point in ended.document["points"]
    ] == [
        ("run_finished", [("Budget.end", "audit", 10, "workflow")]),
        (
            "effect_pre_attempt",
            [
                ("Budget.before", "sequential", 10, "workflow"),
                ("hours", "sequential", 50, "workflow"),
                ("last", "concurrent", 50, "flag"),
            ],
        ),
        ("effect_post_settle", [("look", "audit", 50, "node")]),
    ]
    assert "executor=shell" in notes.hooks("hook", "list", "notes.yaml").out


@pytest.mark.parametrize(
    ("body", "code", "outcome", "reason"),
    [
        ("exit 0", 0, "allow", None),
        ("""echo '{"modify": {"input": {"argv": ["true"]}}}'""", 0, "changed", None),
        ("echo late >&2; exit 2", 3, "block", "exit 2: late"),
        ("""echo '{"decision": "ask", "reason": "sure?"}'""", 4, "ask", "sure?"),
        ("echo broken >&2; exit 1", 1, "error", "exit 1: broken"),
    ],
)
def test_a_hook_is_tried_on_a_sample(
    notes: CommandLine, body: str, code: int, outcome: str, reason: str | None
) -> None:
    script(notes, "hours.sh", body)

    ended = notes.hooks("policy", "test", "hours", "--sample", "--workflow", "notes.yaml", "--json")

    assert ended.code == code
    assert (ended.document["outcome"], ended.document["reason"]) == (outcome, reason)
    assert ended.document["exit"] == {"block": 2, "error": 1}.get(outcome, 0)
    assert (
        f"hours at effect_pre_attempt (sequential): {outcome}"
        in notes.hooks("policy", "test", "hours", "--workflow", "notes.yaml").out
    )


def test_a_python_hook_is_tried_on_a_payload_of_ones_own(notes: CommandLine) -> None:
    payload = json.loads(notes.hooks("policy", "sample", "PreToolUse").out)
    notes.write("payload.json", json.dumps({**payload, "executor": "file"}))

    ended = notes.hooks("policy", "test", "Budget", "--payload", "payload.json", "--workflow", "notes.yaml", "--json")

    assert (ended.code, ended.document["reason"]) == (3, "no files")


def test_a_hook_is_tried_on_what_happened(notes: CommandLine) -> None:
    run_id = notes.hooks("run", "notes.yaml").run_id
    script(notes, "no.sh", """jq -r '.input.argv[1] + " " + .tool_name' >&2; exit 2""")
    notes.write("no.yaml", "- {name: no, on: [run_started, effect_pre_attempt], argv: [./no.sh]}\n")
    seq = next(line["seq"] for line in notes.log_lines(run_id) if line["type"] == "effectAttempted")

    at_event = notes.hooks("policy", "test", "no", "--run", run_id, "--seq", str(seq), "--hooks", "no.yaml", "--json")
    first = notes.hooks("policy", "test", "no", "--run", run_id, "--hooks", "no.yaml", "--json")
    nowhere = notes.hooks("policy", "test", "no", "--run", run_id, "--seq", "1", "--hooks", "no.yaml")
    pinned = notes.hooks("policy", "test", "hours", "--run", run_id, "--json")

    assert (at_event.document["hook"], at_event.document["reason"]) == ("effect_pre_attempt", "exit 2: hello Bash")
    assert first.document["hook"] == "run_started"
    assert nowhere.code == 7
    assert "Event 1 of run" in nowhere.err
    assert (pinned.code, pinned.document["outcome"]) == (0, "allow")


def test_a_hook_is_tried_on_calls_that_were_blocked_and_on_those_that_are_read_only(notes: CommandLine) -> None:
    script(notes, "hours.sh", "exit 2")
    notes.write("read.yaml", WORKFLOW.replace("    input:", "    read_only: true\n    input:"))

    for file in ("notes.yaml", "read.yaml"):
        run_id = notes.hooks("run", file).run_id
        decided = next(line["seq"] for line in notes.log_lines(run_id) if line["type"] == "hookDecided")
        newest = notes.hooks("policy", "test", "hours", "--run", run_id, "--json")
        at_event = notes.hooks("policy", "test", "hours", "--run", run_id, "--seq", str(decided))

        assert (newest.code, newest.document["node"], newest.document["outcome"]) == (3, "say", "block")
        assert at_event.out.splitlines()[1] == f"on: event {decided}, say"


def test_a_hook_is_tried_on_the_first_step_it_would_have_been_asked_about(notes: CommandLine) -> None:
    notes.write(
        "two.yaml",
        """\
workflow_id: two
version: 1
nodes:
  save: {executor: file, input: {path: a.txt, content: a}}
  one: {executor: shell, depends: [save], input: {argv: [echo, one]}}
  two: {executor: shell, depends: [one], for_each: [x, y], input: {argv: [echo, two]}}
""",
    )
    notes.write(
        "more.yaml",
        "- {name: shell, on: PreToolUse, argv: [./hours.sh], match: {executor: shell}, if: payload.item_index == 1}\n"
        "- {name: never, on: PreToolUse, argv: [./hours.sh], match: {executor: shell}, if: 'false'}\n",
    )
    run_id = notes.hooks("run", "two.yaml").run_id
    seq = next(line["seq"] for line in notes.log_lines(run_id) if line["type"] == "effectAttempted")

    tried = notes.hooks("policy", "test", "shell", "--run", run_id, "--hooks", "more.yaml", "--json")
    of_file = notes.hooks("policy", "test", "shell", "--run", run_id, "--seq", str(seq), "--hooks", "more.yaml")
    never = notes.hooks("policy", "test", "never", "--run", run_id, "--hooks", "more.yaml")

    assert (tried.document["node"], tried.document["place"]) == ("two", "two[1]")
    assert of_file.code == 7
    assert f"Event {seq} (save) of run {run_id} is not what its `match` chooses." in of_file.err
    assert "never at effect_pre_attempt (sequential): not asked, its `if` is false" in never.out


def test_one_hook_of_a_plugin_is_tried_by_the_name_that_list_shows(notes: CommandLine) -> None:
    tried = notes.hooks("policy", "test", "Budget.before", "--workflow", "notes.yaml")
    missing = notes.hooks("policy", "test", "Budget.befor", "--workflow", "notes.yaml")

    assert "Budget.before at effect_pre_attempt (sequential): allow" in tried.out
    assert missing.code == 2
    assert "There is Budget.end at run_finished, Budget.before at effect_pre_attempt." in missing.err


def test_a_hook_that_is_not_there_is_an_error_that_names_those_that_are(notes: CommandLine) -> None:
    ended = notes.hooks("policy", "test", "hour", "--workflow", "notes.yaml")

    assert ended.code == 2
    assert "There is no hook 'hour'; there is: hours, Budget, look." in ended.err


@pytest.mark.parametrize("point", list(HookType))
def test_a_sample_is_what_the_schema_says(cli: CommandLine, point: HookType) -> None:
    sample = json.loads(cli.hooks("policy", "sample", point).out)
    schema = cli.hooks("schema", "payload", point).document

    assert jsonschema_rs.validator_for(schema).is_valid(sample)
    assert set(schema["required"]) == set(sample)


def test_the_schema_of_all_payloads_tells_them_apart(cli: CommandLine) -> None:
    schema = cli.hooks("schema", "payload").document
    sample = json.loads(cli.hooks("policy", "sample", "wait_created").out)

    assert jsonschema_rs.Draft202012Validator(schema["oneOf"][0]).is_valid(sample) is False
    assert {each["properties"]["hook"]["const"] for each in schema["oneOf"]} == set(HookType)
    assert cli.hooks("schema", "payload", "run_start").code == 2


def test_doctor_and_list_flag_files_that_would_fail(notes: CommandLine) -> None:
    notes.write(
        "more.yaml",
        "- {name: behind, on: run_started, argv: [python3, behind.py]}\n"
        "- {name: nobody, on: run_started, argv: [no-such-program]}\n",
    )

    doctor = notes.hooks("doctor", "notes.yaml", "--hooks", "more.yaml", "--json")
    listed = notes.hooks("policy", "list", "notes.yaml", "--hooks", "more.yaml").out

    expected = {
        ("behind", f"there is no file {notes.directory}/behind.py"),
        ("nobody", "there is no program 'no-such-program' in PATH"),
    }
    assert doctor.code == 1
    assert {(each["hook"], each["problem"]) for each in doctor.document["problems"]} == expected
    for hook, problem in expected:
        assert f"  ! {hook}: {problem}" in listed


def test_doctor_loads_python_hooks_and_list_tells_a_problem_once(notes: CommandLine) -> None:
    notes.write("broken.py", "from hooks import PluginSet\nALL = PluginSet('all')\n")
    notes.write("more.yaml", "- {python: 'broken.py:ALL'}\n- {python: broken.py}\n- {python: acme}\n")

    doctor = notes.hooks("doctor", "--hooks", "more.yaml", "--json")
    listed = notes.hooks("policy", "list", "--hooks", "more.yaml").out

    problems = {each["hook"]: each["problem"] for each in doctor.document["problems"]}
    assert doctor.code == 1
    assert "A value of type str is no hook: 'all'" in problems["ALL"]
    assert problems["broken.py"] == """'broken.py' names a file and nothing in it; write "broken.py:function\""""
    assert problems["acme"].startswith("no plugin 'acme' is installed (entry points of hooks.plugins; there is: ")
    assert [listed.count(f"  ! {hook}: ") for hook in problems] == [1, 1, 1]


def test_doctor_tells_of_a_file_that_cannot_be_used_at_all(notes: CommandLine) -> None:
    (notes.directory / "hours.sh").chmod(0o644)

    doctor = notes.hooks("doctor", "notes.yaml")

    assert doctor.code == 1
    assert f"notes.yaml:4:42: {notes.directory}/hours.sh is not executable" in doctor.out


def test_doctor_flags_a_pinned_file_that_is_not_executable_any_more(notes: CommandLine) -> None:
    notes.write("waiting.yaml", WORKFLOW.replace("    input:", "    human_gate: {prompt: Go?}\n    input:"))
    run_id = notes.hooks("run", "waiting.yaml").run_id
    path = notes.directory / "hours.sh"
    path.chmod(0o644)

    doctor = notes.hooks("doctor", "--json")

    problem = f"{path} is not executable (chmod +x {path})"
    assert {(each["run"], each["hook"], each["problem"]) for each in doctor.document["problems"]} == {
        (run_id, "hours", problem),
        (run_id, "look", problem),
    }


def test_doctor_says_which_hooks_of_unfinished_runs_have_changed(notes: CommandLine) -> None:
    waiting = WORKFLOW.replace("    input:", "    human_gate: {prompt: Go?}\n    input:")
    notes.write("waiting.yaml", waiting)
    run_id = notes.hooks("run", "waiting.yaml").run_id
    assert notes.hooks("doctor").code == 0
    script(notes, "hours.sh", "exit 0 # edited")

    doctor = notes.hooks("doctor", "--json")
    listed = notes.hooks("policy", "list", "--run", run_id).out

    changed = f"{notes.directory / 'hours.sh'} has changed since the run began"
    assert {(each["run"], each["hook"], each["problem"]) for each in doctor.document["problems"]} == {
        (run_id, "hours", changed),
        (run_id, "look", changed),
    }
    assert f"  ! hours: {changed}" in listed


def test_nothing_to_complain_about_is_said_too(cli: CommandLine) -> None:
    assert cli.hooks("doctor").out == "No problems.\n"
    assert cli.hooks("policy", "list").out == "There are no hooks.\n"
    assert not Path(cli.runs).exists()


@pytest.mark.parametrize("words", [["list", "notes.yaml"], ["test", "Budget", "--workflow", "notes.yaml"]])
def test_what_a_hook_prints_is_no_part_of_the_document(notes: CommandLine, words: list[str]) -> None:
    notes.write("budget.py", "print('loading')\n" + BUDGET.replace("if payload", "print('asked')\n        if payload"))

    ended = notes.hooks("policy", *words, "--json")

    assert ended.document["schema"].startswith("hooks.")
    assert "loading" in ended.err
