"""Gates, decision loops, fan-outs and conditions, with real runs; answers come through the inbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hooks.definition.model import DecisionNode, Gate, LoopNode
from hooks.events.payloads import WaitCreated
from hooks.runtime.driving import RunReport, in_own_loop
from hooks.runtime.requests import Answer, answer_gate
from hooks.storage.verify import verify_run
from tests.runtime.runs import Runs, agent_step, append, sh, shell, statuses

TIMEOUT_MS = 20_000


def answer(runs: Runs, approved: bool, wait_id: str | None = None, **fields: Any) -> Answer:
    wait_id = wait_id or next(iter(open_gates(runs)))
    return in_own_loop(
        answer_gate(
            runs.directory, wait_id=wait_id, approved=approved, **{"by": "ann", "timeout_ms": TIMEOUT_MS, **fields}
        )
    )


def open_gates(runs: Runs) -> list[str]:
    created = [event.payload for event in runs.events if isinstance(event.payload, WaitCreated)]
    answered = {getattr(event.payload, "wait_id", None) for event in runs.events if event.payload.type != "waitCreated"}
    return [payload.wait_id for payload in created if payload.wait_id not in answered]


def review_loop(out: Path, **fields: Any) -> LoopNode:
    return LoopNode(
        id="review",
        body=[
            agent_step("draft", "draft after: ${ok.previous.comment}"),
            append("keep", out, "${draft.output}\n", depends=["draft"]),
            DecisionNode(id="ok", human_gate=Gate(prompt="${draft.output}"), depends=["keep"]),
        ],
        decision="ok",
        max_iterations=3,
        output_from="draft",
        **fields,
    )


def test_a_gate_stands_between_the_hooks_and_the_effect(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(append("a", tmp_path / "out", "x", human_gate=Gate(prompt="really?")))
    assert report.status.exit_code == 4
    assert not (tmp_path / "out").exists()

    given = answer(runs, approved=True)
    assert given.accepted
    assert not (tmp_path / "out").exists()  # an answer starts no work

    assert runs.recover().status.exit_code == 0
    assert (tmp_path / "out").read_text() == "x"
    assert runs.types.count("waitCreated") == 1
    assert verify_run(runs.directory) == []


def test_a_rejected_gate_blocks_the_run(runs: Runs, tmp_path: Path) -> None:
    runs.run(append("a", tmp_path / "out", "x", human_gate=Gate()))
    answer(runs, approved=False, comment="not today")
    report = runs.recover()

    assert report.status.exit_code == 3
    assert report.state.root.failure is not None
    assert "not today" in report.state.root.failure.error.error_message
    assert not (tmp_path / "out").exists()


def test_the_second_of_two_answers_is_told_so(runs: Runs, tmp_path: Path) -> None:
    runs.run(append("a", tmp_path / "out", "x", human_gate=Gate()))
    (gate,) = open_gates(runs)
    first, second = answer(runs, True, gate), answer(runs, False, gate)

    assert first.accepted
    assert second.refusal is not None
    assert second.refusal.code == "AlreadyAnswered"
    assert runs.recover().status.exit_code == 0


def test_only_an_approver_may_answer_and_only_what_is_asked(runs: Runs, tmp_path: Path) -> None:
    runs.run(append("a", tmp_path / "out", "x", human_gate=Gate(approvers=["bob"])))

    refused = [answer(runs, True), answer(runs, True, by="bob", digest="0" * 64)]
    assert [given.refusal.code for given in refused if given.refusal] == ["NotAllowed", "DigestDiffers"]
    assert answer(runs, True, by="bob", digest=runs.only(WaitCreated).digest[:12]).accepted


def test_an_answer_after_the_deadline_is_too_late(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(append("a", tmp_path / "out", "x", human_gate=Gate(deadline_ms=0)))

    assert report.status.exit_code == 1
    assert "waitDeadlineExceeded" in runs.types
    assert not (tmp_path / "out").exists()


def test_silence_is_consent_where_the_gate_says_so(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(append("a", tmp_path / "out", "x", human_gate=Gate(deadline_ms=0, on_timeout="success")))

    assert report.status.exit_code == 0
    assert (tmp_path / "out").read_text() == "x"


def test_a_gate_after_withholds_the_output(runs: Runs) -> None:
    runs.run(agent_step("a", human_gate=Gate(stage="after")), agent_step("b", "${a.output}", depends=["a"]))
    assert "nodeSucceeded" not in runs.types
    answer(runs, approved=True)

    assert runs.recover().output() == {"b": "hello"}
    assert runs.types.count("generationStarted") == 2


def test_a_loop_takes_comments_into_the_next_round_and_does_each_effect_once(runs: Runs, tmp_path: Path) -> None:
    """B11, B12, B14: each answer in a process, and a driver, of its own."""
    report: RunReport = runs.run(
        review_loop(tmp_path / "out"), agent_step("after", "${review.output}", depends=["review"])
    )
    for approved, comment in ((False, "shorter"), (False, "nicer"), (True, "good")):
        assert report.status.exit_code == 4
        answer(runs, approved=approved, comment=comment)
        report = runs.recover()

    assert report.output() == {"after": "draft after: nicer"}
    assert (tmp_path / "out").read_text().splitlines() == [
        "draft after: ",
        "draft after: shorter",
        "draft after: nicer",
    ]


def test_a_loop_that_is_never_approved_fails(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(review_loop(tmp_path / "out"))
    for _ in range(3):
        answer(runs, approved=False)
        report = runs.recover()

    assert report.status.exit_code == 1
    assert report.state.root.failure is not None
    assert report.state.root.failure.error.error_code == "MaxIterationsReached"


def test_a_fan_out_runs_each_item_and_keeps_the_order(runs: Runs) -> None:
    report = runs.run(
        agent_step("each", "${index}:${item}", for_each=["a", "b", "c"]),
        agent_step("after", "${each.output[2]} of ${each.output}", depends=["each"]),
    )

    assert report.output() == {"after": '2:c of ["0:a","1:b","2:c"]'}


def test_a_list_that_is_none_fails_the_node(runs: Runs) -> None:
    report = runs.run(agent_step("each", for_each="${params.files}"), params={"files": "text"})

    assert report.status.exit_code == 1
    assert report.state.root.failure is not None
    assert "a list is expected" in report.state.root.failure.error.error_message


def test_conditions_read_outputs_and_skip(runs: Runs) -> None:
    report = runs.run(
        shell("n", "echo", "3", read_only=True),
        agent_step("few", condition="size(n.output.stdout) > 5", depends=["n"]),
        agent_step("many", condition="size(n.output.stdout) == 2", depends=["n"]),
        agent_step("then", condition="few.status == 'skipped'", depends=["few", "many"]),
        agent_step("never", depends=["few"]),
    )

    assert statuses(report) == {
        "n": "succeeded",
        "few": "skipped",
        "many": "succeeded",
        "then": "succeeded",
        "never": "skipped",
    }
    assert report.output() == {"then": "hello"}


def test_a_condition_that_cannot_be_evaluated_fails_its_node(runs: Runs) -> None:
    report = runs.run(shell("n", "echo", "3", read_only=True), agent_step("x", condition="n.output", depends=["n"]))

    assert report.status.exit_code == 1
    assert report.state.root.failure is not None
    assert report.state.root.failure.error.error_code == "ConditionError"


def test_a_gate_in_one_branch_does_not_hold_up_another(runs: Runs) -> None:
    report = runs.run(
        agent_step("gated", human_gate=Gate()),
        sh("free", "echo done", read_only=True),
        max_concurrency=1,
    )

    assert report.status.exit_code == 4
    assert statuses(report)["free"] == "succeeded"


def test_a_pass_goes_on_to_the_next_gate_and_no_further(runs: Runs, tmp_path: Path) -> None:
    """B12"""
    rounds = LoopNode(
        id="rounds",
        body=[
            append("send", tmp_path / "out", "x", human_gate=Gate(prompt="send?")),
            DecisionNode(id="ok", human_gate=Gate(), depends=["send"]),
        ],
        decision="ok",
        max_iterations=3,
    )
    assert runs.tick(rounds).status.exit_code == 4
    answer(runs, approved=True)
    report = runs.pass_once()

    assert report.status.exit_code == 4
    assert (tmp_path / "out").read_text() == "x"
    answer(runs, approved=False)
    assert runs.pass_once().status.exit_code == 4
    assert open_gates(runs) == ["run::loop::rounds.2::gate::send::1"]
    assert (tmp_path / "out").read_text() == "x"


def test_a_pass_starts_no_work_that_its_own_work_made_ready(runs: Runs) -> None:
    report = runs.tick(agent_step("a"), agent_step("b", depends=["a"]))

    assert report.status.exit_code == 8
    assert statuses(report) == {"a": "succeeded"}


def test_a_rejection_keeps_what_was_approved_beside_it_from_starting(runs: Runs, tmp_path: Path) -> None:
    runs.run(
        append("a", tmp_path / "out", "x", human_gate=Gate()),
        append("b", tmp_path / "other", "x", human_gate=Gate()),
        agent_step("c", depends=["a"]),
    )
    first, second = open_gates(runs)
    answer(runs, True, first)
    answer(runs, False, second)

    assert runs.recover().status.exit_code == 3
    assert not (tmp_path / "out").exists()
