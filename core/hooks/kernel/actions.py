"""What decide() can ask for: a decision to be written, a fact to be brought about, work to be done or ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hooks.events.payloads import AttemptCreated, LoopIterationStarted, Payload
from hooks.ids import ActivityId, AttemptId, NodeId


@dataclass(frozen=True, slots=True)
class Record:
    """Write this decision."""

    payload: Payload

    @property
    def starts_work(self) -> bool:
        """A driver that is to start nothing more leaves this one to the next."""
        return isinstance(self.payload, AttemptCreated | LoopIterationStarted)


@dataclass(frozen=True, slots=True)
class Perform:
    """Carry on this attempt, which is open, unless that is being done."""

    activity_id: ActivityId
    attempt_id: AttemptId


@dataclass(frozen=True, slots=True)
class Stop:
    """End this attempt, which is open: the run or its node is being cancelled."""

    activity_id: ActivityId
    attempt_id: AttemptId


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Bring about a fact about a node: what its `if` comes to, its list, its gate."""

    what: Literal["condition", "items", "gate"]
    scope: str
    node_id: NodeId


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Nothing more to do for this before `due_at` (ms)."""

    subject: str
    due_at: int


Action: TypeAlias = Record | Perform | Stop | Evaluate | WakeAt
