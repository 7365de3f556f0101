"""Would it be decided the same? Every decision of a log is held against what `decide` enables where it stands.

A log's inputs (answers, outcomes, verdicts) are taken as they are; its decisions are those of the program that wrote
it. One that this program would not have made, in that state and at that time, is the place where the two part: with an
unchanged definition this program decides differently than that one did, with a changed one that is where the change
first matters. So does it where a step is begun that the changed one gives something else to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hooks.definition.model import Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import AttemptCreated, Payload, RunCreated
from hooks.kernel.actions import Record
from hooks.kernel.apply import apply
from hooks.kernel.decide import decide
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.state import RunState
from hooks.replay.changed_steps import Changed, changed_of_step


@dataclass(frozen=True, slots=True)
class Divergence:
    """An event that would not be there. `enabled` are the decisions that would be made instead, if any.

    `reason` says why where it is no decision: an input about something that is not there. `changed` has the fields of
    a step that would be begun as well, but as another one: what they were, and what they would be.
    """

    event: Event
    enabled: tuple[Payload, ...] = ()
    reason: str | None = None
    changed: Changed = field(default_factory=dict)


def replay_decisions(
    state: RunState, definition: Workflow, events: Iterable[Event], *, own: Workflow | None = None
) -> Iterator[tuple[Event, Divergence | None]]:
    """The events, folded into `state`, each with what is wrong with it; the first with anything wrong is the last.

    `own` is the definition the run was made by, where `definition` is another one.
    """
    for event in events:
        divergence = _decided_otherwise(state, definition, event) if event.payload.kind == "decision" else None
        if divergence is None and own is not None:
            divergence = _another(own, definition, event)
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


def _another(own: Workflow, definition: Workflow, event: Event) -> Divergence | None:
    """Whether the event is of another workflow, or begins a step that is another one in `definition`."""
    match event.payload:
        case RunCreated() if own.workflow_id != definition.workflow_id:
            return Divergence(
                event, reason=f"the run is of workflow {own.workflow_id!r}, not {definition.workflow_id!r}"
            )
        case AttemptCreated(node_id=node_id) if changed := changed_of_step(own, definition, node_id):
            return Divergence(event, changed=changed)
        case _:
            return None
