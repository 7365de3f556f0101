"""Calls for tests, made as the runtime makes them: prepared, written as JSON, read back."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

from hooks import jsonio
from hooks.executors.base import EffectCall, Executor, Settled


def make_call(
    executor: Executor, tmp_path: Path, resolved_input: dict[str, Any], *, max_output_bytes: int | None = None
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
        key="wf_" + "0" * 47,
        grace_ms=5_000,
        max_output_bytes=max_output_bytes,
    )


def execute(executor: Executor, tmp_path: Path, resolved_input: dict[str, Any], **options: Any) -> Settled:
    return asyncio.run(executor.execute(make_call(executor, tmp_path, resolved_input, **options)))
