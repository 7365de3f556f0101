"""The recorder keeps what the run does not allow from the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.errors import StorageError
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
