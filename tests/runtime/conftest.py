from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.runtime.runs import Runs


@pytest.fixture
def lasting() -> str:
    """A number of seconds that nobody else on this machine sleeps for."""
    return f"{random.randrange(10_000, 99_999)}.{os.getpid()}"


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)
