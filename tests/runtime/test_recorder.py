"""The recorder keeps what the run does not allow from the disk, and all that comes after damage."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from hooks.errors import CorruptRunError, StorageError
from hooks.events.payloads import RunStarted
from hooks.runtime.runs import recorder_of
from tests.runtime.runs import Runs, agent_step


def test_an_event_that_the_run_does_not_allow_is_not_written_nor_what_was_recorded_beside_it(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with runs.start(agent_step("a")) as run:
        _, recorder = recorder_of(run)
        recorder.record(RunStarted())
        with pytest.raises(StorageError, match="does not allow"):
            recorder.record(RunStarted())
        with pytest.raises(StorageError):
            recorder.commit_now()

    assert runs.types == ["runCreated"]
    assert runs.recover().status.exit_code == 0


def test_nothing_is_recorded_after_damage_was_come_upon_whoever_made_little_of_it(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with runs.start(agent_step("a"), params={"text": "x" * 9_000}) as run:
        _, recorder = recorder_of(run)
        assert run.state.created is not None
        (blob,) = run.directory.blobs.iterdir()
        blob.write_bytes(b"something else")
        with suppress(CorruptRunError):
            recorder.resolve(run.state.created.params)
        with pytest.raises(CorruptRunError, match="is not what its name says"):
            recorder.record(RunStarted())

    assert runs.types == ["runCreated"]
