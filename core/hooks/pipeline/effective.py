"""What hooks have left in force: the bound values of an attempt with every logged change applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from hooks.definition.hook_points import HookType
from hooks.events.payloads import HookChange, HookDecided
from hooks.jsonio import canonical
from hooks.kernel.state import DecidedHook
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.payload_parts import Occasion, Resolve

EXECUTION_FIELDS = ("requirements", "model_options", "format", "strategy", "tool_calls_enabled")
"""The conditions of an agent step that component_pre_execute may change."""

# What tells when, or how long, never what: two payloads that differ in nothing else ask the same question.
_TIMES = frozenset({"timestamp", "request_id", "latency_ms", "verdict"})
_LOG_TIMES = frozenset({"started_at", "latency_ms"})


def effective_fields(occasion: Occasion) -> dict[str, Json]:
    """What component_pre_execute left in force: the bound conditions with every logged change applied."""
    resolve = occasion.resolve
    bound = {name: resolve(getattr(occasion.component, name)) for name in EXECUTION_FIELDS}
    return {**bound, **logged_changes(occasion.attempt.hooks, HookType.COMPONENT_PRE_EXECUTE, resolve)}


def effective_input(occasion: Occasion) -> Json:
    """What effect_pre_attempt left in force: the input of an effect with every logged change applied.

    The input of a draw that is an effect is {prompt, model_options, format}.
    """
    changed = logged_changes(occasion.attempt.hooks, HookType.EFFECT_PRE_ATTEMPT, occasion.resolve)
    return changed["input"] if "input" in changed else bound_input(occasion)


def bound_input(occasion: Occasion) -> Json:
    """The input of an effect before any hook of effect_pre_attempt."""
    bound = occasion.resolve(occasion.component.bound)
    if not occasion.is_agent_step:
        return bound
    fields = effective_fields(occasion)
    return {"prompt": bound, "model_options": fields["model_options"], "format": fields["format"]}


def logged_changes(logged: Sequence[DecidedHook], point: str, resolve: Resolve) -> dict[str, Json]:
    """The changed fields of a hook point with the values now in force; a later decision of a dispatch supersedes."""
    return {name: resolve(change.after) for name, change in _changes(logged, point)}


def values_before(logged: Sequence[DecidedHook], point: str, resolve: Resolve) -> dict[str, Json]:
    """The same fields with the values they had before any hook."""
    first: dict[str, Json] = {}
    for name, change in _changes(logged, point):
        first.setdefault(name, resolve(change.before))
    return first


def _changes(logged: Sequence[DecidedHook], point: str) -> Iterator[tuple[str, HookChange]]:
    last = {
        entry.decided.ordinal: entry.decided
        for entry in logged
        if entry.decided.hook == point and not is_of_background(entry.decided)
    }
    for _, decided in sorted(last.items()):
        for decision in decided.decisions:
            yield from decision.changed.items()


def is_of_background(decided: HookDecided) -> bool:
    """Whether this tells only what hooks in the background said of a dispatch, after its verdict."""
    return bool(decided.decisions) and all(decision.mode == "fire_and_forget" for decision in decided.decisions)


def payload_digest(document: PayloadDocument) -> str:
    """sha256 over the payload without its times: the same question has the same digest."""
    timeless = {name: value for name, value in document.items() if name not in _TIMES}
    log = timeless.get("generate_log")
    if log is not None:
        timeless["generate_log"] = {name: value for name, value in log.items() if name not in _LOG_TIMES}
    return sha256(canonical(timeless)).hexdigest()
