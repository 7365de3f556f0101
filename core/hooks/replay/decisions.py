"""Would it be decided the same? Every decision of a log is held against what `decide` enables where it stands.

A log's inputs (answers, outcomes, verdicts) are taken as they are; its decisions are those of the program that wrote
it. One that this program would not have made, in that state and at that time, is the place where the two part: with an
unchanged definition this program decides differently than that one did, with a changed one that is where the change
first matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hooks.definition.model import Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import Payload
from hooks.kernel.actions import Record
from hooks.kernel.apply import apply
from hooks.kernel.decide import decide
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.state import RunState


@dataclass(frozen=True, slots=True)
class Divergence:
    """An event that would not be there. `enabled` are the decisions that would be made instead, if any.

    `reason` says why where it is no decision: an input about something that is not there.
    """

    event: Event
    enabled: tuple[Payload, ...] = ()
    reason: str | None = None


def replay_decisions(
    state: RunState, definition: Workflow, events: Iterable[Event]
) -> Iterator[tuple[Event, Divergence | None]]:
    """The events, folded into `state`, each with what is wrong with it; the first with anything wrong is the last."""
    for event in events:
        divergence = _decided_otherwise(state, definition, event) if event.payload.kind == "decision" else None
        if divergence is None:
            try:
                apply(state, event)
            except (IllegalEventError, KeyError) as error:
                divergence = Divergence(event, reason=str(error))
        yield event, divergence
        if divergence is not None:
            return


def _decided_otherwise(state: RunState, definition: Workflow, event: Event) -> Divergence | None:
    enabled = tuple(
        action.payload for action in decide(state, definition, event.timestamp) if isinstance(action, Record)
    )
    return None if event.payload in enabled else Divergence(event, enabled)
