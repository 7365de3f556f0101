"""Who listens: a member of the hook set with its `match` made ready, and the order in which hooks are asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path

import msgspec

from hooks.definition.model import HookEntry
from hooks.events.payloads import HookSetMember
from hooks.pipeline.dispatch import Subject

DEFAULT_PRIORITY = 50
MODE_ORDER = ("sequential", "transform", "concurrent", "audit", "fire_and_forget")
ORIGIN_ORDER = ("user", "project", "workflow", "node", "flag")


def effective_order(entry: HookEntry) -> tuple[int, int, int]:
    """Sort key of the order hooks are asked in; a stable sort leaves the position in a list as the last word."""
    priority = DEFAULT_PRIORITY if entry.priority is None else entry.priority
    return MODE_ORDER.index(entry.mode), priority, ORIGIN_ORDER.index(entry.origin)


@dataclass(frozen=True, slots=True)
class Glob:
    """One key of `match`: the value of this attribute of the subject must match one of the patterns."""

    attribute: str
    patterns: tuple[re.Pattern[str], ...]

    def matches(self, subject: Subject) -> bool:
        value = getattr(subject, self.attribute)
        return value is not None and any(pattern.match(value) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Listener:
    """One hook of the set. Whether a failure of it blocks is decided by its mode where the entry does not say."""

    member: HookSetMember
    entry: HookEntry
    globs: tuple[Glob, ...]

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def digest(self) -> str:
        return self.member.digest

    @property
    def directory(self) -> Path:
        """The directory of the declaring file: relative paths of the hook start there."""
        return Path(self.member.declared_in).parent

    @property
    def error_blocks(self) -> bool:
        if self.entry.on_error is not None:
            return self.entry.on_error == "fail"
        return self.entry.mode not in ("audit", "fire_and_forget")

    def matches(self, subject: Subject) -> bool:
        if self.member.node_id is not None and self.member.node_id != subject.node_id:
            return False
        return all(glob.matches(subject) for glob in self.globs)


def listener_of(member: HookSetMember) -> Listener:
    """The member made ready to be held against subjects."""
    entry = msgspec.convert(member.entry, HookEntry)
    return Listener(member, entry, tuple(_globs(entry)))


def listeners_by_point(members: Sequence[HookSetMember]) -> dict[str, tuple[Listener, ...]]:
    """For each hook point somebody listens to: who, in the order of the set."""
    found: dict[str, list[Listener]] = {}
    for listener in map(listener_of, members):
        for point in dict.fromkeys(listener.entry.on):
            found.setdefault(point, []).append(listener)
    return {point: tuple(listening) for point, listening in found.items()}


def _globs(entry: HookEntry) -> list[Glob]:
    match = entry.match
    keys = {
        "node_id": match.node,
        "component_type": match.component_type,
        "executor": match.executor,
        "agent": match.agent,
        "workflow": match.workflow,
    }
    return [
        Glob(attribute, tuple(re.compile(translate(glob)) for glob in globs))
        for attribute, globs in keys.items()
        if globs
    ]
