"""Where a hook speaks: what it is shown, and who hears it.

A hook of the chain speaks in the deliberation itself, which hears it at once. One that is asked beside others
(concurrent) or later (fire_and_forget) gives its answer sealed, to be heard in its turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hooks.events.payloads import PluginState
from hooks.pipeline.dispatch import Dispatch, PayloadDocument
from hooks.pipeline.lazy_payload import payload_of
from hooks.pipeline.listeners import Listener
from hooks.pipeline.payload_base import HookPayload
from hooks.pipeline.verdicts import HookFault, Opinion


@dataclass(frozen=True, slots=True)
class Answer:
    """What a hook said, what it wants people to see, and what it keeps from now on."""

    opinion: Opinion = None
    messages: Sequence[str] = ()
    state: PluginState | None = None


def said_in(answer: Answer | HookFault) -> Opinion | HookFault:
    """What is to be judged of an answer."""
    return answer.opinion if isinstance(answer, Answer) else answer


@dataclass(frozen=True, slots=True)
class Heard:
    """A hook's answer, or its failure, and how long it took."""

    answer: Answer | HookFault
    duration_ms: float


class Floor(Protocol):
    """What a hook needs of whoever asks it. Safe in whichever thread it is used, one at a time."""

    @property
    def dispatch(self) -> Dispatch: ...

    @property
    def document(self) -> PayloadDocument:
        """Laid out when it is first asked for."""
        ...

    def fix(self) -> None:
        """Have the payload be of this moment: whoever lets go of the loop does that before, as the run goes on then."""
        ...

    @property
    def payload(self) -> HookPayload: ...

    @property
    def is_over(self) -> bool:
        """Whether nobody else is to be asked."""
        ...

    def invites(self, listener: Listener) -> bool:
        """Whether the hook's own condition has it asked; if not, that is noted and the hook is done."""
        ...

    def hear(self, listener: Listener, answer: Answer | HookFault, duration_ms: float) -> None:
        """Take in what the hook said."""
        ...


NOT_ASKED = Answer()


class Sealed:
    """A floor for one hook, whose answer is kept until it is opened."""

    def __init__(self, dispatch: Dispatch, document: PayloadDocument, payload: HookPayload | None = None) -> None:
        self.dispatch = dispatch
        self.document = document
        self.payload = payload_of(dispatch.hook, lambda: document) if payload is None else payload
        self.heard: Heard | None = None
        self.was_asked = True

    @property
    def is_over(self) -> bool:
        return self.heard is not None

    def fix(self) -> None:
        """It is given whole."""

    def invites(self, listener: Listener) -> bool:
        try:
            self.was_asked = listener.applies_to(self.document)
        except HookFault as fault:
            self.heard = Heard(fault, 0.0)
            return False
        if not self.was_asked:
            self.heard = Heard(NOT_ASKED, 0.0)
        return self.was_asked

    def hear(self, listener: Listener, answer: Answer | HookFault, duration_ms: float) -> None:
        self.heard = Heard(answer, duration_ms)
