"""The hook pipeline of a run, as the runtime holds it: who listens where, and the way to ask them.

A run without hooks pays for a dict that is empty. What asking stands on (pydantic above all, 60 ms at import) is
loaded by `open`, and only when there is a hook.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hooks.events.payloads import HookSetMember
from hooks.pipeline.dispatch import Dispatch, Json, RunSetting, Subject, Verdict
from hooks.pipeline.listeners import Listener, listeners_by_point

if TYPE_CHECKING:
    from hooks.pipeline.chain import Chain


def _as_it_stands(value: Json) -> Json:
    return value


class Pipeline:
    """The hooks of one run. Opened before the first dispatch, closed on every path."""

    def __init__(
        self,
        members: Sequence[HookSetMember],
        *,
        run_id: str,
        workflow_id: str,
        run_directory: Path,
        working_directory: Path,
        transcript: Path,
        record_hooks: Literal["changes", "all"] = "changes",
        command_grace_ms: int = 2_000,
        resolve: Callable[[Json], Json] = _as_it_stands,
    ) -> None:
        """`members` in effective order, with the digests of their files now; `resolve` reads a value from its blob."""
        self._setting = RunSetting(
            run_id=run_id,
            workflow_id=workflow_id,
            run_directory=run_directory.absolute(),
            working_directory=working_directory.absolute(),
            transcript=transcript.absolute(),
            grace_ms=command_grace_ms,
        )
        self._record_all = record_hooks == "all"
        self._resolve = resolve
        self._by_point = listeners_by_point(members)
        self._matching: dict[tuple[str, Subject], tuple[Listener, ...]] = {}
        self._chain: Chain | None = None

    async def open(self) -> None:
        """Make the pipeline ready to dispatch."""
        if self._by_point:
            # The one place where a module of ours is loaded late: a run that has no hooks must not pay for pydantic.
            chain = importlib.import_module("hooks.pipeline.chain")
            self._chain = chain.Chain(self._setting, record_all=self._record_all, resolve=self._resolve)

    async def close(self) -> None:
        """Let go of the hooks."""
        self._chain = None

    def listens(self, hook: str, subject: Subject) -> bool:
        """Whether anybody wants to be asked; without that, a dispatch and its payload can be left out."""
        return hook in self._by_point and bool(self._listeners(hook, subject))

    async def dispatch(self, dispatch: Dispatch) -> Verdict:
        """Ask every hook that listens, in order.

        Record the verdict's `decided`, durably, before acting on the verdict. A hook that fails is part of the verdict;
        nothing a hook does is raised from here.
        """
        listeners = self._listeners(dispatch.hook, dispatch.subject)
        if not listeners:
            return Verdict()
        if self._chain is None:
            raise RuntimeError("the pipeline was not opened")
        return await self._chain.ask(dispatch, listeners)

    def _listeners(self, hook: str, subject: Subject) -> tuple[Listener, ...]:
        key = (hook, subject)
        found = self._matching.get(key)
        if found is None:
            present = self._by_point.get(hook, ())
            found = self._matching[key] = tuple(listener for listener in present if listener.matches(subject))
        return found
