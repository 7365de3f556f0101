"""One dispatch under way: the payload as it stands, and what each hook has said so far.

Hooks are heard one after another; each is shown what the one before left. The first "no" ends the deliberation: what
is left is not asked and recorded as not_run. Hearing is pure bookkeeping, safe in whichever thread asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hooks.definition.hook_points import RULES, HookType
from hooks.errors import JsonBorderError, describe_exception
from hooks.events.payloads import HookChange, HookDecided, HookDecision
from hooks.jsonio import check
from hooks.pipeline.changes import checked_changes
from hooks.pipeline.dispatch import Dispatch, Json, PayloadDocument, Verdict, VerdictOutcome
from hooks.pipeline.effective import payload_digest
from hooks.pipeline.hook_points import read_payload
from hooks.pipeline.listeners import Listener
from hooks.pipeline.payload_base import HookPayload
from hooks.pipeline.verdicts import (
    Block,
    HookFault,
    Modify,
    Opinion,
    PluginViolationError,
    ViolationClass,
    fit_for_log,
)

DecisionOutcome: TypeAlias = Literal["allow", "changed", "block", "error", "ignored_error", "not_run"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a hook said, and what it wants people to see."""

    opinion: Opinion = None
    messages: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What an answer comes to."""

    outcome: DecisionOutcome
    changed: dict[str, HookChange] = field(default_factory=dict)
    reason: str | None = None
    code: str | None = None
    details: dict[str, Json] = field(default_factory=dict)


class Deliberation:
    """Holds the payload in force; `hear` is the only thing that changes it."""

    def __init__(self, dispatch: Dispatch, document: PayloadDocument) -> None:
        self.dispatch = dispatch
        self.document = document
        self.decisions: list[HookDecision] = []
        self.is_over = False
        self._first_document = document
        self._payload: HookPayload | None = None
        self._changes: dict[str, Json] = {}
        self._violation: PluginViolationError | None = None
        self._messages: list[str] = []

    @property
    def payload(self) -> HookPayload:
        """The payload as it stands, for hooks in Python: one object for all, until one of them changes it."""
        if self._payload is None:
            self._payload = read_payload(self.document)
        return self._payload

    def hear(self, listener: Listener, answer: Answer | HookFault, duration_ms: float) -> None:
        """Take in what the next hook said."""
        if isinstance(answer, Answer):
            try:
                self._take(listener, answer, duration_ms)
            except HookFault as fault:
                self._fail(listener, fault, duration_ms, answer.messages)
            except Exception as error:  # noqa: BLE001 - what a hook gives may be objects of its own, which may do anything
                unreadable = HookFault(f"its answer cannot be read: {describe_exception(error)}")
                self._fail(listener, unreadable, duration_ms, answer.messages)
        else:
            self._fail(listener, answer, duration_ms)

    def skip(self, listener: Listener) -> None:
        """Note that a hook was not asked, since one before it ended the deliberation."""
        self._note(listener, Decision("not_run"))

    def verdict(self, *, record_all: bool, supersedes: int | None) -> Verdict:
        """What it came to."""
        outcome = self._outcome()
        told = outcome != "allow" or any(_tells(decision) for decision in self.decisions)
        stops = self._violation is not None and RULES[HookType(self.dispatch.hook)].can_block
        return Verdict(
            outcome=outcome,
            changes=self._changes,
            violation=self._violation.as_error_info() if self._violation is not None and stops else None,
            decided=self._decided(outcome, supersedes) if told or record_all or supersedes is not None else None,
            messages=tuple(self._messages),
        )

    def _take(self, listener: Listener, answer: Answer, duration_ms: float) -> None:
        match answer.opinion:
            case None:
                decision = Decision("allow")
            case Modify(fields):
                changed = self._change(checked_changes(self.document, fields, self.dispatch.accepts))
                decision = Decision("changed" if changed else "allow", changed=changed)
            case Block() as no:
                decision = _refusal(no)
        self._note(listener, decision, duration_ms, answer.messages)
        if decision.outcome == "block":
            self._end(listener, decision, "policy")

    def _fail(self, listener: Listener, fault: HookFault, duration_ms: float, messages: Sequence[str] = ()) -> None:
        if listener.error_blocks:
            decision = Decision("error", reason=fault.reason)
            self._end(listener, decision, "hook_error")
        else:
            decision = Decision("ignored_error", reason=fault.reason)
            self._messages.append(f"{listener.name}: ignored: {fault.reason}")
        self._note(listener, decision, duration_ms, messages)

    def _change(self, changes: dict[str, Json]) -> dict[str, HookChange]:
        if not changes:
            return {}
        before = self.document
        self.document = {**before, **changes}
        self._payload = None
        self._changes.update(changes)
        return {name: HookChange(before=before[name], after=value) for name, value in changes.items()}

    def _end(self, listener: Listener, decision: Decision, error_class: ViolationClass) -> None:
        self.is_over = True
        self._violation = PluginViolationError(
            hook=self.dispatch.hook,
            plugin=listener.name,
            reason=decision.reason or "",
            error_class=error_class,
            code=decision.code,
            details=decision.details,
        )

    def _note(
        self, listener: Listener, decision: Decision, duration_ms: float = 0.0, messages: Sequence[str] = ()
    ) -> None:
        messages = [message for message in messages if message.strip()]
        self._messages += [f"{listener.name}: {message}" for message in messages]
        self.decisions.append(
            HookDecision(
                plugin=listener.name,
                origin=listener.member.origin,
                digest=listener.digest,
                mode=listener.entry.mode,
                outcome=decision.outcome,
                changed=decision.changed,
                reason=decision.reason,
                code=decision.code,
                details=decision.details,
                messages=messages,
                duration_ms=duration_ms,
            )
        )

    def _outcome(self) -> VerdictOutcome:
        if self._violation is not None:
            return "block" if self._violation.error_class == "policy" else "error"
        return "changed" if self._changes else "allow"

    def _decided(self, outcome: VerdictOutcome, supersedes: int | None) -> HookDecided:
        dispatch = self.dispatch
        return HookDecided(
            hook=dispatch.hook,
            activity_id=dispatch.activity_id,
            attempt_id=dispatch.attempt_id,
            node_id=dispatch.node_id,
            ordinal=dispatch.ordinal,
            payload_digest=payload_digest(self._first_document),
            verdict=outcome,
            decisions=self.decisions,
            supersedes=supersedes,
        )


def _tells(decision: HookDecision) -> bool:
    return decision.outcome != "allow" or bool(decision.messages)


def _refusal(no: Block) -> Decision:
    """The decision a "no" becomes, held to its types: it goes into the log."""
    if not isinstance(no.reason, str) or not (no.code is None or isinstance(no.code, str)):
        raise HookFault("block() takes text for its reason and its code")
    details = dict(no.details)
    try:
        check([no.code, details])
    except JsonBorderError as error:
        raise HookFault(f"block() was given what JSON cannot carry: {error}") from error
    return Decision("block", reason=fit_for_log(no.reason) or "no reason given", code=no.code, details=details)
