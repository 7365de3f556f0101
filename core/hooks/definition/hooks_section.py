"""The `hooks:` list, of a workflow, a node, a config or a file of its own."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

import msgspec

from hooks.definition.agents_section import read_target
from hooks.definition.fields import Fields, Keys, describe, did_you_mean, listed, read_fields
from hooks.definition.model import HookEntry, HookMatch
from hooks.definition.named_files import check_program
from hooks.definition.tree import Mapping, Node, Sequence, Source
from hooks.definition.values import read_choice, read_duration, read_int, read_text, read_text_map, read_texts

Origin: TypeAlias = Literal["user", "project", "workflow", "node", "flag"]

SUPPORTED_POINTS = ("component_pre_execute", "component_post_success", "component_post_error")
POINTS = (
    *SUPPORTED_POINTS,
    "sampling_loop_start",
    "sampling_iteration",
    "sampling_repair",
    "sampling_loop_end",
    "generation_pre_call",
    "generation_post_call",
    "generation_error",
    "validation_pre_check",
    "validation_post_check",
    "effect_pre_attempt",
    "effect_post_settle",
    "run_started",
    "run_resumed",
    "run_finished",
    "effect_reconciled",
    "activities_cancelled",
    "wait_created",
    "wait_resolved",
)
ALIASES = {
    "PreToolUse": "effect_pre_attempt",
    "PostToolUse": "effect_post_settle",
    "SessionStart": "run_started",
    "SessionEnd": "run_finished",
}
_KEYS = Keys(
    "a hook",
    frozenset(
        {"name", "on", "argv", "python", "mode", "priority", "timeout", "timeout_ms", "on_error", "match", "env"}
    ),
    frozenset({"if", "final", "approvers", "deadline", "deadline_ms", "on_timeout"}),
)
_MATCH_KEYS = Keys("`match`", frozenset({"node", "component_type", "executor", "agent", "workflow"}))
_LATER_MODES = ("transform", "concurrent", "audit", "fire_and_forget")
_SCRIPT_SUFFIXES = {".py", ".sh", ".bash", ".js", ".ts", ".rb", ".pl"}
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
        hooks.append(DeclaredHook(entry, hook.globs))
    return hooks


def report_idle_globs(source: Source, hooks: Collection[DeclaredHook], present: dict[str, Collection[str]]) -> None:
    """Report the globs that match nothing of what is present (names by match key): such a hook would never run."""
    for hook in hooks:
        for declared in hook.globs:
            names = present[declared.key]
            if not any(fnmatchcase(name, declared.glob) for name in names):
                fix = did_you_mean(declared.glob, names) or f"there is: {listed(names)}"
                source.report(
                    declared.place, f"`match.{declared.key}`: `{declared.glob}` matches nothing in this workflow", fix
                )


def _read_hook(source: Source, node: Node, label: str) -> DeclaredHook | None:
    fields = read_fields(source, node, _KEYS, label)
    if fields is None:
        return None
    known: dict[str, Any] = {
        "on": _read_points(fields),
        "timeout_ms": read_duration(fields, "timeout"),
        **_read_command(fields),
    }
    if (value := fields.value("name")) is not None:
        known["name"] = read_text(source, value, f"{label}: `name`")
    if (value := fields.value("mode")) is not None:
        known["mode"] = read_choice(source, value, f"{label}: `mode`", ("sequential",), later=_LATER_MODES)
    if (value := fields.value("priority")) is not None:
        known["priority"] = read_int(source, value, f"{label}: `priority`", least=-_MOST_PRIORITY, most=_MOST_PRIORITY)
    if (value := fields.value("on_error")) is not None:
        known["on_error"] = read_choice(source, value, f"{label}: `on_error`", ("fail", "ignore"))
    if (value := fields.value("env")) is not None:
        known["env"] = read_text_map(source, value, f"{label}: `env`")
    match, globs = _read_match(fields, label)
    known = {name: value for name, value in known.items() if value is not None}
    if "on" not in known or not known.keys() & {"argv", "python"}:
        return None
    return DeclaredHook(HookEntry(**{"name": "", "match": match, **known}), globs)


def _read_points(fields: Fields) -> list[str] | None:
    node = fields.require("on", f"add `on:` with a hook point, such as `{SUPPORTED_POINTS[0]}`")
    if node is None:
        return None
    points = read_texts(fields.source, node, "`on`", one=True)
    if points is None:
        return None
    places = node.items if isinstance(node, Sequence) else [node]
    for place, written in zip(places, points, strict=True):
        point = ALIASES.get(written, written)
        if point not in POINTS:
            later = [known for known in (*POINTS, *ALIASES) if known not in SUPPORTED_POINTS]
            fix = did_you_mean(written, SUPPORTED_POINTS, later) or f"hook points: {listed(SUPPORTED_POINTS)}"
            fields.source.report(place, f"unknown hook point `{written}`", fix)
        elif point not in SUPPORTED_POINTS:
            fields.source.report(
                place, f"the hook point `{written}` is not supported yet", f"use one of {listed(SUPPORTED_POINTS)}"
            )
    return points


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
    return {"python": read_target(source, python, f"{fields.label}: `python`")}


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
        globs += [DeclaredGlob(key, text, item.start) for text, item in zip(texts, items, strict=False)]
    return HookMatch(**found), globs


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
        return entry.python.rsplit(":", 1)[1]
    assert entry.argv is not None
    # In `[python3, policies/budget.py]` the file tells more than the interpreter.
    scripts = [word for word in entry.argv if PurePath(word).suffix in _SCRIPT_SUFFIXES]
    return PurePath(scripts[0] if scripts else entry.argv[0]).stem
