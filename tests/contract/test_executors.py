"""The executors that come with hooks keep the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.contract.executor_contract import ExecutorContract

from hooks.executors.base import Executor
from hooks.executors.registry import make_executor


class TestShell(ExecutorContract):
    def executor(self) -> Executor:
        return make_executor("shell")

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return {"script": "cat", "stdin": "in", "idempotent": True, "settle": "1s", "lookup": ["true"]}

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [{"argv": ["false"]}, {"argv": ["no-such-program"]}, {"script": "kill -9 $$"}]

    def endless(self, tmp_path: Path) -> dict[str, Any]:
        return {"script": "sleep 9999 & touch ready; sleep 9999"}


class TestFile(ExecutorContract):
    def executor(self) -> Executor:
        return make_executor("file")

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return {"path": "out.txt", "content": "text", "mode": "append"}

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [{"path": "no/out.txt", "content": "text"}, {"path": "new.txt", "content": "", "mode": "replace"}]

    def endless(self, tmp_path: Path) -> None:
        return None


class TestPython(ExecutorContract):
    def executor(self) -> Executor:
        return make_executor("python")

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return {"callable": "os.path:basename", "args": {"p": "a/b"}}

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [{"callable": "os:listdir"}, {"callable": "os:listdir", "args": {"path": "/no/such"}}]

    def endless(self, tmp_path: Path) -> dict[str, Any]:
        (tmp_path / "steps.py").write_text(
            "import asyncio, pathlib\n"
            "async def forever(ready):\n  pathlib.Path(ready).touch()\n  await asyncio.Event().wait()\n"
        )
        return {"callable": "steps.py:forever", "args": {"ready": str(tmp_path / "ready")}}
