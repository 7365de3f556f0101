"""Finished runs are told from the end of their log, and only when it says so plainly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.storage.builders import make_run, output, resume_started

from hooks.events.payloads import HookDecided, Payload, RunReopened, RunSucceeded
from hooks.storage.log_end import seems_finished

ENDED = RunSucceeded(sinks=[])
TOLD = HookDecided(hook="run_finished", ordinal=1, payload_digest="", verdict="allow", decisions=[])


@pytest.mark.parametrize(
    ("payloads", "finished"),
    [
        ([], False),
        ([output("x")], False),
        ([ENDED], True),
        ([ENDED, resume_started(0), TOLD], True),
        ([ENDED, RunReopened(nodes=[], by="me")], False),
        ([ENDED, RunReopened(nodes=[], by="me"), output("x")], False),
    ],
)
def test_the_last_event_that_decides_says_it(tmp_path: Path, payloads: Sequence[Payload], finished: bool) -> None:
    run = make_run(tmp_path, groups=[payloads] if payloads else [])

    assert seems_finished(run.directory) is finished


def test_a_torn_or_damaged_end_says_nothing(tmp_path: Path) -> None:
    torn, harmed = make_run(tmp_path, "torn", groups=[[ENDED]]), make_run(tmp_path, "harmed", groups=[[ENDED]])
    data = torn.directory.log.read_bytes()
    torn.directory.log.write_bytes(data + data[:20])
    harmed.directory.log.write_bytes(harmed.directory.log.read_bytes()[:-3] + b"0}\n")

    assert not seems_finished(torn.directory)
    assert not seems_finished(harmed.directory)


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.directory.log.unlink()

    assert not seems_finished(run.directory)


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path) -> None:
    many: list[list[Payload]] = [[output("x" * 7_000, str(number)) for number in range(60)], [ENDED]]

    assert seems_finished(make_run(tmp_path, groups=many).directory)
