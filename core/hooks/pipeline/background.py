"""Hooks that nobody waits for (fire_and_forget): they look on while the run goes on.

What they say is recorded when the run's driver ends, all at once: who has not answered by then gets a moment, and is
recorded as lost after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from hooks.events.payloads import HookDecided
from hooks.pipeline.deliberation import Noted, decided_of
from hooks.pipeline.dispatch import Dispatch, PayloadDocument, VerdictOutcome
from hooks.pipeline.floor import Sealed, said_in
from hooks.pipeline.judging import LOST, NOT_ASKED, decision_on, kept, shown
from hooks.pipeline.listeners import Listener
from hooks.pipeline.verdicts import HookFault

AskHook: TypeAlias = Callable[[Sealed], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Question:
    listener: Listener
    floor: Sealed
    digest: str
    outcome: VerdictOutcome


class Background:
    """The hooks of a run that are being asked in the background."""

    def __init__(self, *, record_all: bool) -> None:
        self._record_all = record_all
        self._asked: dict[asyncio.Task[None], _Question] = {}
        self._decided: list[HookDecided] = []

    def ask(
        self,
        ask_hook: AskHook,
        listener: Listener,
        dispatch: Dispatch,
        document: PayloadDocument,
        *,
        digest: str,
        outcome: VerdictOutcome,
    ) -> None:
        """Ask one hook about a dispatch that came to `outcome`; returns at once."""
        floor = Sealed(dispatch, document)

        async def asked() -> None:
            await ask_hook(floor)

        task = asyncio.create_task(asked())
        self._asked[task] = _Question(listener, floor, digest, outcome)
        task.add_done_callback(self._done)

    async def drain(self, timeout_s: float) -> list[HookDecided]:
        """What the hooks have said since the last time; after `timeout_s` those still busy are given up as lost."""
        if self._asked:
            await asyncio.wait(list(self._asked), timeout=timeout_s)
            # Of those that end by being cancelled here, none has an answer: that is what lost means.
            busy = list(self._asked)
            for task in busy:
                task.cancel()
            if busy:
                await asyncio.wait(busy)
        decided, self._decided = self._decided, []
        return decided

    def _done(self, task: asyncio.Task[None]) -> None:
        question = self._asked.pop(task)
        floor = question.floor
        if not task.cancelled() and task.exception() is not None:
            floor.hear(question.listener, HookFault(f"could not be asked: {task.exception()}"), 0.0)
        noted = _noted(question)
        if noted.tells or self._record_all:
            logged = [noted.as_logged()]
            self._decided.append(decided_of(floor.dispatch, question.digest, question.outcome, logged))


def _noted(question: _Question) -> Noted:
    listener, floor = question.listener, question.floor
    if floor.heard is None:
        return Noted(listener, LOST, {})
    if not floor.was_asked:
        return Noted(listener, NOT_ASKED, {})
    answer = floor.heard.answer
    decision = decision_on(said_in(answer), listener, floor.document, floor.dispatch)
    if isinstance(answer, HookFault):
        return Noted(listener, decision, {}, floor.heard.duration_ms)
    messages = [shown(message, floor.dispatch) for message in answer.messages]
    return Noted(listener, decision, {}, floor.heard.duration_ms, messages, kept(answer.state, floor.dispatch))
