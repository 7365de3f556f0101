"""The hook points: their names, and what may be said of each where a hook is declared.

One table, read by whoever checks a declaration and by whoever asks the hooks. What a hook is shown at a point, and what
it may change, stands in the class of its payload (pipeline/hook_points.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

Mode: TypeAlias = Literal["sequential", "transform", "concurrent", "audit", "fire_and_forget"]
MODES: tuple[Mode, ...] = ("sequential", "transform", "concurrent", "audit", "fire_and_forget")
"""In the order in which hooks of a point are asked."""

OBSERVING_MODES: frozenset[Mode] = frozenset({"audit", "fire_and_forget"})
"""Modes whose hooks only look on: they are asked when all is decided."""


class PluginMode(StrEnum):
    """The modes, for those who would rather name them than write them."""

    SEQUENTIAL = "sequential"
    TRANSFORM = "transform"
    CONCURRENT = "concurrent"
    AUDIT = "audit"
    FIRE_AND_FORGET = "fire_and_forget"


class HookType(StrEnum):
    """The hook points."""

    RUN_STARTED = "run_started"
    RUN_RESUMED = "run_resumed"
    RUN_FINISHED = "run_finished"
    COMPONENT_PRE_EXECUTE = "component_pre_execute"
    COMPONENT_POST_SUCCESS = "component_post_success"
    COMPONENT_POST_ERROR = "component_post_error"
    SAMPLING_LOOP_START = "sampling_loop_start"
    SAMPLING_ITERATION = "sampling_iteration"
    SAMPLING_REPAIR = "sampling_repair"
    SAMPLING_LOOP_END = "sampling_loop_end"
    GENERATION_PRE_CALL = "generation_pre_call"
    GENERATION_POST_CALL = "generation_post_call"
    GENERATION_ERROR = "generation_error"
    VALIDATION_PRE_CHECK = "validation_pre_check"
    VALIDATION_POST_CHECK = "validation_post_check"
    EFFECT_PRE_ATTEMPT = "effect_pre_attempt"
    EFFECT_POST_SETTLE = "effect_post_settle"
    EFFECT_RECONCILED = "effect_reconciled"
    ACTIVITIES_CANCELLED = "activities_cancelled"
    WAIT_CREATED = "wait_created"
    WAIT_RESOLVED = "wait_resolved"


ALIASES = {
    "PreToolUse": HookType.EFFECT_PRE_ATTEMPT,
    "PostToolUse": HookType.EFFECT_POST_SETTLE,
    "SessionStart": HookType.RUN_STARTED,
    "SessionEnd": HookType.RUN_FINISHED,
}
"""Names that hooks of CLI agents are declared under."""

_RUN = frozenset({"workflow"})
_NODE = _RUN | {"node"}
_STEP = _NODE | {"component_type", "executor", "agent"}
_AGENT_STEP = _NODE | {"component_type", "agent"}


@dataclass(frozen=True, slots=True)
class PointRules:
    """What a hook at one point may do, and by what it can be chosen.

    `can_block`: a "no" stops something; where it comes too late it is only recorded. `observe_only`: hooks look on,
    their mode is audit or fire_and_forget. `match` has the keys that a payload of the point can be held against.
    """

    match: frozenset[str]
    can_block: bool = True
    can_ask: bool = False
    observe_only: bool = False

    @property
    def default_mode(self) -> Mode:
        return "audit" if self.observe_only else "sequential"

    @property
    def modes(self) -> tuple[Mode, ...]:
        return tuple(mode for mode in MODES if mode in OBSERVING_MODES or not self.observe_only)


def _observed(match: frozenset[str]) -> PointRules:
    return PointRules(match, can_block=False, observe_only=True)


RULES: dict[HookType, PointRules] = {
    HookType.RUN_STARTED: PointRules(_RUN, can_ask=True),
    HookType.RUN_RESUMED: _observed(_RUN),
    HookType.RUN_FINISHED: _observed(_RUN),
    HookType.COMPONENT_PRE_EXECUTE: PointRules(_STEP, can_ask=True),
    HookType.COMPONENT_POST_SUCCESS: PointRules(_STEP),
    HookType.COMPONENT_POST_ERROR: PointRules(_STEP, can_block=False),
    HookType.SAMPLING_LOOP_START: PointRules(_AGENT_STEP, can_ask=True),
    HookType.SAMPLING_ITERATION: PointRules(_AGENT_STEP),
    HookType.SAMPLING_REPAIR: PointRules(_AGENT_STEP),
    HookType.SAMPLING_LOOP_END: PointRules(_AGENT_STEP),
    HookType.GENERATION_PRE_CALL: PointRules(_AGENT_STEP, can_ask=True),
    HookType.GENERATION_POST_CALL: PointRules(_AGENT_STEP),
    HookType.GENERATION_ERROR: PointRules(_AGENT_STEP, can_block=False),
    HookType.VALIDATION_PRE_CHECK: PointRules(_AGENT_STEP),
    HookType.VALIDATION_POST_CHECK: PointRules(_AGENT_STEP),
    HookType.EFFECT_PRE_ATTEMPT: PointRules(_STEP, can_ask=True),
    HookType.EFFECT_POST_SETTLE: PointRules(_STEP),
    HookType.EFFECT_RECONCILED: _observed(_STEP),
    HookType.ACTIVITIES_CANCELLED: _observed(_RUN),
    HookType.WAIT_CREATED: _observed(_NODE),
    HookType.WAIT_RESOLVED: _observed(_NODE),
}


def point_named(word: str) -> HookType | None:
    """The hook point that a name or an alias means, if any."""
    if word in ALIASES:
        return ALIASES[word]
    return HookType(word) if word in RULES else None


def mode_named(word: str | None) -> Mode | None:
    """The mode that a word means, if any."""
    return next((mode for mode in MODES if mode == word), None)


def alias_of(point: str) -> str | None:
    """The name a CLI agent knows the point under, if any."""
    return next((alias for alias, named in ALIASES.items() if named == point), None)


def known_points(words: Iterable[str]) -> list[HookType]:
    """The points that `words` name, each once, in the order given; words that name none are left out."""
    return list(dict.fromkeys(point for word in words if (point := point_named(word)) is not None))
