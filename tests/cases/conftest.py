from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """The command line in a fresh directory."""
    return CommandLine(tmp_path)
