"""What is done about an effect of which nobody knows how it ended, and what a person can say about it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hooks.definition.model import CommandAgent, HostExecutorNode
from hooks.events.payloads import EffectAttempted, EffectSettled, ReconcileResult
from hooks.ids import NodeId
from hooks.runtime.attempt_files import FILE_NAME
from hooks.runtime.driving import in_own_loop
from hooks.runtime.requests import Answer, resolve_effect
from hooks.storage.verify import verify_run
from hooks.testing import FakeClock
from tests.runtime.runs import Runs, agent_step, statuses

TIMEOUT_MS = 20_000
DIES = "kill -9 $$"


def mail(tmp_path: Path, script: str, **input_fields: Any) -> HostExecutorNode:
    """An effect that counts its calls in `calls`, says what it did in `sent`, and then runs `script`."""
    done = f"echo x >> {tmp_path}/calls; "
    return HostExecutorNode(
        id="mail", executor="shell", input={"argv": ["sh", "-c", done + script], **input_fields}, retry=None
    )


def calls(tmp_path: Path) -> int:
    path = tmp_path / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def looks(tmp_path: Path, *answers: int) -> list[str]:
    """A look-up that answers with these exit codes in turn, the last one for ever."""
    script = tmp_path / "look.py"
    script.write_text(
        "import pathlib, sys\n"
        f"p = pathlib.Path({str(tmp_path / 'looks')!r})\n"
        "n = len(p.read_text()) if p.exists() else 0\n"
        "p.write_text('x' * (n + 1))\n"
        f"answers = {list(answers)}\n"
        "print('seen')\n"
        "sys.exit(answers[min(n, len(answers) - 1)])\n"
    )
    return [sys.executable, str(script)]


def results(runs: Runs) -> list[tuple[str, str]]:
    return [(e.payload.outcome, e.payload.reason) for e in runs.events if isinstance(e.payload, ReconcileResult)]


def resolve(runs: Runs, outcome: Any, **fields: Any) -> Answer:
    attempted = [event.payload for event in runs.events if isinstance(event.payload, EffectAttempted)][-1]
    return in_own_loop(
        resolve_effect(
            runs.directory,
            activity_id=attempted.activity_id,
            attempt_id=attempted.attempt_id,
            outcome=outcome,
            by="ann",
            timeout_ms=TIMEOUT_MS,
            **fields,
        )
    )


def test_a_look_up_that_finds_it_settles_the_effect(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(mail(tmp_path, DIES, lookup=looks(tmp_path, 0)))

    assert report.status.exit_code == 0
    assert report.output()["mail"]["stdout"] == "seen\n"
    assert results(runs) == [("done", "found")]
    assert calls(tmp_path) == 1


def test_an_absent_effect_is_done_by_a_new_attempt_under_the_same_key(runs: Runs, tmp_path: Path) -> None:
    once = f"test $(wc -l < {tmp_path}/calls) -gt 1 || {DIES}"
    report = runs.run(mail(tmp_path, once, lookup=looks(tmp_path, 1)))

    attempted = [event.payload for event in runs.events if isinstance(event.payload, EffectAttempted)]
    assert report.status.exit_code == 0
    assert results(runs) == [("not_done", "absent")]
    assert len(attempted) == 2
    assert len({payload.idempotency_key for payload in attempted}) == 1
    assert verify_run(runs.directory) == []


def test_an_effect_that_is_absent_every_time_is_not_tried_for_ever(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(mail(tmp_path, DIES, lookup=looks(tmp_path, 1)))

    error = report.state.root.nodes[NodeId("mail")].error
    assert report.status.exit_code == 1
    assert error is not None
    assert error.error_message.endswith("5 times in a row. The provider says that it did not happen.")
    assert calls(tmp_path) == 5


def test_an_absence_counts_only_when_it_has_settled(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(mail(tmp_path, DIES, lookup=looks(tmp_path, 1, 0), settle=300), clock=FakeClock())

    assert report.status.exit_code == 0
    assert results(runs) == [("done", "found")]
    assert (tmp_path / "looks").read_text() == "xx"


def test_a_look_up_that_says_later_is_asked_again(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(mail(tmp_path, DIES, lookup=looks(tmp_path, 75, 0)))

    assert report.status.exit_code == 0
    assert results(runs) == [("done", "found")]


def test_a_single_pass_asks_once_and_leaves_the_effect_dangling(runs: Runs, tmp_path: Path) -> None:
    report = runs.tick(mail(tmp_path, DIES, lookup=looks(tmp_path, 75)))

    assert report.status.exit_code == 8
    assert results(runs) == []
    assert (tmp_path / "looks").read_text() == "x"


def test_an_idempotent_effect_is_sent_again_with_the_same_bytes(runs: Runs, tmp_path: Path) -> None:
    once = f"test $(wc -l < {tmp_path}/calls) -gt 1 || {DIES}"
    report = runs.run(mail(tmp_path, once, idempotent=True))

    assert report.status.exit_code == 0
    assert runs.types.count("effectAttempted") == 1
    assert [event.payload.outcome for event in runs.events if isinstance(event.payload, EffectSettled)] == [
        "unknown",
        "done",
    ]
    assert calls(tmp_path) == 2


def test_an_idempotent_effect_that_ran_out_of_time_is_sent_again(runs: Runs, tmp_path: Path) -> None:
    once = f"test $(wc -l < {tmp_path}/calls) -gt 2 || sleep 60"
    step = mail(tmp_path, once, idempotent=True)
    report = runs.run(msgspec.structs.replace(step, timeout_ms=300), grace_ms=100)

    assert report.status.exit_code == 0
    assert calls(tmp_path) == 3


def test_an_idempotent_effect_whose_time_is_over_ends_in_doubt(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(mail(tmp_path, DIES, idempotent=True, idempotency_ttl=0))

    assert report.status.exit_code == 10
    assert results(runs) == [("in_doubt", "IdempotencyExpired")]
    assert calls(tmp_path) == 1


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.unlink(), "MissingEffectInput"),
        (lambda path: path.write_bytes(path.read_bytes() + b" "), "EffectInputHashMismatch"),
    ],
)
def test_without_its_sidecar_the_provider_is_not_asked(runs: Runs, tmp_path: Path, damage: Any, reason: str) -> None:
    runs.tick(mail(tmp_path, DIES, lookup=looks(tmp_path, 75)))
    damage(next(runs.directory.attempts.glob(f"*/{FILE_NAME}")))
    report = runs.recover()

    assert report.status.exit_code == 10
    assert results(runs) == [("in_doubt", reason)]
    assert (tmp_path / "looks").read_text() == "x"


def test_a_person_says_that_it_was_done(runs: Runs, tmp_path: Path) -> None:
    runs.run(mail(tmp_path, DIES), agent_step("after", "${mail.output.id}", depends=["mail"]))
    given = resolve(runs, "done", output={"id": "m-1"})
    report = runs.recover()

    assert given.accepted
    assert report.output() == {"after": "m-1"}
    assert calls(tmp_path) == 1


def test_a_person_says_that_it_failed(runs: Runs, tmp_path: Path) -> None:
    runs.run(mail(tmp_path, DIES))
    resolve(runs, "failed", reason="bounced")

    assert runs.recover().status.exit_code == 1
    assert calls(tmp_path) == 1


@pytest.mark.parametrize("new_key", [False, True])
def test_a_person_has_it_done_again(runs: Runs, tmp_path: Path, new_key: bool) -> None:
    once = f"test $(wc -l < {tmp_path}/calls) -gt 1 || {DIES}"
    runs.run(mail(tmp_path, once))
    resolve(runs, "retry", new_key=new_key)
    report = runs.recover()

    keys = {event.payload.idempotency_key for event in runs.events if isinstance(event.payload, EffectAttempted)}
    assert report.status.exit_code == 0
    assert len(keys) == (2 if new_key else 1)
    assert verify_run(runs.directory) == []


def test_a_second_resolution_changes_nothing_and_is_told_so(runs: Runs, tmp_path: Path) -> None:
    runs.run(mail(tmp_path, DIES))
    first, second = resolve(runs, "done"), resolve(runs, "retry")

    assert first.accepted
    assert second.refusal is not None
    assert second.refusal.code == "NothingInDoubt"
    assert runs.recover().status.exit_code == 0
    assert calls(tmp_path) == 1


def test_an_agent_with_consequences_is_not_asked_twice(runs: Runs, tmp_path: Path) -> None:
    acting = CommandAgent(name="acting", argv=["sh", "-c", f"echo x >> {tmp_path}/calls; {DIES}"], repeatable=False)
    report = runs.run(agent_step("act", agent="acting"), agents=[acting])

    assert report.status.exit_code == 10
    assert calls(tmp_path) == 1
    resolve(runs, "done", output="it did")
    assert runs.recover().output() == {"act": "it did"}
    assert calls(tmp_path) == 1


def test_other_branches_finish_while_one_is_in_doubt(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(
        mail(tmp_path, DIES),
        agent_step("after", depends=["mail"]),
        agent_step("other"),
        agent_step("more", depends=["other"]),
        max_concurrency=1,
    )

    assert statuses(report) == {"mail": "running", "other": "succeeded", "more": "succeeded"}
    assert report.status.exit_code == 10


def test_a_person_settles_what_a_driver_keeps_looking_up(runs: Runs, tmp_path: Path) -> None:
    with runs.start(mail(tmp_path, DIES, lookup=looks(tmp_path, 75))):
        pass
    driver = runs.drive_elsewhere()
    try:
        while not (tmp_path / "looks").exists():
            assert driver.poll() is None
            time.sleep(0.01)
        given = resolve(runs, "done", output={"id": "m-1"})
        code = driver.wait(60)
    finally:
        driver.kill()
        driver.wait()

    assert given.accepted
    assert code == 0
    assert calls(tmp_path) == 1
