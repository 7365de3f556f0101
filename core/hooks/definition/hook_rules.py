"""What a declared hook may not say: points, modes and keys that do not go together.

The declaration is looked at as a whole, after its single values have been read; whoever reads it from a file reports
each fault at the key it names, whoever is given one by a program reports all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hooks.definition.fields import did_you_mean, listed
from hooks.definition.hook_points import ALIASES, RULES, HookType, known_points, point_named
from hooks.definition.model import HookEntry


class Fault(NamedTuple):
    """What is wrong with an entry, at which of its keys, and the fix."""

    key: str
    message: str
    fix: str | None = None


def fault_of_point(word: str) -> Fault | None:
    """The fault of a word that names no hook point."""
    if point_named(word) is not None:
        return None
    fix = did_you_mean(word, [*RULES, *ALIASES]) or f"hook points: {listed(RULES)}"
    return Fault("on", f"unknown hook point `{word}`", fix)


def faults_of(entry: HookEntry) -> Iterator[Fault]:
    """Every fault of an entry as a whole; those of its points one by one are `fault_of_point`."""
    points = known_points(entry.on)
    for point in points:
        yield from _faults_at(point, entry)
    if entry.final:
        yield from _faults_of_final(entry, points)
    if entry.mode == "fire_and_forget" and entry.on_error == "fail":
        yield Fault("on_error", "a fire_and_forget hook ends after what it looks at, so its failure cannot stop it")
    yield from _faults_of_asking(entry, points)


def _faults_at(point: HookType, entry: HookEntry) -> Iterator[Fault]:
    rules = RULES[point]
    if entry.mode is not None and entry.mode not in rules.modes:
        yield Fault("mode", f"hooks of `{point}` only look on: `{entry.mode}` is not possible there", "use `audit`")
    if entry.origin == "node" and "node" not in rules.match:
        yield Fault("on", f"`{point}` is about the whole run, not about a node", "declare the hook at the workflow")
    for key in ("node", "component_type", "executor", "agent", "workflow"):
        if getattr(entry.match, key) and key not in rules.match:
            yield Fault("match", f"`{point}` has no `{key}` to match", f"it has {listed(rules.match)}")


def _faults_of_final(entry: HookEntry, points: list[HookType]) -> Iterator[Fault]:
    if entry.mode not in (None, "sequential"):
        yield Fault("final", f"a final hook has the last word, which `{entry.mode}` never has", "leave `mode` out")
    for point in points:
        if not RULES[point].can_block:
            yield Fault("final", f"at `{point}` there is nothing left to stop", "remove `final`")


def _faults_of_asking(entry: HookEntry, points: list[HookType]) -> Iterator[Fault]:
    given = [key for key in ("approvers", "deadline_ms") if getattr(entry, key)]
    if entry.on_timeout != "fail":
        given.append("on_timeout")
        if entry.deadline_ms is None:
            yield Fault("on_timeout", "`on_timeout` does nothing without a deadline", "add `deadline: 2h`")
    if given and points and not any(RULES[point].can_ask for point in points):
        askable = [point for point, rules in RULES.items() if rules.can_ask]
        key = given[0].removesuffix("_ms")
        yield Fault(key, f"a hook of {listed(points)} cannot ask a person", f"that is possible at {listed(askable)}")
