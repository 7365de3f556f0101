"""The executors that come with hooks, declared ones and installed ones keep the contract."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.executor_contract import ExecutorContract
from tests.executors.distribution import MODULE, install
from tests.executors.http_server import LocalServer, serving

from hooks.definition.model import ExecutorDeclaration
from hooks.executors.registry import EXECUTORS

OUTLIVING = "touch ready; sleep 0.2"
STEPS = """
import asyncio, pathlib, time

class Note:
    def execute(self, path, idempotency_key):
        pathlib.Path(path).write_text(idempotency_key)
    def lookup(self, key, path):
        note = pathlib.Path(path)
        return {"found": path} if note.exists() and note.read_text() == key else None

async def forever(ready):
    pathlib.Path(ready).touch()
    await asyncio.Event().wait()

def sleepy(ready):
    pathlib.Path(ready).touch()
    time.sleep(0.2)
"""

DO = """
import asyncio, pathlib

class Do:
    async def execute(self, what, path="", idempotency_key=""):
        if what == "fail": raise ValueError(what)
        if what == "note": pathlib.Path(path).write_text(idempotency_key)
        if what == "wait":
            pathlib.Path(path).touch()
            await asyncio.Event().wait()
        return what
    def lookup(self, key, what, path=""):
        return what if pathlib.Path(path).is_file() else None
"""


def write_steps(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(STEPS)


class TestShell(ExecutorContract):
    name = "shell"

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return {"script": "cat", "stdin": "in", "idempotent": True, "settle": "1s", "lookup": ["true"]}

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [{"argv": ["false"]}, {"argv": ["no-such-program"]}, {"script": "kill -9 $$"}]

    def endless(self, tmp_path: Path) -> dict[str, Any]:
        return {"script": "sleep 9999 & touch ready; sleep 9999"}

    def traceable(self, tmp_path: Path) -> dict[str, Any]:
        return {"argv": ["touch", "made"], "lookup": ["test", "-e", "made"]}

    def outliving(self, tmp_path: Path) -> dict[str, Any]:
        return {"script": OUTLIVING}


class TestFile(ExecutorContract):
    name = "file"

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return {"path": "out.txt", "content": "text", "mode": "append"}

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [{"path": "no/out.txt", "content": "text"}, {"path": "new.txt", "content": "", "mode": "replace"}]

    def endless(self, tmp_path: Path) -> None:
        return None

    def traceable(self, tmp_path: Path) -> dict[str, Any]:
        return self.succeeding(tmp_path)


class TestPython(ExecutorContract):
    name = "python"
    isolate = False

    def _call(self, callable: str, **args: object) -> dict[str, Any]:
        return {"callable": callable, "args": args, "isolate": self.isolate}

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return self._call("os.path:basename", p="a/b")

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [self._call("os.path:basename"), self._call("os:listdir", path="/no/such")]

    def endless(self, tmp_path: Path) -> dict[str, Any]:
        write_steps(tmp_path)
        return self._call("steps.py:forever", ready=str(tmp_path / "ready"))

    def traceable(self, tmp_path: Path) -> dict[str, Any]:
        write_steps(tmp_path)
        return self._call("steps.py:Note", path=str(tmp_path / "note"))


class TestIsolatedPython(TestPython):
    isolate = True

    def outliving(self, tmp_path: Path) -> dict[str, Any]:
        write_steps(tmp_path)
        return self._call("steps.py:sleepy", ready=str(tmp_path / "ready"))


class TestHttp(ExecutorContract):
    name = "http"
    server: LocalServer

    @pytest.fixture(autouse=True)
    def _serve(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("NO_PROXY", "*")
        with serving() as self.server:
            yield

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return {"url": self.server.url("/json"), "json": {"a": 1}, "headers": {"X-A": "1"}}

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        paths = ("/status/404", "/status/500", "/nothing", "/moved/302")
        return [{"url": self.server.url(path)} for path in paths] + [{"url": "http://127.0.0.1:1/"}]

    def endless(self, tmp_path: Path) -> dict[str, Any]:
        return {"url": self.server.url(f"/hangs{tmp_path}/ready"), "timeout": "1h"}

    def traceable(self, tmp_path: Path) -> dict[str, Any]:
        return {"method": "POST", "url": self.server.url("/echo"), "lookup": {"url": self.server.url("/known/{key}")}}


class TestDeclaredCommand(ExecutorContract):
    name = "do"
    declarations = (
        ExecutorDeclaration(
            name="do",
            argv=["sh", "-c", """eval "$(sed 's/{"do":"//; s/"}$//')" """],
            lookup=["sh", "-c", "test -e made && echo null"],
        ),
    )
    takes_any_key = True

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return {"do": "echo '[1]'"}

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [{"do": "exit 1"}, {"do": "kill -9 $$"}]

    def endless(self, tmp_path: Path) -> dict[str, Any]:
        return {"do": "sleep 9999 & touch ready; sleep 9999"}

    def traceable(self, tmp_path: Path) -> dict[str, Any]:
        return {"do": "touch made"}

    def outliving(self, tmp_path: Path) -> dict[str, Any]:
        return {"do": OUTLIVING}


class TestDeclaredFunction(ExecutorContract):
    name = "do"
    takes_any_key = True

    @pytest.fixture(autouse=True)
    def _declare(self, tmp_path: Path) -> None:
        (tmp_path / "do.py").write_text(DO)
        declared_in = str(tmp_path / "config.yaml")
        self.declarations = (ExecutorDeclaration(name="do", callable="do.py:Do", declared_in=declared_in),)

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return {"what": "work"}

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [{"what": "fail"}, {"other": 1}]

    def endless(self, tmp_path: Path) -> dict[str, Any]:
        return {"what": "wait", "path": str(tmp_path / "ready")}

    def traceable(self, tmp_path: Path) -> dict[str, Any]:
        return {"what": "note", "path": str(tmp_path / "note")}


class TestInstalled(ExecutorContract):
    """One that another distribution registers."""

    name = "notes"

    @pytest.fixture(autouse=True)
    def _install(self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
        site = tmp_path_factory.mktemp("site")
        install(site)
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, MODULE, raising=False)

    def succeeding(self, tmp_path: Path) -> dict[str, Any]:
        return {"path": str(tmp_path / "note")}

    def failing(self, tmp_path: Path) -> list[dict[str, Any]]:
        return [{"path": str(tmp_path / "no" / "note")}]

    def endless(self, tmp_path: Path) -> dict[str, Any]:
        return {"path": str(tmp_path / "ready"), "text": "wait"}

    def traceable(self, tmp_path: Path) -> dict[str, Any]:
        return self.succeeding(tmp_path)


def test_every_executor_that_comes_with_hooks_keeps_the_contract() -> None:
    assert {contract.name for contract in ExecutorContract.__subclasses__()} >= set(EXECUTORS)
