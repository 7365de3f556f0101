"""Who listens: one hook at one point, with its `match` made ready, and the order in which hooks are asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

import msgspec

from hooks.definition.fields import did_you_mean
from hooks.definition.hook_order import DEFAULT_PRIORITY, set_order
from hooks.definition.hook_points import MODES, OBSERVING_MODES, RULES, HookType, Mode, point_named
from hooks.definition.model import HookEntry
from hooks.events.payloads import HookSetMember
from hooks.expressions.cel import CelError, Program, compile_expression, evaluate
from hooks.expressions.conditions import NameUse, uses_in
from hooks.pipeline.dispatch import PayloadDocument, Subject
from hooks.pipeline.verdicts import HookFault


@dataclass(frozen=True, slots=True)
class Glob:
    """One key of `match`: the value of this attribute of the subject must match one of the patterns."""

    attribute: str
    patterns: tuple[re.Pattern[str], ...]

    def matches(self, subject: Subject) -> bool:
        value = getattr(subject, self.attribute)
        return value is not None and any(pattern.match(value) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Condition:
    """An entry's `if`, compiled; or why it cannot be."""

    program: Program | None
    text: str
    problem: str = ""

    def holds_for(self, document: PayloadDocument) -> bool:
        """Raises HookFault for what cannot be evaluated or is neither true nor false: that is never just false."""
        if self.program is None:
            raise HookFault(f"its `if` cannot be used: {self.problem}")
        try:
            value = evaluate(self.program, {"payload": document})
        except CelError as error:
            raise HookFault(f"its `if` cannot be evaluated: {error.message}{self._hint(document)}") from error
        if not isinstance(value, bool):
            raise HookFault(f"its `if` is neither true nor false, but {value!r}")
        return value

    def _hint(self, document: PayloadDocument) -> str:
        """What to write instead of a field that payloads of this point do not have."""
        names = [use.members[0] for use in uses_in(self.text) if isinstance(use, NameUse) and use.members]
        strange = next((name for name in names if name not in document), None)
        if strange is None:
            return ""
        fix = did_you_mean(strange, document) or f"`hooks schema payload {document['hook']}` has the fields"
        return f" in a payload of {document['hook']}; {fix}"


@dataclass(frozen=True, slots=True)
class Listener:
    """One hook at one point, with the mode it has there.

    `name` is that of the member, followed by the hook's own where a member has several; `declared_as` is the word under
    which its `on` names the point. Whether a failure blocks is decided by the mode where the entry does not say.
    """

    member: HookSetMember
    entry: HookEntry
    point: HookType
    declared_as: str
    name: str
    mode: Mode
    priority: int
    globs: tuple[Glob, ...]
    condition: Condition | None = None
    hook_key: tuple[int, int] = (0, 0)
    """Which loaded hook it is: of which plugin of the member, and which of its hooks."""

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
        return self.mode not in ("audit", "fire_and_forget")

    def matches(self, subject: Subject) -> bool:
        if self.member.node_id is not None and self.member.node_id != subject.node_id:
            return False
        return all(glob.matches(subject) for glob in self.globs)

    def applies_to(self, document: PayloadDocument) -> bool:
        """Whether its `if` has it asked about this payload. Raises HookFault."""
        return self.condition is None or self.condition.holds_for(document)


@dataclass(frozen=True, slots=True)
class Audience:
    """Who is asked at one point about one subject, in order: who decides, who looks on, who does so in background."""

    deciding: tuple[Listener, ...]
    looking_on: tuple[Listener, ...]
    in_background: tuple[Listener, ...]

    def __bool__(self) -> bool:
        return bool(self.deciding or self.looking_on or self.in_background)

    @property
    def awaited(self) -> tuple[Listener, ...]:
        return (*self.deciding, *self.looking_on)


def audiences(listeners: Sequence[Listener]) -> Callable[[Subject], Audience]:
    """Says, of a subject, which of the listeners of a point are asked about it: those whose `match` chooses it."""
    if not any(listener.globs or listener.member.node_id for listener in listeners):
        everybody = _audience(listeners)
        return lambda subject: everybody
    return cache(lambda subject: _audience([listener for listener in listeners if listener.matches(subject)]))


def _audience(chosen: Sequence[Listener]) -> Audience:
    return Audience(
        tuple(listener for listener in chosen if listener.mode not in OBSERVING_MODES),
        tuple(listener for listener in chosen if listener.mode == "audit"),
        tuple(listener for listener in chosen if listener.mode == "fire_and_forget"),
    )


@dataclass(frozen=True, slots=True)
class Manner:
    """What a Python hook declares of itself; all left out for a command, whose entry says everything."""

    name: str = ""
    """Of the hook, whole; that of the member where it is left out."""
    points: tuple[HookType, ...] = ()
    mode: Mode | None = None
    priority: int | None = None
    hook_key: tuple[int, int] = (0, 0)


def listeners_of(member: HookSetMember, manners: Iterable[Manner] = (Manner(),)) -> list[Listener]:
    """The listeners a member comes to: each of its hooks, at each of its points.

    A hook that declares its points is asked at those of them that the entry names, and at all of them if it names none;
    one that declares none is asked where the entry says.
    """
    entry = msgspec.convert(member.entry, HookEntry)
    globs, condition = tuple(_globs(entry)), _condition(entry)
    words = {point: word for word in entry.on if (point := point_named(word)) is not None}
    found = []
    for manner in manners:
        points = [point for point in manner.points if point in words or not words] if manner.points else [*words]
        for point in points:
            found.append(
                Listener(
                    member=member,
                    entry=entry,
                    point=point,
                    declared_as=words.get(point, point.value),
                    name=manner.name or member.name,
                    mode=entry.mode or manner.mode or RULES[point].default_mode,
                    priority=_first(entry.priority, manner.priority, DEFAULT_PRIORITY),
                    globs=globs,
                    condition=condition,
                    hook_key=manner.hook_key,
                )
            )
    return found


def in_order(listeners: Iterable[Listener]) -> list[Listener]:
    """In the order hooks are asked: mode, final ones last of those that decide, priority, scope, position."""
    return sorted(listeners, key=_order)


def by_point(listeners: Iterable[Listener]) -> dict[str, tuple[Listener, ...]]:
    """For each hook point somebody listens to: who, in the order they are asked."""
    found: dict[str, list[Listener]] = {}
    for listener in in_order(listeners):
        found.setdefault(listener.point, []).append(listener)
    return {point: tuple(listening) for point, listening in found.items()}


def _order(listener: Listener) -> tuple[int, int, int]:
    # A final hook is asked when all that may change or forbid anything have spoken, and before those that look on.
    turn = MODES.index("concurrent") + 0.5 if listener.entry.final else MODES.index(listener.mode)
    return int(turn * 2), *set_order(listener.priority, listener.member.origin)


def _first(*given: int | None) -> int:
    return next(value for value in given if value is not None)


def _condition(entry: HookEntry) -> Condition | None:
    if entry.condition is None:
        return None
    try:
        return Condition(compile_expression(entry.condition), entry.condition)
    except CelError as error:
        return Condition(None, entry.condition, error.message)


def _globs(entry: HookEntry) -> list[Glob]:
    match = entry.match
    keys: Mapping[str, Sequence[str]] = {
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
