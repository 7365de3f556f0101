"""The `hooks:` list, of a workflow, a node, a config or a file of its own."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

import msgspec

from hooks.definition.fields import Fields, Keys, describe, did_you_mean, listed, read_fields
from hooks.definition.hook_files import file_of_command
from hooks.definition.hook_points import MODES, HookType
from hooks.definition.hook_rules import fault_of_point, faults_of
from hooks.definition.model import HookEntry, HookMatch
from hooks.definition.named_files import check_function, check_program
from hooks.definition.tree import Mapping, Node, Sequence, Source
from hooks.definition.values import (
    read_bool,
    read_choice,
    read_duration,
    read_int,
    read_text,
    read_text_map,
    read_texts,
)
from hooks.expressions.cel import CelError, compile_expression
from hooks.expressions.conditions import NameUse, uses_in

Origin: TypeAlias = Literal["user", "project", "workflow", "node", "flag"]

_KEYS = Keys(
    "a hook",
    frozenset(
        {
            *("name", "on", "match", "if", "argv", "python", "mode", "priority", "timeout", "timeout_ms", "on_error"),
            *("final", "env", "approvers", "deadline", "deadline_ms", "on_timeout"),
        }
    ),
)
_MATCH_KEYS = Keys("`match`", frozenset({"node", "component_type", "executor", "agent", "workflow"}))
_TARGET_FIX = "write `module:function`, `file.py:function`, or the name of an installed plugin"
_TARGET = re.compile(r"[A-Za-z0-9_.-]+|.+:[A-Za-z_][A-Za-z0-9_.]*")
_CEL_NAME = "payload"
_COMPONENT_TYPES = ("AgentStep", "HostExecutorCall")
_EXECUTOR_OF_TOOL = {"Bash": "shell", "Write": "file"}
"""The names under which the scripts of hooks see executors as `tool_name`."""
_MOST_PRIORITY = 1_000_000


class DeclaredHook(msgspec.Struct, frozen=True):
    """An entry with the globs of its `match` in place, for who can say whether they match anything."""

    entry: HookEntry
    globs: list[DeclaredGlob]


class DeclaredGlob(msgspec.Struct, frozen=True):
    key: str
    glob: str
    place: int


def read_hooks(
    source: Source, node: Node, *, origin: Origin, declared_in: str, node_id: str | None = None
) -> list[DeclaredHook]:
    """The entries without fault; every fault is reported. Names left out are made from the file or the function."""
    if not isinstance(node, Sequence):
        source.report(node, f"`hooks` must be a list of hooks, but is {describe(node)}", "write `- {on: …, argv: […]}`")
        return []
    hooks = []
    names: set[str] = set()
    for index, item in enumerate(node.items):
        hook = _read_hook(source, item, f"hooks[{index}]")
        if hook is None:
            continue
        entry = msgspec.structs.replace(
            hook.entry,
            name=_unique_name(source, item, hook.entry, names),
            origin=origin,
            declared_in=declared_in,
            node_id=node_id,
        )
        _report_faults(source, item, entry)
        hooks.append(DeclaredHook(entry, hook.globs))
    return hooks


def report_idle_globs(
    source: Source, hooks: Collection[DeclaredHook], present: dict[str, Collection[str]], within: str = "this workflow"
) -> None:
    """Report the globs that match nothing of what is present (names by match key): such a hook would never run."""
    for hook in hooks:
        for declared in hook.globs:
            names = present[declared.key]
            if not any(fnmatchcase(name, declared.glob) for name in names):
                fix = did_you_mean(declared.glob, names) or f"there is: {listed(names)}"
                source.report(
                    declared.place, f"`match.{declared.key}`: `{declared.glob}` matches nothing in {within}", fix
                )


def _read_hook(source: Source, node: Node, label: str) -> DeclaredHook | None:
    fields = read_fields(source, node, _KEYS, label)
    if fields is None:
        return None
    match, globs = _read_match(fields, label)
    found = {"on": _read_points(fields), **_read_command(fields), **_read_manner(fields), **_read_asking(fields)}
    known = {name: value for name, value in found.items() if value is not None}
    if "on" not in known or not known.keys() & {"argv", "python"}:
        return None
    return DeclaredHook(HookEntry(**{"name": "", "match": match, **known}), globs)


def _read_manner(fields: Fields) -> dict[str, Any]:
    """When it is asked, in which order, and what becomes of its failures."""
    source, label = fields.source, fields.label
    found: dict[str, Any] = {"timeout_ms": read_duration(fields, "timeout")}
    if (value := fields.value("name")) is not None:
        found["name"] = read_text(source, value, f"{label}: `name`")
    if (value := fields.value("if")) is not None:
        found["condition"] = _read_condition(source, value, f"{label}: `if`")
    if (value := fields.value("mode")) is not None:
        found["mode"] = read_choice(source, value, f"{label}: `mode`", MODES)
    if (value := fields.value("priority")) is not None:
        found["priority"] = read_int(source, value, f"{label}: `priority`", least=-_MOST_PRIORITY, most=_MOST_PRIORITY)
    if (value := fields.value("on_error")) is not None:
        found["on_error"] = read_choice(source, value, f"{label}: `on_error`", ("fail", "ignore"))
    if (value := fields.value("final")) is not None:
        found["final"] = read_bool(source, value, f"{label}: `final`")
    if (value := fields.value("env")) is not None:
        found["env"] = read_text_map(source, value, f"{label}: `env`")
    return found


def _read_asking(fields: Fields) -> dict[str, Any]:
    """Who answers when it asks a person, and until when."""
    source, label = fields.source, fields.label
    found: dict[str, Any] = {"deadline_ms": read_duration(fields, "deadline")}
    if (value := fields.value("approvers")) is not None:
        found["approvers"] = read_texts(source, value, f"{label}: `approvers`", one=True)
    if (value := fields.value("on_timeout")) is not None:
        found["on_timeout"] = read_choice(source, value, f"{label}: `on_timeout`", ("fail", "success"))
    return found


def _read_points(fields: Fields) -> list[str] | None:
    """The points as they are written; none where a Python hook is left to declare its own."""
    if "on" not in fields and "python" in fields:
        return []
    node = fields.require("on", f"add `on:` with a hook point, such as `{HookType.COMPONENT_PRE_EXECUTE}`")
    if node is None:
        return None
    points = read_texts(fields.source, node, "`on`", one=True)
    if points is None:
        return None
    places = node.items if isinstance(node, Sequence) else [node]
    for place, written in zip(places, points, strict=True):
        if (fault := fault_of_point(written)) is not None:
            fields.source.report(place, fault.message, fault.fix)
    return points


def _read_condition(source: Source, node: Node, what: str) -> str | None:
    text = read_text(source, node, what)
    if text is None:
        return None
    try:
        compile_expression(text)
    except CelError as error:
        source.report(node, f"{what}: {error.message}", f"write CEL over `{_CEL_NAME}`: {_CEL_NAME}.attempt > 1")
        return None
    strange = [use.name for use in uses_in(text) if isinstance(use, NameUse) and use.name != _CEL_NAME]
    if strange:
        source.report(node, f"{what}: there is no `{strange[0]}`", f"a hook sees `{_CEL_NAME}` and nothing else")
    return text


def _report_faults(source: Source, item: Node, entry: HookEntry) -> None:
    """Report what does not go together, each at the key it is about."""
    keys = {_KEYS.canonical(field.key.text): field.key for field in item.entries} if isinstance(item, Mapping) else {}
    for fault in faults_of(entry):
        source.report(keys.get(fault.key, item), fault.message, fault.fix)


def _read_command(fields: Fields) -> dict[str, Any]:
    source = fields.source
    argv, python = fields.value("argv"), fields.value("python")
    if (argv is None) == (python is None):
        what = "both `argv` and `python`" if argv is not None else "neither `argv` nor `python`"
        place = fields.key_place("python" if python is not None else "on")
        source.report(place, f"{fields.label} has {what}", "give exactly one of the two")
        return {}
    if argv is not None:
        words = read_texts(source, argv, f"{fields.label}: `argv`")
        if words and isinstance(argv, Sequence):
            check_program(source, argv.items[0], words[0])
        return {"argv": words}
    assert python is not None
    target = read_text(source, python, f"{fields.label}: `python`")
    if target is not None and not _TARGET.fullmatch(target):
        source.report(python, f"{fields.label}: `python` is {target!r}", _TARGET_FIX)
        return {}
    if target is not None and ":" in target:
        check_function(source, python, target)
    return {"python": target}


def _read_match(fields: Fields, label: str) -> tuple[HookMatch, list[DeclaredGlob]]:
    node = fields.value("match")
    match = read_fields(fields.source, node, _MATCH_KEYS, f"{label}: `match`") if node is not None else None
    if match is None:
        return HookMatch(), []
    found: dict[str, list[str]] = {}
    globs = []
    for key in match:
        value = match.value(key)
        assert value is not None
        texts = read_texts(fields.source, value, f"`match.{key}`", one=True) or []
        found[key] = texts
        items = value.items if isinstance(value, Sequence) else [value]
        for text, item in zip(texts, items, strict=False):
            if (fault := _never_matching(key, text)) is not None:
                fields.source.report(item, *fault)
            else:
                globs.append(DeclaredGlob(key, text, item.start))
    return HookMatch(**found), globs


def _never_matching(key: str, glob: str) -> tuple[str, str] | None:
    """Message and fix for a glob that matches nothing in any workflow, as matchers of CLI agents would."""
    parts = glob.split("|")
    if key == "executor" and any(part in _EXECUTOR_OF_TOOL for part in parts):
        names = ", ".join(_EXECUTOR_OF_TOOL.get(part, part) for part in parts)
        return f"`match.executor`: `{glob}` is a tool of CLI agents and no executor", f"write `executor: [{names}]`"
    if key == "component_type" and not any(fnmatchcase(name, glob) for name in _COMPONENT_TYPES):
        return f"`match.component_type`: there is no `{glob}`", f"there is {listed(_COMPONENT_TYPES)}"
    if len(parts) > 1:
        return f"`match.{key}`: `{glob}` matches nothing: it is a glob", f"write `{key}: [{', '.join(parts)}]`"
    return None


def _unique_name(source: Source, item: Node, entry: HookEntry, names: set[str]) -> str:
    if entry.name:
        if entry.name in names:
            place = item.get("name") if isinstance(item, Mapping) else None
            source.report(place or item, f"two hooks are named `{entry.name}`", "rename one of the two")
        names.add(entry.name)
        return entry.name
    stem = _default_name(entry)
    name, number = stem, 2
    while name in names:
        name, number = f"{stem}-{number}", number + 1
    names.add(name)
    return name


def _default_name(entry: HookEntry) -> str:
    if entry.python is not None:
        return entry.python.rsplit(":", 1)[-1]
    assert entry.argv is not None
    # In `[python3, policies/budget.py]` the file tells more than the interpreter.
    return PurePath(file_of_command(entry.argv) or entry.argv[0]).stem
