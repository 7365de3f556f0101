from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from tests.storage.builders import RUN, WORKFLOW_JSON, finished_run, output, succeeded

from hooks.events.payloads import AttemptCreated, EffectAttempted, Payload
from hooks.ids import ActivityId, NodeId, RevisionId, RunId, idempotency_key
from hooks.storage.run_directory import RunDirectory
from hooks.storage.verify import verify_run

ACTIVITY = f"{RUN}::work::send"
INPUT = b'{"argv":["true"]}'


def effect(*, key: str | None = None, provider: str = "manual", draw: int = 0) -> list[Payload]:
    attempt = f"{ACTIVITY}::att-1"
    right_key = idempotency_key(
        run_id=RunId(RUN),
        workflow_id="demo",
        revision_id=RevisionId(sha256(WORKFLOW_JSON).hexdigest()),
        node_id=NodeId("send"),
        activity_id=ActivityId(ACTIVITY),
        epoch=0,
        draw=draw,
    )
    return [
        AttemptCreated(activity_id=ACTIVITY, attempt_id=attempt, node_id="send", attempt=1),
        EffectAttempted(
            activity_id=ACTIVITY,
            attempt_id=attempt,
            node_id="send",
            idempotency_key=key or right_key,
            input_hash=sha256(INPUT).hexdigest(),
            idempotency_ttl_ms=None,
            provider=provider,
        ),
    ]


def run_with_effect(tmp_path: Path, payloads: list[Payload]) -> tuple[RunDirectory, Path]:
    directory = finished_run(tmp_path, [output("x" * 9000), *payloads], [succeeded("a")])
    sidecar = directory.effect_input(ActivityId(ACTIVITY), 1)
    sidecar.parent.mkdir(parents=True)
    sidecar.write_bytes(INPUT)
    return directory, sidecar


def messages(directory: RunDirectory) -> list[tuple[str, str]]:
    return [(finding.severity, str(finding)) for finding in verify_run(directory)]


def test_a_run_as_it_was_written_has_no_findings(tmp_path: Path) -> None:
    directory, _ = run_with_effect(tmp_path, effect())

    assert verify_run(directory) == []


def test_the_draw_of_an_agent_with_consequences_has_the_key_of_a_first_draw(tmp_path: Path) -> None:
    directory, _ = run_with_effect(tmp_path, effect(provider="agent:acting", draw=1))

    assert verify_run(directory) == []


def test_a_copy_verifies_like_the_original(tmp_path: Path) -> None:
    directory, _ = run_with_effect(tmp_path, effect())
    shutil.copytree(directory.path, tmp_path / "elsewhere")

    assert verify_run(RunDirectory(tmp_path / "elsewhere")) == []


def test_a_lost_or_changed_sidecar_is_damage(tmp_path: Path) -> None:
    directory, sidecar = run_with_effect(tmp_path, effect())
    sidecar.write_bytes(INPUT + b" ")
    assert messages(directory) == [
        ("damage", f"{sidecar}: this is not the input the effect was attempted with (its hash differs)")
    ]
    sidecar.unlink()
    assert messages(directory) == [("damage", f"{sidecar}: the input of this effect is missing")]


def test_a_key_that_is_not_derived_from_the_effect_is_damage(tmp_path: Path) -> None:
    directory, _ = run_with_effect(tmp_path, effect(key="wf_" + "0" * 47))

    [(severity, message)] = messages(directory)
    assert severity == "damage"
    assert "events.jsonl, line 5: the idempotency key wf_000" in message


def test_an_effect_of_an_attempt_that_never_was_is_damage(tmp_path: Path) -> None:
    directory, _ = run_with_effect(tmp_path, effect()[1:])

    [(severity, message)] = messages(directory)
    assert severity == "damage"
    assert "never created" in message


@pytest.mark.parametrize("content", [None, b"y" * 9000])
def test_a_lost_or_changed_blob_is_damage_told_once(tmp_path: Path, content: bytes | None) -> None:
    directory = finished_run(tmp_path, [output("x" * 9000), output("x" * 9000)])
    [blob] = directory.blobs.iterdir()
    blob.unlink() if content is None else blob.write_bytes(content)

    [(severity, message)] = messages(directory)
    assert severity == "damage"
    assert message.startswith(f"{blob}: ")


def test_a_changed_workflow_is_damage(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)
    directory.workflow.write_bytes(b"{}")

    assert messages(directory) == [("damage", f"{directory.workflow}: this is not the workflow the run began with")]


def test_damage_in_the_log_is_placed_by_line_and_byte(tmp_path: Path) -> None:
    directory = finished_run(tmp_path, [succeeded("a")], [succeeded("b")])
    lines = directory.log.read_bytes().splitlines(keepends=True)
    directory.log.write_bytes(directory.log.read_bytes().replace(b'"nodeId":"a"', b'"nodeId":"x"'))

    [finding] = verify_run(directory)
    assert (finding.severity, finding.line, finding.byte) == ("damage", 3, len(lines[0] + lines[1]))


def test_a_torn_tail_is_noticed_and_no_damage(tmp_path: Path) -> None:
    directory = finished_run(tmp_path)
    size = directory.log.stat().st_size
    directory.log.write_bytes(directory.log.read_bytes() + b'{"event_id"')

    [finding] = verify_run(directory)
    assert (finding.severity, finding.line, finding.byte) == ("notice", 3, size)
    assert directory.log.stat().st_size == size + 11


@pytest.mark.parametrize("content", [b"", None])
def test_a_run_without_events_is_damaged(tmp_path: Path, content: bytes | None) -> None:
    directory = finished_run(tmp_path)
    directory.log.unlink() if content is None else directory.log.write_bytes(content)

    assert [severity for severity, _ in messages(directory)] == ["damage"]
