"""A simulated run whose drivers are killed: what they did stays done, what they had not made durable was never written.

The world outside and the log part where a driver dies between an effect and its record. The next driver finds such an
effect dangling. It learns the truth, from a look-up or from what the effect left, or it does not, and then a person
looks and says it, or asks for the effect to be done once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hooks.events.payloads import (
    ActivityFailed,
    EffectAttempted,
    EffectSettled,
    Payload,
    ReconcileResult,
    ResumeStarted,
    Session,
)
from hooks.ids import ActivityId
from hooks.kernel.state import AttemptState, RunState
from tests.kernel.simulation import RETRYABLE, Simulation

Choose = Callable[[int], int]
"""A number below its argument."""

_MOST_STEPS = 20_000


class Killed(Exception):
    """The driver dies here."""


@dataclass
class Outside:
    """What is so whatever becomes of drivers: effects that were done, and what persons asked for."""

    done: Counter[ActivityId] = field(default_factory=Counter)
    asked_again: Counter[ActivityId] = field(default_factory=Counter)

    def repeated(self) -> dict[ActivityId, int]:
        """How often each effect was done that was done more often than somebody asked for."""
        return {activity: count for activity, count in self.done.items() if count > 1 + self.asked_again[activity]}


@dataclass
class MortalSimulation(Simulation):
    """One driver of a run, which dies as `choose` has it, at most if `may_die`."""

    outside: Outside = field(default_factory=Outside)
    choose: Choose = lambda count: 0
    may_die: bool = False
    durable: int = 0
    """How much of the log somebody outside depends on: no kill takes it away."""
    begun: set[str] = field(default_factory=set)
    """Attempts whose effects this driver was permitted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.durable = len(self.log)

    def record(self, payload: Payload) -> None:
        super().record(payload)
        if isinstance(payload, EffectAttempted):
            self.begun.add(payload.attempt_id)
        if self._dies():
            raise Killed

    def settle(self, attempt: AttemptState, who: dict[str, Any], key: str) -> Payload:
        if attempt.attempt_id not in self.begun:
            return self._reconcile(attempt, who, key)
        # Its permit is durable before it is done; from here on nothing that came before can be lost.
        self.durable = len(self.log)
        is_done = not self.fails(attempt)
        self.outside.done[attempt.activity_id] += is_done
        if self._dies():
            raise Killed
        self.begun.discard(attempt.attempt_id)
        return EffectSettled(**who, idempotency_key=key, outcome="done" if is_done else "failed")

    def advance(self, attempt: AttemptState) -> None:
        settled = attempt.settled
        if settled is not None and settled.outcome == "not_done" and attempt.failed is None:
            self.record(ActivityFailed(**_who(attempt), error=settled.error or RETRYABLE, interrupted=True))
        else:
            super().advance(attempt)

    def answer(self, wait: str) -> None:
        super().answer(wait)
        self.durable = len(self.log)

    def resolve(self, attempt: AttemptState) -> None:
        """A person has looked at what is in doubt and says how it is, or asks for it once more."""
        activity = attempt.activity_id
        was_done = self.outside.done[activity] > 0
        retry = not was_done or self.choose(3) == 0
        self.outside.asked_again[activity] += retry and was_done
        self._append_result(attempt, outcome="not_done" if retry else "done", reason="", by="me", retry=retry)
        self.durable = len(self.log)

    def left_log(self) -> int:
        """How many events of the log are there after the driver's death."""
        return self.durable + self.choose(len(self.log) - self.durable + 1)

    def _reconcile(self, attempt: AttemptState, who: dict[str, Any], key: str) -> Payload:
        """What another driver began: the truth, or that nobody knows it."""
        was_done = self.outside.done[attempt.activity_id] > 0
        if self.choose(2):
            return ReconcileResult(**who, idempotency_key=key, outcome="in_doubt", reason="NoReconciler")
        outcome: Any = "done" if was_done else "not_done"
        return ReconcileResult(**who, idempotency_key=key, outcome=outcome, reason="found" if was_done else "absent")

    def _append_result(self, attempt: AttemptState, **fields: Any) -> None:
        assert attempt.effect is not None
        key = attempt.effect.idempotency_key
        super().record(ReconcileResult(**_who(attempt), idempotency_key=key, request_id=f"p{len(self.log)}", **fields))

    def _dies(self) -> bool:
        return self.may_die and self.choose(12) == 0


def run_with_kills(begin: Callable[..., MortalSimulation], choose: Choose, kills: int) -> MortalSimulation:
    """Drive a run to its end, through at most so many kills; `begin(log=…, …)` makes a driver of it."""
    outside = Outside()
    driver = begin(outside=outside, choose=choose)
    driver.may_die = kills > 0
    for _ in range(_MOST_STEPS):
        try:
            if not _step(driver, choose):
                return driver
        except Killed:
            kills -= 1
            log = driver.log[: max(1, driver.left_log())]
            driver = begin(outside=outside, choose=choose, log=log, now=driver.now)
            driver.record(ResumeStarted(session=Session(pid=1, start_time=1, boot_id="b", host="h", inode=1)))
            driver.may_die = kills > 0
    raise AssertionError("the run does not end")


def _step(driver: MortalSimulation, choose: Choose) -> bool:
    if driver.step(choose):
        return True
    in_doubt = list(driver.state.in_doubt.values())
    for attempt in in_doubt:
        driver.resolve(attempt)
    return bool(in_doubt)


def succeeded_effects(state: RunState) -> set[ActivityId]:
    """The activities of which the run says that their effect is done."""
    return {activity_id for activity_id, activity in state.activities.items() if activity.done is not None}


def _who(attempt: AttemptState) -> dict[str, Any]:
    return {"activity_id": attempt.activity_id, "attempt_id": attempt.attempt_id, "node_id": attempt.node_id}
