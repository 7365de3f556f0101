"""Plugins: several hooks with one state, and sets of hooks that are registered together.

    class Budget(Plugin):
        @hook(HookType.COMPONENT_PRE_EXECUTE)
        def count(self, payload, ctx):
            ctx.state["steps"] = ctx.state.get("steps", 0) + 1
            if ctx.state["steps"] > 100:
                return block("more than 100 steps")

A registration is checked as a whole before anything of it counts: one mistake, and nothing is registered. A class is
made anew for each run, so that no run sees another's; what is registered twice is two plugins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from hooks.definition.hook_points import RULES, HookType, Mode, mode_named
from hooks.errors import UsageError
from hooks.pipeline.declaring import AnyMode, declaration_of


class Plugin:
    """Base of classes with several hooks. `mode` and `priority` hold for those of its hooks that say nothing else.

    An instance lives as long as the driver of a run: `open` is called before its first hook, `close` after the last, on
    every path; both may be async. A plugin that cannot be opened has failed, and so have all its hooks.
    """

    mode: ClassVar[AnyMode | None] = None
    priority: ClassVar[int | None] = None

    def open(self) -> Any:
        """Make ready."""

    def close(self) -> Any:
        """Let go."""


@dataclass(frozen=True, slots=True)
class PluginHook:
    """One hook as it was declared. `name` tells the hooks of one plugin apart; empty where there is one."""

    name: str
    function: Callable[..., Any]
    points: tuple[HookType, ...]
    mode: Mode | None
    priority: int | None


@dataclass(frozen=True, slots=True)
class RegisteredPlugin:
    """What has its own state and its own life: an instance of a Plugin, or a single function."""

    name: str
    instance: Plugin | None
    hooks: tuple[PluginHook, ...]


Registered: TypeAlias = "PluginSet | Plugin | type[Plugin] | Callable[..., Any]"
"""A hook as an object of a program: a decorated function, a Plugin or a class of one, or a set of these."""


class PluginSet:
    """Hooks that are registered together, under one name. Raises UsageError for anything that is no hook.

    `priority`, where given, is that of all of them, whatever they say themselves.
    """

    def __init__(self, *items: Registered, name: str = "", priority: int | None = None) -> None:
        self.name = name
        self.priority = priority
        self.items: tuple[Registered, ...] = items
        if not items:
            raise UsageError("A PluginSet of nothing was declared.", fix="Give it functions, plugins or sets.")
        plugins_of(self)


def plugins_of(item: Any, name: str = "") -> list[RegisteredPlugin]:
    """The plugins that `item` stands for, instances made; each under a name of its own.

    `item` is a function, a Plugin, a class of one, or a PluginSet. Raises UsageError for what cannot be used.
    """
    return _told_apart(_plugins(item, name))


def _plugins(item: Any, name: str) -> list[RegisteredPlugin]:
    if isinstance(item, PluginSet):
        plugins = [plugin for member in item.items for plugin in _plugins(member, "")]
        return [_in_set(plugin, item, name) for plugin in plugins]
    if isinstance(item, type) and issubclass(item, Plugin):
        return [_plugin(_made(item), name or item.__name__)]
    if isinstance(item, Plugin):
        return [_plugin(item, name or type(item).__name__)]
    return [_function(item, name)]


def _in_set(plugin: RegisteredPlugin, of: PluginSet, name: str) -> RegisteredPlugin:
    prefix = name or of.name
    return RegisteredPlugin(
        f"{prefix}.{plugin.name}" if prefix else plugin.name,
        plugin.instance,
        tuple(hook if of.priority is None else replace(hook, priority=of.priority) for hook in plugin.hooks),
    )


def _made(plugin: type[Plugin]) -> Plugin:
    try:
        return plugin()
    except TypeError as error:
        raise UsageError(f"{plugin.__name__} cannot be made: {error}.", fix="Give an instance of it.") from error


def _plugin(plugin: Plugin, name: str) -> RegisteredPlugin:
    hooks = []
    for attribute in _attributes(type(plugin)):
        declaration = declaration_of(inspect.getattr_static(plugin, attribute))
        if declaration is not None:
            function = getattr(plugin, attribute)
            _check_signature(function, f"{name}.{attribute}")
            mode = declaration.mode or _default_mode(plugin, declaration.points)
            priority = plugin.priority if declaration.priority is None else declaration.priority
            hooks.append(PluginHook(attribute, function, declaration.points, mode, priority))
    if not hooks:
        raise UsageError(f"{name} is a Plugin without a hook.", fix="Put @hook(HookType.…) on its methods.")
    return RegisteredPlugin(name, plugin, tuple(hooks))


def _default_mode(plugin: Plugin, points: Sequence[HookType]) -> Mode | None:
    """The class's mode; it is a default, and says nothing to hooks that cannot have it."""
    mode = mode_named(plugin.mode)
    return mode if mode is not None and all(mode in RULES[point].modes for point in points) else None


def _attributes(plugin: type[Plugin]) -> Iterable[str]:
    """The names of a class and its bases, each once, in the order they were written."""
    return dict.fromkeys(name for base in reversed(plugin.__mro__) for name in vars(base))


def _function(function: Any, name: str) -> RegisteredPlugin:
    if not callable(function):
        raise UsageError(
            f"A value of type {type(function).__name__} is no hook: {function!r:.60}; functions and Plugins are.",
            fix="Give a function, a Plugin, or a PluginSet.",
        )
    own_name = name or getattr(function, "__name__", type(function).__name__)
    declaration = declaration_of(function) or declaration_of(vars(type(function)).get("__call__"))
    _check_signature(function, own_name)
    points = () if declaration is None else declaration.points
    mode, priority = (None, None) if declaration is None else (declaration.mode, declaration.priority)
    return RegisteredPlugin(own_name, None, (PluginHook("", function, points, mode, priority),))


def _check_signature(function: Callable[..., Any], name: str) -> None:
    wanted = wanted_arguments(function)
    if wanted is not None and not 1 <= wanted <= 2:
        raise UsageError(f"{name} takes {wanted} arguments.", fix="A hook takes (payload) or (payload, ctx).")


def wanted_arguments(function: Callable[..., Any]) -> int | None:
    """How many positional arguments without a default it takes, at least; None where it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None  # some built-in without a signature
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return None
    wanted = [p for p in parameters if p.kind in positional]
    required = [p for p in wanted if p.default is p.empty]
    return max(len(required), min(1, len(wanted)))


def _told_apart(plugins: Sequence[RegisteredPlugin]) -> list[RegisteredPlugin]:
    """Two closures, or two instances of a class, have one name; here they get two."""
    taken: set[str] = set()
    told_apart = []
    for plugin in plugins:
        name, number = plugin.name, 2
        while name in taken:
            name, number = f"{plugin.name}-{number}", number + 1
        taken.add(name)
        told_apart.append(replace(plugin, name=name))
    return told_apart
