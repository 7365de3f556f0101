"""Calls for tests, made as the runtime makes them: prepared, written as JSON, read back."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.processes.builders import until

from hooks import jsonio
from hooks.definition.model import ExecutorDeclaration
from hooks.executors.base import EffectCall, Executor, LookUp, Settled
from hooks.secrets import Masker

KEY = "wf_" + "0" * 47


def make_call(
    executor: Executor,
    tmp_path: Path,
    resolved_input: dict[str, Any],
    *,
    max_output_bytes: int | None = None,
    masker: Masker | None = None,
) -> EffectCall:
    prepared = executor.prepare(resolved_input, working_directory=tmp_path, workflow_directory=tmp_path)
    marker = f"test-{uuid.uuid4().hex}"
    directory = tmp_path / f".attempt-{marker}"
    directory.mkdir()
    return EffectCall(
        input=jsonio.parse(jsonio.canonical(prepared.canonical_input)),
        directory=directory,
        working_directory=tmp_path,
        workflow_directory=tmp_path,
        marker=marker,
        key=KEY,
        grace_ms=5_000,
        max_output_bytes=max_output_bytes,
        masker=masker,
    )


def execute(executor: Executor, tmp_path: Path, resolved_input: dict[str, Any], **options: Any) -> Settled:
    return asyncio.run(executor.execute(make_call(executor, tmp_path, resolved_input, **options)))


def look_up(executor: Executor, tmp_path: Path, resolved_input: dict[str, Any], **options: Any) -> LookUp:
    return asyncio.run(executor.look_up(make_call(executor, tmp_path, resolved_input, **options)))


_DRIVER = """
import asyncio, pickle, sys
from hooks.executors.registry import make_executor

name, declarations, call = pickle.loads(bytes.fromhex(sys.argv[1]))
asyncio.run(make_executor(name, declarations).execute(call))
"""


def orphan(name: str, call: EffectCall, ready: Path, declarations: Sequence[ExecutorDeclaration] = ()) -> None:
    """Have the call executed by a driver of its own, and kill that with -9 once the file `ready` is there."""
    told = pickle.dumps((name, declarations, call)).hex()
    driver = subprocess.Popen([sys.executable, "-c", _DRIVER, told])
    asyncio.run(until(ready.exists))
    driver.kill()
    driver.wait()
