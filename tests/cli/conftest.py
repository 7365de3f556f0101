from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import FAILING, TWO_STEPS, CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """The command line in a fresh directory with two workflow files."""
    command_line = CommandLine(tmp_path)
    command_line.write("greeting.yaml", TWO_STEPS)
    command_line.write("failing.yaml", FAILING)
    return command_line
