"""approve and reject, and what is shown of gates."""

from __future__ import annotations

import signal
import subprocess

from tests.cli.command import CommandLine
from tests.cli.workflows import ONE_GATE, REVIEW, TWO_GATES


def waiting_run(cli: CommandLine, text: str, run_id: str = "r") -> None:
    assert cli.hooks("run", cli.write("gated.yaml", text), "--run-id", run_id, "-q").code == 4


def test_a_run_at_a_gate_waits_and_names_the_commands_that_answer(cli: CommandLine) -> None:
    ended = cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "r")

    assert (ended.code, ended.out) == (4, "")
    assert "write: Write it?" in ended.err
    assert "    hooks approve r write\n    hooks reject r write\n" in ended.err
    assert not (cli.directory / "out.txt").exists()


def test_an_approval_is_durable_starts_nothing_and_names_the_next_command(cli: CommandLine) -> None:
    waiting_run(cli, ONE_GATE)

    approved = cli.hooks("approve", "r", "--comment", "fine", "--by", "ann")

    assert (approved.code, approved.out) == (0, "")
    assert approved.err == "write of r is approved.\n    hooks recover r\n"
    assert not (cli.directory / "out.txt").exists()
    assert cli.log_lines("r")[-1]["payload"]["comment"] == "fine"
    assert cli.hooks("recover", "r", "-q").code == 0
    assert (cli.directory / "out.txt").read_text() == "x\n"


def test_the_page_of_a_node_at_a_gate_has_all_that_is_asked(cli: CommandLine) -> None:
    waiting_run(cli, TWO_GATES.replace("[boss]", "[boss], deadline: 2h"))

    (gate,) = cli.hooks("show", "r", "--node", "right", "--json").document["gates"]
    page, of_run = cli.hooks("show", "r", "--node", "right").out, cli.hooks("show", "r", "--gates").out

    assert gate["gate"] == "right"
    block = next(block for block in of_run.split("\n\n") if block.startswith("Gate         right\n"))
    assert block.rstrip() in page
    for told in (gate["digest"], gate["deadline_at"], "Approvers    boss", "    Right?\n"):
        assert told in block


def test_what_a_gate_asked_that_was_answered_or_closed_is_shown_with_how_it_ended(cli: CommandLine) -> None:
    waiting_run(cli, TWO_GATES)
    cli.hooks("reject", "r", "left", "--by", "ann", "--comment", "no")
    cli.hooks("cancel", "r")

    left, right = (cli.hooks("show", "r", "--node", node) for node in ("left", "right"))
    (answer,) = cli.hooks("show", "r", "--node", "right", "--json").document["answers"]

    assert (answer["approved"], answer["closed_because"], answer["prompt"]) == (None, "cancelled", "Right?")
    assert f"Closed (before) at {answer['at']}: it was cancelled\n    Right?\n" in right.out
    assert "Rejected (before) by ann at " in left.out
    assert ": no\n    Left?\n" in left.out


def test_what_settles_a_run_can_be_told_quietly(cli: CommandLine) -> None:
    waiting_run(cli, TWO_GATES)

    said = [
        cli.hooks("approve", "r", "left", "-q"),
        cli.hooks("reject", "r", "right", "--by", "boss", "-q"),
        cli.hooks("cancel", "r", "-q"),
        cli.hooks("cancel", "r", "--quiet"),
    ]

    assert [(each.code, each.out, each.err) for each in said] == [(0, "", "")] * 4
    assert cli.hooks("approve", "r", "left", "-q").code == 7


def test_a_rejected_gate_blocks_the_run(cli: CommandLine) -> None:
    waiting_run(cli, ONE_GATE)

    assert cli.hooks("reject", "r", "--comment", "not on a Friday").code == 0
    ended = cli.hooks("recover", "r", "-q")

    assert ended.code == 3
    assert "not on a Friday" in ended.err


def test_several_open_gates_and_none_named_approves_nothing(cli: CommandLine) -> None:
    """B13"""
    waiting_run(cli, TWO_GATES)
    events = cli.log_lines("r")

    ended = cli.hooks("approve", "r")

    assert ended.code == 7
    assert "left, right" in ended.err
    assert cli.log_lines("r") == events


def test_a_gate_answered_already_is_told_with_who_and_how(cli: CommandLine) -> None:
    waiting_run(cli, TWO_GATES)
    cli.hooks("reject", "r", "left", "--by", "ann")

    late = cli.hooks("approve", "r", "left")
    as_json = cli.hooks("approve", "r", "left", "--json")

    assert late.code == 7
    assert "Too late: The gate left was rejected by ann at " in late.err
    assert (as_json.code, as_json.error["code"]) == (7, "Refused")


def test_the_answer_to_the_only_gate_is_told_to_who_names_no_gate(cli: CommandLine) -> None:
    waiting_run(cli, ONE_GATE)
    cli.hooks("approve", "r", "--by", "ann")

    assert "Too late: The gate write was approved by ann at " in cli.hooks("reject", "r").err
    assert cli.hooks("show", "r", "--field", "nodes.write.status").out == "ready\n"
    assert "earlier driver" not in cli.hooks("recover", "r").err


def test_how_to_answer_is_told_when_a_gate_opens_in_the_name_of_an_approver(cli: CommandLine) -> None:
    ended = cli.hooks("run", cli.write("gated.yaml", TWO_GATES), "--run-id", "r")

    assert "right: waits for a person (of boss): " in ended.err
    assert "      hooks approve r right --by boss\n      hooks reject r right --by boss\n" in ended.err
    assert "      hooks approve r left\n" in ended.err


def test_who_is_not_an_approver_is_refused(cli: CommandLine) -> None:
    waiting_run(cli, TWO_GATES)

    refused, granted = (
        cli.hooks("approve", "r", "right", "--by", "me"),
        cli.hooks("approve", "r", "right", "--by", "boss"),
    )

    assert refused.code == 7
    assert "boss may" in refused.err
    assert granted.code == 0


def test_an_answer_may_be_bound_to_what_is_asked(cli: CommandLine) -> None:
    waiting_run(cli, ONE_GATE)
    digest = cli.hooks("show", "r", "--gates", "--field", "gates.0.digest").out.strip()

    assert cli.hooks("approve", "r", "--digest", "0" * 64).code == 7
    assert cli.hooks("approve", "r", "--digest", digest[:12]).code == 0


def test_what_is_asked_is_shown_whole(cli: CommandLine) -> None:
    waiting_run(cli, TWO_GATES)

    document, page = cli.hooks("show", "r", "--gates", "--json").document, cli.hooks("show", "r", "--gates").out

    assert document["schema"] == "hooks.show.gates/1"
    assert [(gate["gate"], gate["stage"], gate["prompt"], gate["approvers"]) for gate in document["gates"]] == [
        ("left", "before", "Left?", []),
        ("right", "before", "Right?", ["boss"]),
    ]
    assert all(gate["digest"] in page and '"content":"x"' in page for gate in document["gates"])
    assert cli.hooks("show", "r", "--field", "open_gates").out == '["left","right"]\n'


def test_a_prompt_cannot_reach_the_terminal(cli: CommandLine) -> None:
    """B39"""
    rude = cli.hooks("run", cli.write("rude.yaml", ONE_GATE.replace("Write it?", "\\e[2Jgone")), "--run-id", "r")

    for text in (rude.err, cli.hooks("show", "r").out, cli.hooks("show", "r", "--gates").out):
        assert "\x1b" not in text
        assert "[2Jgone" in text


def test_each_round_of_a_loop_opens_a_gate_of_its_own(cli: CommandLine) -> None:
    """B11, B12"""
    waiting_run(cli, REVIEW)

    for number in (1, 2, 3):
        assert cli.hooks("reject", "r", f"rounds.{number}/ok", "--comment", f"comment {number}").code == 0
        assert cli.hooks("recover", "r", "-q").code == 4
        assert cli.hooks("approve", "r", f"rounds.{number}/ok").code == 7
    assert cli.hooks("approve", "r", "ok").code == 0
    assert cli.hooks("recover", "r", "-q").code == 0

    assert cli.hooks("show", "r", "--json").document["output"] == {"rounds": "after <comment 3>"}
    assert (cli.directory / "notes.txt").read_text().splitlines() == [
        "after <>",
        "after <comment 1>",
        "after <comment 2>",
        "after <comment 3>",
    ]


def test_a_driver_that_stays_at_gates_goes_on_by_an_answer_of_another_process(cli: CommandLine) -> None:
    cli.write("gated.yaml", ONE_GATE)
    with cli.start("run", "gated.yaml", "--run-id", "r", "--wait") as driver:
        assert driver.stderr is not None
        for line in driver.stderr:
            if b"waits for a person" in line:
                break
        approved = cli.hooks("approve", "r", "--json")
        driver.communicate(timeout=60)

    assert approved.document["answer"] == "approved"
    assert driver.returncode == 0
    assert (cli.directory / "out.txt").read_text() == "x\n"


def test_of_two_contradicting_answers_one_counts_and_the_other_is_told_so(cli: CommandLine) -> None:
    waiting_run(cli, ONE_GATE)

    answers = [cli.start(verb, "r", stdout=subprocess.DEVNULL) for verb in ("approve", "reject")]
    for answer in answers:
        answer.communicate(timeout=60)

    assert sorted(answer.returncode for answer in answers) == [0, 7]
    assert [line["type"] for line in cli.log_lines("r")].count("waitResolved") == 1


def test_an_answer_that_a_stopped_driver_does_not_take_is_queued_and_not_lost(cli: CommandLine) -> None:
    cli.write("gated.yaml", ONE_GATE)
    with cli.start("run", "gated.yaml", "--run-id", "r", "--wait") as driver:
        assert driver.stderr is not None
        for line in driver.stderr:
            if b"waits for a person" in line:
                break
        driver.send_signal(signal.SIGSTOP)
        queued = cli.hooks("approve", "r", "--timeout", "100ms", "--json")
        driver.send_signal(signal.SIGCONT)
        driver.communicate(timeout=60)

    assert (queued.code, queued.error["code"]) == (8, "Queued")
    assert f"process {driver.pid} " in queued.error["message"]
    assert driver.returncode == 0


def test_a_rejected_decision_is_shown_as_that_with_its_comment(cli: CommandLine) -> None:
    waiting_run(cli, REVIEW)
    cli.hooks("reject", "r", "--comment", "name the files")
    cli.hooks("cancel", "r")

    (row,) = [line for line in cli.hooks("show", "r").out.splitlines() if line.startswith("rounds.1/ok ")]
    assert row.split()[1] == "rejected"
    assert "rejected: name the files\n" in cli.hooks("show", "r", "--node", "rounds.1/ok").out


def test_a_comment_that_is_no_text_answers_nothing(cli: CommandLine) -> None:
    waiting_run(cli, ONE_GATE)
    refused = cli.hooks("approve", "r", "--comment", "\udcff")

    assert refused.code == 2
    assert "--comment b'\\xff' is not UTF-8" in refused.err
    assert cli.hooks("approve", "r").code == 0


def test_what_is_no_request_is_put_aside_and_keeps_nobody_from_being_answered(cli: CommandLine) -> None:
    waiting_run(cli, ONE_GATE)
    inbox = cli.runs / "r" / "inbox"
    inbox.mkdir(exist_ok=True)
    (inbox / "0.json").write_text("{}")
    (inbox / "1.json").symlink_to("nowhere")
    answered = cli.hooks("approve", "r")

    assert answered.code == 0
    assert "0.json is no request" in answered.err
    assert sorted(path.name for path in inbox.iterdir()) == [".bad-0.json", ".bad-1.json"]
