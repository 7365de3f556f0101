from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.builders import HookFiles


@pytest.fixture
def files(tmp_path: Path) -> HookFiles:
    return HookFiles(tmp_path)
