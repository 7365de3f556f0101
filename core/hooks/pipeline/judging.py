"""What an answer comes to: the rules of modes and points, applied to what one hook said.

    mode             may block, ask                    may modify
    sequential       yes                               yes (a final hook: no)
    transform        no                                yes
    concurrent       yes                               no
    audit, fire_and_forget   as would_block, would_ask no

What a hook may not do is a failure of that hook, never a smaller thing that it may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from hooks.definition.hook_points import OBSERVING_MODES, RULES
from hooks.errors import JsonBorderError, describe_exception
from hooks.events.payloads import PluginState
from hooks.jsonio import check
from hooks.pipeline.changes import checked_changes
from hooks.pipeline.dispatch import Dispatch, Json, PayloadDocument
from hooks.pipeline.hook_points import HOOK_POINTS
from hooks.pipeline.listeners import Listener
from hooks.pipeline.verdicts import AskPerson, Block, HookFault, Modify, Opinion, fit_for_log

DecisionOutcome: TypeAlias = Literal[
    "allow", "changed", "block", "ask", "would_block", "would_ask", "error", "ignored_error", "not_run", "lost"
]


@dataclass(frozen=True, slots=True)
class Decision:
    """What an answer comes to. `changes` are the fields it gives another value, as plain JSON."""

    outcome: DecisionOutcome
    changes: Mapping[str, Json] = field(default_factory=dict)
    reason: str | None = None
    code: str | None = None
    details: Mapping[str, Json] = field(default_factory=dict)


ALLOW = Decision("allow")
NOT_RUN = Decision("not_run")
NOT_ASKED = Decision("allow", reason="not asked: its `if` is false")
LOST = Decision("lost", reason="it had not answered when the run's driver ended")
NO_REASON = "no reason given"


def decision_on(
    said: Opinion | HookFault, listener: Listener, document: PayloadDocument, dispatch: Dispatch
) -> Decision:
    """The decision that what a hook said becomes; also when it failed, or said what it may not."""
    if isinstance(said, HookFault):
        return _failed(said, listener, dispatch)
    try:
        return _judged(said, listener, document, dispatch)
    except HookFault as fault:
        return _failed(fault, listener, dispatch)
    except Exception as error:  # noqa: BLE001 - what a hook gives may be objects of its own, which may do anything
        return _failed(HookFault(f"its answer cannot be read: {describe_exception(error)}"), listener, dispatch)


def _judged(opinion: Opinion, listener: Listener, document: PayloadDocument, dispatch: Dispatch) -> Decision:
    """The decision an opinion becomes. Raises HookFault where the hook may not say that."""
    match opinion:
        case None:
            return ALLOW
        case Modify(fields):
            changes = _changes(fields, listener, document, dispatch)
            return Decision("changed", changes) if changes else ALLOW
        case Block():
            _refuse_if_transforming(listener, "block")
            return _refusal(opinion, "would_block" if listener.mode in OBSERVING_MODES else "block", dispatch)
        case AskPerson(reason, fields):
            return _question(reason, fields, listener, document, dispatch)


def _failed(fault: HookFault, listener: Listener, dispatch: Dispatch) -> Decision:
    """The decision a failure becomes: an error where it must stop the action."""
    return Decision("error" if listener.error_blocks else "ignored_error", reason=shown(fault.reason, dispatch))


def _changes(
    fields: Mapping[str, Any], listener: Listener, document: PayloadDocument, dispatch: Dispatch
) -> dict[str, Json]:
    if listener.mode not in ("sequential", "transform"):
        raise HookFault(f"a hook of mode {listener.mode} cannot change anything, but it gave {', '.join(fields)}")
    if listener.entry.final:
        raise HookFault(f"a final hook cannot change anything, but it gave {', '.join(fields)}")
    changes = checked_changes(document, dispatch.mask(dict(fields)), dispatch.accepts)
    return HOOK_POINTS[dispatch.hook].consequences(document, changes, listener.name)


def _refusal(no: Block, outcome: DecisionOutcome, dispatch: Dispatch) -> Decision:
    """A "no", held to its types: it goes into the log."""
    if not isinstance(no.reason, str) or not (no.code is None or isinstance(no.code, str)):
        raise HookFault("block() takes text for its reason and its code")
    details = dict(no.details)
    try:
        check([no.code, details])
    except JsonBorderError as error:
        raise HookFault(f"block() was given what JSON cannot carry: {error}") from error
    code, details = dispatch.mask([no.code, details])
    return Decision(outcome, {}, shown(no.reason, dispatch) or NO_REASON, code, details)


def _question(
    reason: str, fields: Mapping[str, Any], listener: Listener, document: PayloadDocument, dispatch: Dispatch
) -> Decision:
    _refuse_if_transforming(listener, "ask")
    if not RULES[listener.point].can_ask:
        raise HookFault(f"a person cannot be asked at {listener.point}; use block or allow")
    if not isinstance(reason, str):
        raise HookFault("ask() takes text for its reason")
    changes = _changes(fields, listener, document, dispatch) if fields else {}
    outcome: DecisionOutcome = "would_ask" if listener.mode in OBSERVING_MODES else "ask"
    return Decision(outcome, changes, shown(reason, dispatch) or NO_REASON)


def _refuse_if_transforming(listener: Listener, what: str) -> None:
    if listener.mode == "transform":
        raise HookFault(f"a hook of mode transform cannot {what}; it may only change fields")


def shown(text: str, dispatch: Dispatch) -> str:
    """What a hook said, as it may be recorded and read."""
    return fit_for_log(dispatch.mask(text))


def kept(state: PluginState | None, dispatch: Dispatch) -> PluginState | None:
    """What a plugin keeps, as it may be recorded; a secret in it is not there when the run goes on elsewhere."""
    return None if state is None else msgspec.structs.replace(state, value=dispatch.mask(state.value))
