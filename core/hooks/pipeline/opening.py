"""Makes a run's hooks ready to be asked: plugins loaded and opened, each hook in its place in the order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hooks.events.payloads import HookSetMember
from hooks.pipeline.chain import Chain
from hooks.pipeline.dispatch import Json, RunSetting
from hooks.pipeline.listeners import Listener, listeners_of
from hooks.pipeline.plugin_loading import LoadedMember, close, load_member, opened, program_members
from hooks.pipeline.plugins import RegisteredPlugin


@dataclass(frozen=True, slots=True)
class OpenedHooks:
    """The hooks of a run, ready."""

    chain: Chain
    listeners: list[Listener]
    loaded: list[LoadedMember]

    async def close(self) -> list[str]:
        """Give up what runs in the background and close the plugins, last opened first; what went wrong."""
        await self.chain.close()
        problems = []
        for member in reversed(self.loaded):
            problems += await close(member)
        return problems


async def open_hooks(
    members: Sequence[HookSetMember],
    plugins: list[RegisteredPlugin],
    setting: RunSetting,
    *,
    record_all: bool,
    resolve: Callable[[Json], Json],
    states: Mapping[str, Json],
) -> OpenedHooks:
    """Load and open every plugin; one that fails is there all the same, and fails when it is asked."""
    kept = {key: resolve(value) for key, value in states.items()}
    loaded: list[LoadedMember] = []
    try:
        for member in members:
            if member.entry.get("python") is not None:
                loaded.append(await load_member(member, kept))
        for member, plugin in program_members(plugins):
            loaded.append(await opened(member, [plugin], kept))
    except BaseException:
        for done in reversed(loaded):
            await close(done)
        raise
    manners = {id(entry.member): entry.manners() for entry in loaded}
    everybody = [*members, *(entry.member for entry in loaded if entry.member.origin == "program")]
    listeners = [
        listener
        for member in everybody
        for listener in (listeners_of(member, manners[id(member)]) if id(member) in manners else listeners_of(member))
    ]
    return OpenedHooks(Chain(setting, loaded, record_all=record_all, resolve=resolve), listeners, loaded)
