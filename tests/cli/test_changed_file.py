"""A run keeps the workflow it began with, and says so to whoever has edited the file."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine
from tests.cli.workflows import ONE_GATE


def test_recover_goes_on_with_the_old_workflow_and_warns(cli: CommandLine) -> None:
    """B15"""
    cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "r", "-q")
    cli.hooks("approve", "r")
    cli.write("gated.yaml", ONE_GATE.replace('content: "x', 'content: "y'))

    ended = cli.hooks("recover", "r", "-q")

    assert ended.code == 0
    assert "gated.yaml has changed since this run began" in ended.err
    assert (cli.directory / "out.txt").read_text() == "x\n"


@pytest.mark.parametrize("text", [ONE_GATE, "# the same, with a comment\n" + ONE_GATE])
def test_a_file_that_means_the_same_gives_no_warning(cli: CommandLine, text: str) -> None:
    cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "r", "-q")
    cli.write("gated.yaml", text)

    assert "changed" not in cli.hooks("recover", "r", "-q").err


def test_a_file_that_is_gone_gives_no_warning(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "r", "-q")
    (cli.directory / "gated.yaml").unlink()

    assert "changed" not in cli.hooks("recover", "r", "-q").err
