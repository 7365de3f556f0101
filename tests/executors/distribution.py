"""A distribution that registers an executor and a kind of agent, written into a directory as pip would install it."""

from __future__ import annotations

from pathlib import Path

MODULE = "hooks_tests_installed"
_SOURCE = '''
import asyncio, pathlib
from hooks.agents.base import AgentError, Generation
from hooks.events.payloads import ErrorInfo
from hooks.executors.base import Absent, Executor, Found, InputError, Prepared, Settled
from hooks.executors.settling import unsettled


class Notes(Executor):
    def prepare(self, resolved_input, *, working_directory, workflow_directory):
        for key in resolved_input:
            if key not in ("path", "text"):
                raise InputError(f"input.{key}: unknown.")
        return Prepared(resolved_input, provider="notes")

    async def execute(self, call):
        path, text = pathlib.Path(call.input["path"]), call.input.get("text", "")
        if text == "wait":
            path.touch()
            await asyncio.Event().wait()
        try:
            path.write_text(call.key)
        except OSError as error:
            return unsettled("not_done", "CannotWrite", "userFault", str(error))
        return Settled("done", {"path": str(path)})

    def can_look_up(self, canonical_input):
        return True

    async def look_up(self, call):
        path = pathlib.Path(call.input["path"])
        return Found(Settled("done", {"path": str(path)})) if path.exists() else Absent()


class Half:
    """Lacks most of what an executor owes."""

    def prepare(self, resolved_input, **directories): ...


class Repeating:
    def __init__(self, declaration, workflow_directory):
        self.honoured_options = declaration.honoured_options
        self.mark = declaration.settings["mark"]

    async def generate(self, request):
        if self.mark == "fail":
            raise AgentError(ErrorInfo(error_code="Hoarse", error_class="fatal", error_message="It has no voice."))
        if self.mark == "wait":
            (request.working_directory / "ready").touch()
            await asyncio.Event().wait()
        return Generation(request.prompt + self.mark)

    async def adopt(self, request):
        return None
'''
_ENTRY_POINTS = f"""
[hooks.executors]
notes = {MODULE}:Notes
half = {MODULE}:Half
broken = {MODULE}:Missing

[hooks.agents]
repeating = {MODULE}:Repeating
"""


def install(site: Path) -> None:
    """Write the distribution into a directory that is, or will be, on sys.path."""
    metadata = site / f"{MODULE}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / f"{MODULE}.py").write_text(_SOURCE)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(_ENTRY_POINTS)
