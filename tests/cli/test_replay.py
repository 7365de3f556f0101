"""`hooks replay`: its words, codes and documents."""

from __future__ import annotations

import os
import signal

import pytest

from hooks import load_workflow, start_run
from hooks.clock import SystemClock
from tests.cli.command import CommandLine

WORKFLOW = """\
workflow_id: notes
version: 1
nodes:
  say: {executor: shell, read_only: true, input: {argv: [echo, hello]}}
  keep: {executor: file, depends: [say], input: {path: out.txt, mode: append, content: x}}
"""
POLICY = (
    "hooks: [{name: no-files, on: PreToolUse, match: {executor: file}, argv: [sh, -c, 'echo no files >&2; exit 2']}]\n"
)


@pytest.fixture
def notes(cli: CommandLine) -> CommandLine:
    cli.write("notes.yaml", WORKFLOW)
    cli.write("policy.yaml", POLICY)
    for name in ("one", "two"):
        assert cli.hooks("run", "notes.yaml", "--run-id", name, "-q").code == 0
    return cli


def test_a_run_is_decided_again_with_its_timeline(notes: CommandLine) -> None:
    ended = notes.hooks("replay", "one")

    assert ended.code == 0
    lines = ended.out.splitlines()
    assert [line.split()[2] for line in lines[:3]] == ["runCreated", "runStarted", "attemptCreated"]
    assert lines[-1] == f"one: the same: {lines[-1].split()[3]} decisions among {len(lines) - 1} events"


def test_several_runs_are_told_in_a_line_each(notes: CommandLine) -> None:
    ended = notes.hooks("replay", "--all")

    assert ended.code == 0
    *runs, total = ended.out.splitlines()
    assert [line.split(": ")[0] for line in runs] == ["one", "two"]
    assert total == "2 runs: 2 the same, 0 differ"


def test_the_timeline_can_be_left_out(notes: CommandLine) -> None:
    (line,) = notes.hooks("replay", "one", "-q").out.splitlines()

    assert line.startswith("one: the same: ")


def test_the_runs_that_differ_are_counted(notes: CommandLine) -> None:
    notes.write("changed.yaml", WORKFLOW.replace("content: x", "content: y"))
    (log,) = notes.directory.rglob("one/events.jsonl")
    log.write_bytes(b"x" + log.read_bytes())

    ended = notes.hooks("replay", "one", "two", "--workflow", "changed.yaml")
    document = notes.hooks("replay", "one", "two", "--workflow", "changed.yaml", "--json").document

    assert ended.code == 9
    assert ended.out.splitlines()[-1] == "2 runs: 0 the same, 1 differs, 1 could not be replayed"
    assert document["totals"] == {"runs": 2, "same": 0, "differ": 1, "unread": 1}


def test_a_changed_definition_parts_from_the_run_at_an_event(notes: CommandLine) -> None:
    notes.write("changed.yaml", WORKFLOW.replace("depends: [say], ", ""))

    ended = notes.hooks("replay", "one", "--workflow", "changed.yaml", "--json")

    assert ended.code == 9
    (run,) = ended.document["runs"]
    assert run["first_difference"]["type"] == "runSucceeded"
    assert not run["same"]


def test_a_step_that_would_be_given_something_else_is_told(notes: CommandLine) -> None:
    notes.write("changed.yaml", WORKFLOW.replace("echo, hello", "echo, goodbye"))

    ended = notes.hooks("replay", "one", "--workflow", "changed.yaml")

    assert ended.code == 9
    told = ended.out.splitlines()
    parted = told.index("one: event 3 is attemptCreated of say; its input would be different")
    assert [line.strip() for line in told[parted + 1 :]] == [
        "input:",
        '"echo",',
        '-    "hello"',
        '+    "goodbye"',
        "]",
    ]
    document = notes.hooks("replay", "one", "--workflow", "changed.yaml", "--json").document
    assert document["runs"][0]["first_difference"]["changed"] == {
        "input": {"before": {"argv": ["echo", "hello"]}, "after": {"argv": ["echo", "goodbye"]}}
    }


def test_of_a_long_line_is_shown_where_it_parts(notes: CommandLine) -> None:
    long = "words " * 50
    notes.write("long.yaml", WORKFLOW.replace("content: x", f"content: '{long}old'"))
    assert notes.hooks("run", "long.yaml", "--run-id", "long", "-q").code == 0
    notes.write("changed.yaml", WORKFLOW.replace("content: x", f"content: '{long}new'"))

    told = notes.hooks("replay", "long", "-q", "--workflow", "changed.yaml").out.splitlines()

    assert [line.strip() for line in told if "…" in line] == [
        f'{sign}…{long[-40:]}{word}",' for sign, word in (("-", "old"), ("+", "new"))
    ]


def test_all_runs_are_those_of_the_changed_workflow(notes: CommandLine) -> None:
    notes.write("other.yaml", WORKFLOW.replace("workflow_id: notes", "workflow_id: other"))
    assert notes.hooks("run", "other.yaml", "--run-id", "three", "-q").code == 0

    ended = notes.hooks("replay", "--all", "--workflow", "other.yaml")

    assert (ended.code, [line.split(": ")[0] for line in ended.out.splitlines() if ": " in line]) == (
        0,
        ["three", "1 run"],
    )
    named = notes.hooks("replay", "one", "--workflow", "other.yaml")
    assert named.code == 9
    assert "one: event 1 is runCreated, which could not be: the run is of workflow 'notes', not 'other'" in named.out


def test_a_policy_is_tested_on_every_run_and_nothing_is_done(notes: CommandLine) -> None:
    (log,) = notes.directory.rglob("one/events.jsonl")
    before = log.read_bytes()

    ended = notes.hooks("replay", "--all", "--hooks", "policy.yaml")

    assert ended.code == 3
    assert ended.out.splitlines()[-2:] == [
        f"2 runs, {ended.out.splitlines()[-2].split()[2]} events, 2 points asked: 2 runs differ, 2 would be stopped",
        "  no-files: would block 2",
    ]
    assert "keep  effect_pre_attempt  would block  no-files: exit 2: no files" in ended.out
    assert (notes.directory / "out.txt").read_text() == "xx"
    assert log.read_bytes() == before


def test_the_document_has_every_finding(notes: CommandLine) -> None:
    document = notes.hooks("replay", "one", "--hooks", "policy.yaml", "--json").document

    assert (document["schema"], document["exit_code"]) == ("hooks.backtest/1", 3)
    (run,) = document["runs"]
    (finding,) = run["findings"]
    assert {name: finding[name] for name in ("node", "point", "said", "assumed", "plugin", "reason")} == {
        "node": "keep",
        "point": "effect_pre_attempt",
        "said": "would_block",
        "assumed": False,
        "plugin": "no-files",
        "reason": "exit 2: no files",
    }


ROUNDS = """\
workflow_id: rounds
version: 1
nodes:
  read: {executor: shell, read_only: true, for_each: [a, b], input: {argv: [echo, "${item}"]}}
  rounds: {body: [draft, ok], max_iterations: 2, depends: [read], terminate: {node: ok, via: human_gate}}
  draft: {executor: shell, read_only: true, input: {argv: [echo, draft]}}
  ok: {type: decision, depends: [draft], human_gate: {prompt: "Good?"}}
"""


@pytest.fixture
def rounds(cli: CommandLine) -> CommandLine:
    """Two rounds, of which the second has been approved."""
    cli.write("rounds.yaml", ROUNDS)
    assert cli.hooks("run", "rounds.yaml", "--run-id", "rounds", "-q").code == 4
    for word in ("reject", "approve"):
        assert cli.hooks(word, "rounds").code == 0
        cli.hooks("recover", "rounds", "-q")
    return cli


def test_an_item_and_a_round_are_named_where_something_is_found(rounds: CommandLine) -> None:
    rounds.write("policy.yaml", POLICY.replace("executor: file", "executor: shell"))

    ended = rounds.hooks("replay", "rounds", "--hooks", "policy.yaml")
    document = rounds.hooks("replay", "rounds", "--hooks", "policy.yaml", "--json").document

    places = ["read[0]", "read[1]", "rounds.1/draft", "rounds.2/draft"]
    assert [line.split()[1] for line in ended.out.splitlines() if "would block" in line][:4] == places
    findings = document["runs"][0]["findings"]
    assert [finding["place"] for finding in findings] == places
    assert [finding["node"] for finding in findings] == ["read", "read", "draft", "draft"]
    assert findings[3]["activity_id"] == "rounds::loop::rounds.2::work::draft"


def test_an_item_and_a_round_are_named_where_a_changed_definition_parts(rounds: CommandLine) -> None:
    rounds.write("items.yaml", ROUNDS.replace("${item}", "${index}"))
    rounds.write("body.yaml", ROUNDS.replace("echo, draft", "echo, text"))

    told = [
        rounds.hooks("replay", "rounds", "-q", "--workflow", name).out.splitlines()[0]
        for name in ("items.yaml", "body.yaml")
    ]

    assert "attemptCreated of read[0];" in told[0]
    assert "attemptCreated of rounds.1/draft;" in told[1]


def test_one_run_is_counted_as_one(notes: CommandLine) -> None:
    total = notes.hooks("replay", "one", "--hooks", "policy.yaml").out.splitlines()[-2]

    assert total.startswith("1 run, ")
    assert total.endswith(" events, 1 point asked: 1 run differs, 1 would be stopped")


def test_all_runs_are_those_since_then(cli: CommandLine) -> None:
    cli.write("notes.yaml", WORKFLOW)
    here = cli.directory
    for name, clock in (("old", Days(2)), ("new", Days(0))):
        with start_run(
            load_workflow(here / "notes.yaml"),
            {},
            runs_dir=cli.runs,
            workflow_directory=here,
            working_directory=here,
            initiator="me",
            run_id=name,
            clock=clock,
        ):
            pass

    replayed = [cli.hooks("replay", "--all", *words, "--json").document["runs"] for words in ([], ["--since", "1d"])]

    assert [[run["run_id"] for run in runs] for runs in replayed] == [["old", "new"], ["new"]]
    exported = cli.hooks("export", "--all", "--since", "1d", "--json").document["archives"]
    assert [archive["run_id"] for archive in exported] == ["new"]
    assert "fix: Say `--all --since 1d`." in cli.hooks("export", "new", "--since", "1d").err


class Days(SystemClock):
    """The clock of that many days ago."""

    def __init__(self, ago: int) -> None:
        self._ago_ms = ago * 86_400_000

    def now_ms(self) -> int:
        return super().now_ms() - self._ago_ms


def test_a_policy_with_nothing_to_say_is_exit_0(notes: CommandLine) -> None:
    notes.write("quiet.yaml", "- {on: PreToolUse, argv: ['true']}\n")

    assert notes.hooks("replay", "--all", "--hooks", "quiet.yaml").code == 0


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ("argv: [./policy.sh]", "policy.sh is not executable\n    fix: make it so: `chmod +x "),
        ("argv: [no-such-program]", "there is no program 'no-such-program' in PATH\n    fix: correct the hook, or"),
        ("argv: [./none.sh]", "there is no file "),
        ("python: raising.py:check", "raising.py, or leave the hook out"),
        ("python: no_such_module:check", "no_such_module"),
        ("python: policy.py:Opening", "broken.open() raised OSError: no network"),
        ("python: policy.py:nothing", "policy.py defines no `nothing`"),
    ],
)
def test_a_policy_that_cannot_be_asked_is_refused_before_anything_is(cli: CommandLine, hook: str, message: str) -> None:
    """Even if there is no run to ask it about; a broken policy is none that stops something."""
    cli.write("policy.sh", "#!/bin/sh\n")
    cli.write("raising.py", "import hooks\nraise RuntimeError('no network')\ndef check(payload): ...\n")
    cli.write(
        "policy.py",
        "from hooks import Plugin, hook, HookType\nclass Opening(Plugin):\n"
        "    def open(self): raise OSError('no network')\n"
        "    @hook(HookType.EFFECT_PRE_ATTEMPT)\n    def check(self, payload): return None\n",
    )
    cli.write("broken.yaml", f"hooks:\n  - {{name: broken, on: PreToolUse, {hook}}}\n")

    ended = cli.hooks("replay", "--all", "--hooks", "broken.yaml")

    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "broken.yaml" in ended.err
    assert ended.err.count("fix:") == 1


@pytest.mark.parametrize(("words", "told"), [([], "two: the same"), (["--hooks", "policy.yaml"], "two\n")])
def test_a_damaged_run_is_told_and_the_others_are_replayed(notes: CommandLine, words: list[str], told: str) -> None:
    (log,) = notes.directory.rglob("one/events.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], lines[1].replace(b"runStarted", b"runStartex"), *lines[2:]]))

    ended = notes.hooks("replay", "--all", *words)

    assert ended.code == 9
    assert told in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["one", "--hooks", "policy.yaml", "--workflow", "notes.yaml"], "--hooks and --workflow exclude each other."),
        ([], "No run is named."),
        (["one", "--hooks", "missing.yaml"], "missing.yaml"),
        (["one", "--since", "30d"], "fix: Say `--all --since 30d`."),
        (["--all", "--since", "yesterday"], "--since yesterday: "),
    ],
)
def test_what_cannot_be_replayed_is_said(notes: CommandLine, words: list[str], message: str) -> None:
    ended = notes.hooks("replay", *words)

    assert ended.code == 2
    assert message in ended.err


@pytest.mark.parametrize("first", ['if: "true"', "for_each: [1, 2, 3]"])
def test_a_fact_that_brings_forth_earlier_work_is_decided_upon_before_later_work(cli: CommandLine, first: str) -> None:
    """What is found out about `first` (its condition, its list) lets it have the only slot, before `later`."""
    step = "executor: shell, read_only: true, input: {argv: ['true']}"
    nodes = f"nodes:\n  first: {{{first}, {step}}}\n  later: {{{step}}}\n"
    cli.write("slots.yaml", f"workflow_id: slots\ndefaults: {{max_concurrency: 1}}\n{nodes}")
    assert cli.hooks("run", "slots.yaml", "--run-id", "slots", "-q").code == 0

    replayed = cli.hooks("replay", "slots")

    assert replayed.code == 0, replayed.out
    created = [line.split()[3].partition("[")[0] for line in replayed.out.splitlines() if "attemptCreated" in line]
    assert created == [*["first"] * (len(created) - 1), "later"]


HANGS = "hooks: [{name: hangs, on: PreToolUse, argv: [sh, -c, 'echo x > asked; exec sleep 60']}]\n"


def test_a_replay_that_is_ended_leaves_no_scratch_and_dies_by_the_signal(notes: CommandLine) -> None:
    notes.write("hangs.yaml", HANGS)
    os.mkfifo(notes.directory / "asked")
    scratch = notes.directory / "scratch"
    scratch.mkdir()
    notes.environment["TMPDIR"] = str(scratch)
    replay = notes.start("replay", "one", "--hooks", "hangs.yaml")
    assert (notes.directory / "asked").read_text() == "x\n"
    before = list(scratch.iterdir())
    replay.send_signal(signal.SIGTERM)
    replay.communicate(timeout=60)

    assert replay.returncode == -signal.SIGTERM
    assert before != []
    assert list(scratch.iterdir()) == []


COUNTING = """\
from hooks import block

asked = 0


def policy(payload):
    global asked
    asked += 1
    return block(f"asked {asked} times")
"""


def test_what_a_policy_keeps_in_its_module_is_of_one_run(notes: CommandLine) -> None:
    notes.write("counting.py", COUNTING)
    notes.write("counting.yaml", "hooks: [{name: counts, on: component_pre_execute, python: './counting.py:policy'}]\n")
    replayed = notes.hooks("replay", "one", "two", "--hooks", "counting.yaml").out.splitlines()

    said = [line.rpartition("counts: ")[2] for line in replayed if "counts: asked" in line]
    assert said == ["asked 1 times", "asked 2 times"] * 2
