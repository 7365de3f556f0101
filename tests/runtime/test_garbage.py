"""Which runs may be thrown away, looked at once more under their lock."""

from __future__ import annotations

from pathlib import Path

from hooks.runtime.garbage import finished_runs, remove_run
from hooks.runtime.runs import open_existing, reopen_run
from tests.cli.command import FAILING, CommandLine


def failed_run(directory: Path) -> CommandLine:
    cli = CommandLine(directory)
    assert cli.hooks("run", cli.write("failing.yaml", FAILING), "--run-id", "r", "-q").code == 1
    return cli


def test_a_run_that_somebody_drives_by_then_stays(tmp_path: Path) -> None:
    cli = failed_run(tmp_path)
    (found,) = finished_runs(cli.runs)

    with open_existing(found.directory):
        assert not remove_run(found)
        assert finished_runs(cli.runs) == []
    assert found.directory.log.exists()


def test_a_run_that_was_reopened_by_then_stays(tmp_path: Path) -> None:
    cli = failed_run(tmp_path)
    (found,) = finished_runs(cli.runs)
    reopen_run(found.directory, by="me").close()

    assert not remove_run(found)
    assert found.directory.log.exists()


def test_a_link_to_a_run_elsewhere_stays(tmp_path: Path) -> None:
    cli = failed_run(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "linked").symlink_to(cli.runs / "r")

    assert finished_runs(elsewhere) == []
    assert [run.directory.run_id for run in finished_runs(cli.runs)] == ["r"]
