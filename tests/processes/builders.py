"""Children for tests, and a look at which of their processes are alive."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hooks.processes.launch import Child
from hooks.processes.process_table import find_tree


def make_child(
    tmp_path: Path,
    *argv: str,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    working_directory: Path | None = None,
) -> Child:
    """A child with a directory and a marker of its own."""
    marker = f"test-{uuid.uuid4().hex}"
    directory = tmp_path / marker
    directory.mkdir()
    return Child(
        argv=argv,
        working_directory=working_directory or tmp_path,
        environment=dict(os.environ) if environment is None else environment,
        directory=directory,
        marker=marker,
        stdin=stdin,
    )


def shell(tmp_path: Path, script: str, stdin: bytes = b"") -> Child:
    return make_child(tmp_path, "bash", "-c", script, stdin=stdin)


def alive(marker: str) -> Sequence[int]:
    return [process.pid for process in find_tree(marker)]


async def until(claim: Callable[[], object]) -> None:
    """Wait until the claim holds. The bound is for what will never hold, not for a machine that is slow."""
    async with asyncio.timeout(300):
        while not claim():  # noqa: ASYNC110  other processes set no asyncio.Event
            await asyncio.sleep(0.005)
