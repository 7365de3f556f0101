"""Finds the plugins of a run: what each Python member of the hook set names, loaded, opened, and closed again.

Loading is a hook's own doing and so is its failure: a module that raises, hangs or has no such function makes a hook
that fails wherever it is asked. Where nobody can say any more at which points that would be, it fails at all of them.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from hooks.callables import CallableError, in_thread, load_named
from hooks.definition.durations import spelt
from hooks.definition.hook_points import RULES, HookType, known_points
from hooks.definition.model import HookEntry
from hooks.entry_points import load_entry_point, registered_names
from hooks.errors import UsageError, describe_exception
from hooks.events.payloads import HookSetMember
from hooks.jsonio import canonical
from hooks.pipeline.eager import OutOfTimeError, run
from hooks.pipeline.listeners import Manner
from hooks.pipeline.memory import Memory, memory_key
from hooks.pipeline.plugins import RegisteredPlugin, plugins_of
from hooks.pipeline.verdicts import HookFault

GROUP = "hooks.plugins"
DEFAULT_TIMEOUT_MS = 5_000


@dataclass(frozen=True, slots=True)
class LoadedMember:
    """A Python member of the hook set with its plugins; or why there are none."""

    member: HookSetMember
    plugins: tuple[RegisteredPlugin, ...] = ()
    memories: tuple[Memory, ...] = ()
    fault: HookFault | None = None

    def manners(self) -> list[Manner]:
        """What its hooks declare. A member that failed is asked wherever one of its hooks might have been."""
        if self.fault is not None:
            return [Manner(points=() if self.member.entry["on"] else _anywhere(self.member))]
        return [
            Manner(
                f"{plugin.name}.{hook.name}" if hook.name and len(plugin.hooks) > 1 else plugin.name,
                hook.points,
                hook.mode,
                hook.priority,
                (i, j),
            )
            for i, plugin in enumerate(self.plugins)
            for j, hook in enumerate(plugin.hooks)
        ]


async def load_member(member: HookSetMember, states: Mapping[str, Any]) -> LoadedMember:
    """Load and open what a member names, within its timeout. `states` is what plugins have kept, by key."""
    entry = msgspec.convert(member.entry, HookEntry)
    timeout_ms = entry.timeout_ms or DEFAULT_TIMEOUT_MS
    reference = entry.python or ""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            plugins = await in_thread(lambda: _plugins(reference, Path(member.declared_in).parent, member.name))
        _check_points(reference, plugins, entry)
    except TimeoutError:
        return LoadedMember(member, fault=HookFault(f"{reference} was not loaded within {spelt(timeout_ms)}"))
    except (CallableError, UsageError, HookFault) as error:
        return LoadedMember(member, fault=HookFault(str(error)))
    except Exception as error:  # noqa: BLE001 - what is named may be any object, which may do anything when looked at
        return LoadedMember(member, fault=HookFault(f"{reference} cannot be used: {describe_exception(error)}"))
    return await opened(member, plugins, states, timeout_ms=timeout_ms)


async def opened(
    member: HookSetMember,
    plugins: list[RegisteredPlugin],
    states: Mapping[str, Any],
    *,
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
) -> LoadedMember:
    """The member with its plugins ready. If one cannot be opened, those that were are closed again."""
    memories = tuple(Memory(key := memory_key(member, plugin.name), states.get(key)) for plugin in plugins)
    ready: list[RegisteredPlugin] = []
    for plugin in plugins:
        problem = await _told(plugin, "open", timeout_ms)
        if problem is not None:
            closed = LoadedMember(member, tuple(ready))
            await close(closed, timeout_ms=timeout_ms)
            return LoadedMember(member, fault=HookFault(problem))
        ready.append(plugin)
    return LoadedMember(member, tuple(plugins), memories)


async def close(loaded: LoadedMember, *, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> list[str]:
    """Close the member's plugins, each whatever becomes of the others; what went wrong, for stderr."""
    problems = [await _told(plugin, "close", timeout_ms) for plugin in loaded.plugins]
    return [problem for problem in problems if problem is not None]


def program_members(registered: list[RegisteredPlugin]) -> list[tuple[HookSetMember, RegisteredPlugin]]:
    """Members for plugins that a program brought with it; their digest is over their source."""
    return [(_program_member(plugin), plugin) for plugin in registered]


def _program_member(plugin: RegisteredPlugin) -> HookSetMember:
    what: Any = plugin.hooks[0].function if plugin.instance is None else type(plugin.instance)
    reference = f"{getattr(what, '__module__', '')}:{getattr(what, '__qualname__', type(what).__qualname__)}"
    entry = HookEntry(name=plugin.name, on=[], python=reference, origin="program")
    return HookSetMember(
        name=plugin.name,
        origin="program",
        entry={**msgspec.to_builtins(entry), "on": []},
        declared_in="",
        digest=sha256(canonical([plugin.name, reference, _source(what)])).hexdigest(),
    )


def _source(what: Any) -> str | None:
    try:
        return inspect.getsource(what)
    except (OSError, TypeError):
        return None  # typed at a prompt, or an object that is called


def _plugins(reference: str, base: Path, name: str) -> list[RegisteredPlugin]:
    if ":" in reference:
        return plugins_of(load_named(reference, base), name)
    item = load_entry_point(GROUP, reference)
    if item is None:
        if reference.endswith(".py"):
            raise HookFault(f'{reference!r} names a file and nothing in it; write "{reference}:function"')
        installed = ", ".join(sorted(registered_names(GROUP))) or "none"
        raise HookFault(f"no plugin {reference!r} is installed (entry points of {GROUP}; there is: {installed})")
    return plugins_of(item, name)


def _check_points(reference: str, plugins: list[RegisteredPlugin], entry: HookEntry) -> None:
    hooks = [hook for plugin in plugins for hook in plugin.hooks]
    declared = {point for hook in hooks for point in hook.points}
    silent = any(not hook.points for hook in hooks)
    points = known_points(entry.on)
    if not points and silent:
        raise HookFault(f"{reference} does not say where it is to be asked; add `on:`, or declare it with @hook")
    strange = [point for point in points if point not in declared and not silent]
    if strange:
        raise HookFault(f"{reference} is declared for {', '.join(sorted(declared))}, not for {strange[0]}")
    for hook in hooks:
        for point in hook.points:
            if hook.mode is not None and hook.mode not in RULES[point].modes:
                raise HookFault(f"{reference}: mode {hook.mode} is not possible at {point}")


def _anywhere(member: HookSetMember) -> tuple[HookType, ...]:
    key = "workflow" if member.node_id is None else "node"
    return tuple(point for point, rules in RULES.items() if key in rules.match)


async def _told(plugin: RegisteredPlugin, what: str, timeout_ms: int) -> str | None:
    """Have the plugin do `open` or `close`, in its time; what went wrong, if anything did."""
    if plugin.instance is None:
        return None
    method: Callable[[], Any] = getattr(plugin.instance, what)
    timeout_s = timeout_ms / 1000
    try:
        async with asyncio.timeout(timeout_s):
            returned = method() if inspect.iscoroutinefunction(method) else await in_thread(method)
        if inspect.isawaitable(returned):
            await run(_awaited(returned), timeout_s)
    except (TimeoutError, OutOfTimeError):
        return f"{plugin.name}.{what}() did not end within {spelt(timeout_ms)}"
    except HookFault as fault:
        return f"{plugin.name}.{what}() {fault.reason}"
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a failure of that plugin
        return f"{plugin.name}.{what}() raised {describe_exception(error)}"
    return None


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
