"""One dispatch under way: the payload as it stands, and what each hook has said so far.

Hooks that decide are heard in order; each is shown what the one before left. The first "no" ends it: whoever was not
asked by then is recorded as not_run. Hooks that look on are heard after that, about the payload as it came out, with
the verdict in it. Hearing is pure bookkeeping, safe in whichever thread asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from hooks.definition.hook_points import RULES, HookType
from hooks.events.payloads import ErrorInfo, HookChange, HookDecided, HookDecision, PluginState
from hooks.pipeline.dispatch import Ask, Dispatch, Json, PayloadDocument, Verdict, VerdictOutcome, laid_out
from hooks.pipeline.effective import payload_digest
from hooks.pipeline.floor import Answer, said_in
from hooks.pipeline.judging import ALLOW, NOT_ASKED, NOT_RUN, Decision, decision_on, kept, shown
from hooks.pipeline.lazy_payload import payload_of
from hooks.pipeline.listeners import Listener
from hooks.pipeline.payload_base import HookPayload
from hooks.pipeline.verdicts import HookFault, PluginViolationError, ViolationClass

Resolve: TypeAlias = Callable[[Json], Json]

_ALLOWED = Verdict()
_VIOLATIONS: dict[str, ViolationClass] = {"block": "policy", "error": "hook_error"}


@dataclass(slots=True)
class Noted:
    """What one hook has come to; `before` has the values of the fields it changed."""

    listener: Listener
    decision: Decision
    before: Mapping[str, Json]
    duration_ms: float = 0.0
    messages: Sequence[str] = ()
    state: PluginState | None = None

    @property
    def tells(self) -> bool:
        return self.decision.outcome != "allow" or bool(self.messages) or self.state is not None

    def as_logged(self) -> HookDecision:
        listener, decision = self.listener, self.decision
        return HookDecision(
            plugin=listener.name,
            origin=listener.member.origin,
            digest=listener.digest,
            mode=listener.mode,
            outcome=decision.outcome,
            changed={
                name: HookChange(before=self.before[name], after=value) for name, value in decision.changes.items()
            },
            reason=decision.reason,
            code=decision.code,
            details=dict(decision.details),
            messages=list(self.messages),
            state=self.state,
            duration_ms=self.duration_ms,
        )


class Deliberation:
    """Holds the payload in force; `hear` and `repeat` are the only things that change it."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch = dispatch
        self._fixed: PayloadDocument | None = None
        self._lock = Lock()
        self._first: PayloadDocument | None = None
        self._now: PayloadDocument | None = None
        self._payload: HookPayload | None = None
        self._noted: list[Noted] = []
        self._changes: dict[str, Json] = {}
        self._violation: Noted | None = None
        self._asks: list[Noted] = []
        self._looks_on = False
        self._tells = False

    @property
    def document(self) -> PayloadDocument:
        """The payload as it stands."""
        if self._now is None:
            first = self.dispatch.mask(laid_out(self._of_its_moment()))
            # An abandoned thread that looks late must not put the first payload in the place of a changed one.
            with self._lock:
                if self._now is None:
                    self._now = self._first = first
        return self._now

    def fix(self) -> None:
        """Have the payload be of this moment, whenever it is laid out: whoever lets go of the loop does that before."""
        if self._now is None:
            self._of_its_moment()

    def _of_its_moment(self) -> PayloadDocument:
        # A thread may be at it when the loop wants to go on: it is to be done before that.
        with self._lock:
            if self._fixed is None:
                self._fixed = self.dispatch.payload()
            return self._fixed

    @property
    def first_document(self) -> PayloadDocument:
        """The payload before any hook."""
        now = self.document
        return now if self._first is None else self._first

    @property
    def payload(self) -> HookPayload:
        """The payload as it stands, for hooks in Python: one object for all, until one of them changes it."""
        if self._payload is None:
            now = self._now
            self._payload = payload_of(self.dispatch.hook, self._make_document if now is None else lambda: now)
        return self._payload

    @property
    def is_over(self) -> bool:
        """A hook said no, and those that decide are not asked any more."""
        return self._violation is not None and not self._looks_on

    @property
    def heard(self) -> int:
        """How many hooks are done with, asked or not."""
        return len(self._noted)

    def _make_document(self) -> PayloadDocument:
        return self.first_document

    def begin_looking_on(self) -> None:
        """All is decided: from here on hooks see the final payload and the verdict."""
        self._now = self.final_document()
        self._looks_on = True
        self._payload = None

    def final_document(self) -> PayloadDocument:
        """The payload as it came out, with the verdict."""
        return self.document if self._looks_on else {**self.document, "verdict": self._verdict_view()}

    def invites(self, listener: Listener) -> bool:
        """Whether the hook's `if` has it asked; if not, or if that cannot be said, that is noted."""
        if listener.condition is None:
            return True
        try:
            is_asked = listener.applies_to(self.document)
        except HookFault as fault:
            self.hear(listener, fault, 0.0)
            return False
        if not is_asked:
            self.pass_over(listener)
        return is_asked

    def pass_over(self, listener: Listener) -> None:
        """Note that a hook's own condition has it not asked."""
        self._note(Noted(listener, NOT_ASKED, {}))

    def hear(self, listener: Listener, answer: Answer | HookFault, duration_ms: float) -> None:
        """Take in what the next hook said."""
        decision = self._decision_on(answer, listener)
        if isinstance(answer, HookFault):
            self._note(Noted(listener, decision, {}, duration_ms))
        else:
            messages = self._shown(answer.messages)
            self._note(self._noted_now(listener, decision, duration_ms, messages, kept(answer.state, self.dispatch)))

    def repeat(self, listener: Listener, logged: HookDecision, resolve: Resolve) -> None:
        """Take in what the log says that the next hook said; it is not asked again."""
        decision = Decision(
            outcome=logged.outcome,
            changes={name: resolve(change.after) for name, change in logged.changed.items()},
            reason=logged.reason,
            code=logged.code,
            details={name: resolve(value) for name, value in logged.details.items()},
        )
        self._note(self._noted_now(listener, decision, logged.duration_ms, logged.messages, None))

    def skip(self, listener: Listener) -> None:
        """Note that a hook was not asked, since one before it ended the deliberation."""
        self._note(Noted(listener, NOT_RUN, {}))

    def verdict(self, *, record_all: bool, supersedes: int | None) -> Verdict:
        """What it came to."""
        if not (self._tells or record_all or supersedes is not None):
            return _ALLOWED
        outcome = self._outcome()
        asks = self._questions() if outcome == "ask" else ()
        return Verdict(
            outcome=outcome,
            changes=self._changes,
            violation=self._as_violation(),
            asks=asks,
            payload_digest=payload_digest(self.document) if asks else "",
            decided=self._decided(outcome, supersedes),
            messages=tuple(self._messages()),
        )

    def _decision_on(self, answer: Answer | HookFault, listener: Listener) -> Decision:
        said = said_in(answer)
        return ALLOW if said is None else decision_on(said, listener, self.document, self.dispatch)

    # ---- hearing ---------------------------------------------------------------------------------------------------

    def _noted_now(
        self,
        listener: Listener,
        decision: Decision,
        duration_ms: float,
        messages: Sequence[str],
        state: PluginState | None,
    ) -> Noted:
        before = {name: self.document[name] for name in decision.changes}
        return Noted(listener, decision, before, duration_ms, messages, state)

    def _note(self, noted: Noted) -> None:
        self._noted.append(noted)
        self._tells = self._tells or noted.tells
        decision = noted.decision
        if decision.changes:
            self._now = {**self.document, **decision.changes}
            self._payload = None
            self._changes.update(decision.changes)
        if decision.outcome == "ask":
            self._asks.append(noted)
        # Of hooks that are asked side by side several may say no; the first in order is the one that is reported.
        if decision.outcome in _VIOLATIONS and self._violation is None:
            self._violation = noted

    def _shown(self, messages: Sequence[str]) -> list[str]:
        return [shown(message, self.dispatch) for message in messages if message.strip()] if messages else []

    # ---- outcome ---------------------------------------------------------------------------------------------------

    def _outcome(self) -> VerdictOutcome:
        if self._violation is not None:
            return "block" if self._violation.decision.outcome == "block" else "error"
        if self._asks:
            return "ask"
        return "changed" if self._changes else "allow"

    def _verdict_view(self) -> dict[str, Json]:
        said = self._violation or next(iter(self._asks), None)
        return {
            "outcome": self._outcome(),
            "plugin": None if said is None else said.listener.name,
            "reason": None if said is None else said.decision.reason,
            "code": None if said is None else said.decision.code,
        }

    def _as_violation(self) -> ErrorInfo | None:
        said = self._violation
        if said is None or not RULES[HookType(self.dispatch.hook)].can_block:
            return None
        return PluginViolationError(
            hook=self.dispatch.hook,
            plugin=said.listener.name,
            reason=said.decision.reason or "",
            error_class=_VIOLATIONS[said.decision.outcome],
            code=said.decision.code,
            details=said.decision.details,
        ).as_error_info()

    def _questions(self) -> tuple[Ask, ...]:
        return tuple(
            Ask(
                plugin=noted.listener.name,
                reason=noted.decision.reason or "",
                approvers=tuple(noted.listener.entry.approvers),
                deadline_ms=noted.listener.entry.deadline_ms,
                on_timeout=noted.listener.entry.on_timeout,
            )
            for noted in self._asks
        )

    def _messages(self) -> list[str]:
        told = []
        for noted in self._noted:
            name = noted.listener.name
            told += [f"{name}: {message}" for message in noted.messages]
            if noted.decision.outcome == "ignored_error":
                told.append(f"{name}: ignored: {noted.decision.reason}")
        return told

    def _decided(self, outcome: VerdictOutcome, supersedes: int | None) -> HookDecided:
        decisions = [noted.as_logged() for noted in self._noted]
        return decided_of(self.dispatch, payload_digest(self.first_document), outcome, decisions, supersedes)


def decided_of(
    dispatch: Dispatch,
    digest: str,
    outcome: VerdictOutcome,
    decisions: list[HookDecision],
    supersedes: int | None = None,
) -> HookDecided:
    """The event that tells what a dispatch came to; `digest` is that of the payload before any hook."""
    return HookDecided(
        hook=dispatch.hook,
        activity_id=dispatch.activity_id,
        attempt_id=dispatch.attempt_id,
        node_id=dispatch.node_id,
        ordinal=dispatch.ordinal,
        payload_digest=digest,
        verdict=outcome,
        decisions=decisions,
        supersedes=supersedes,
    )
