"""The hook pipeline of a run, as the runtime holds it: who listens where, and the way to ask them.

A run without hooks pays for a dict that is empty. What asking stands on (pydantic above all, 60 ms at import) is
loaded by `open`, and only when there is a hook.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hooks.definition.hook_points import HookType
from hooks.events.payloads import HookDecided, HookSetMember
from hooks.pipeline.dispatch import Dispatch, Json, RunSetting, Subject, Verdict
from hooks.pipeline.listeners import Audience, Listener, audiences, by_point, listeners_of
from hooks.pipeline.plugins import PluginSet, Registered, plugins_of

if TYPE_CHECKING:
    from hooks.pipeline.chain import Chain
    from hooks.pipeline.opening import OpenedHooks

DRAIN_S = 5.0
INPUTS = "hook-inputs"


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
        states: Mapping[str, Json] | None = None,
        plugins: Sequence[Registered] = (),
        replay_in: Path | None = None,
    ) -> None:
        """`members` in effective order, with the digests of their files now; `resolve` reads a value from its blob.

        `states` is what plugins have kept so far in the run (RunState.plugin_states). `plugins` are a program's own, of
        this run alone; raises UsageError if one of them is no hook, and then none is registered. With `replay_in` the
        run is only read: that directory takes what hooks need in files.
        """
        self._setting = RunSetting(
            run_id=run_id,
            workflow_id=workflow_id,
            run_directory=run_directory.absolute(),
            working_directory=working_directory.absolute(),
            transcript=transcript.absolute(),
            grace_ms=command_grace_ms,
            inputs=(run_directory / INPUTS if replay_in is None else replay_in).absolute(),
            is_replay=replay_in is not None,
        )
        self._members = members
        self._plugins = plugins_of(PluginSet(*plugins)) if plugins else []
        self._record_all = record_hooks == "all"
        self._resolve = resolve
        self._states = states or {}
        self._by_point = by_point(listener for member in members for listener in listeners_of(member))
        self._audiences: dict[str, Callable[[Subject], Audience]] = {}
        self._opened: OpenedHooks | None = None

    async def open(self) -> None:
        """Load and open the plugins, and make the pipeline ready to dispatch. One that cannot be loaded has failed.

        Nothing, where it is open.
        """
        if self._opened is None and (self._members or self._plugins):
            # The one place where a module of ours is loaded late: a run that has no hooks must not pay for pydantic.
            opening = importlib.import_module("hooks.pipeline.opening")
            opened: OpenedHooks = await opening.open_hooks(
                self._members,
                self._plugins,
                self._setting,
                record_all=self._record_all,
                resolve=self._resolve,
                states=self._states,
            )
            self._opened = opened
            self._by_point = by_point(opened.listeners)
            self._audiences.clear()

    async def drain(self, timeout_s: float = DRAIN_S) -> list[HookDecided]:
        """What hooks in the background have said, to be recorded; those that are not done in time are lost.

        To be called at the end of a driver, before `close`.
        """
        return [] if self._opened is None else await self._opened.chain.background.drain(timeout_s)

    async def close(self) -> list[str]:
        """Close the plugins and let go of the hooks; what went wrong with that, for stderr."""
        opened, self._opened = self._opened, None
        return [] if opened is None else await opened.close()

    def load_faults(self) -> list[tuple[HookSetMember, str]]:
        """The hooks that could not be loaded or opened, and why; of an open pipeline."""
        loaded = [] if self._opened is None else self._opened.loaded
        return [(each.member, each.fault.reason) for each in loaded if each.fault is not None]

    def is_heard(self, hook: str) -> bool:
        """Whether any hook is at this point at all, whatever it is about: cheaper to ask than `listens`."""
        return hook in self._by_point

    def listens(self, hook: str, subject: Subject) -> bool:
        """Whether anybody wants to be asked; without that, a dispatch and its payload can be left out."""
        return hook in self._by_point and bool(self._audience(hook, subject))

    async def dispatch(self, dispatch: Dispatch) -> Verdict:
        """Ask every hook that listens, in order.

        Record the verdict's `decided`, durably, before acting on the verdict. A hook that fails is part of the verdict;
        nothing a hook does is raised from here.
        """
        audience = self._audience(dispatch.hook, dispatch.subject)
        return await self.chain.ask(dispatch, audience) if audience else Verdict()

    @property
    def chain(self) -> Chain:
        """What asks the hooks; only while the pipeline is open, and if there are any."""
        if self._opened is None:
            raise RuntimeError("the pipeline was not opened")
        return self._opened.chain

    def listeners(self, hook: HookType) -> Sequence[Listener]:
        """Everybody who listens at a point, whatever the subject, in the order they are asked."""
        return self._by_point.get(hook, ())

    def _audience(self, hook: str, subject: Subject) -> Audience:
        at_point = self._audiences.get(hook)
        if at_point is None:
            at_point = self._audiences[hook] = audiences(self._by_point.get(hook, ()))
        return at_point(subject)
