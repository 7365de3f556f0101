"""A log, made event by event, and what it folds to: for what is decided or told from events alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hooks.definition.graph import graph_of
from hooks.definition.hook_points import HookType
from hooks.definition.load import load_workflow
from hooks.definition.model import Workflow
from hooks.events.envelope import Actor, Event
from hooks.events.payloads import Payload, RunCreated, RunStarted, Session
from hooks.ids import NodeId, RunId, attempt_id, work_activity
from hooks.kernel.apply import apply
from hooks.kernel.walk import initial_state
from hooks.pipeline.dispatch import PayloadDocument, laid_out
from hooks.pipeline.history import payloads_after

START_MS = 1_767_268_800_000
"""2026-01-01T12:00:00Z."""


def run_created(workflow_id: str = "w", **fields: Any) -> RunCreated:
    """The first event of a run of no particular place and process; `fields` replace what it says."""
    facts: dict[str, Any] = {
        "revision_id": "0" * 64,
        "params": {},
        "params_digest": "0" * 64,
        "hook_set_digest": "0" * 64,
        "working_directory": "/w",
        "workflow_directory": "/w",
        "max_concurrency": 4,
        "initiator": "test",
        "session": Session(pid=1, start_time=1, boot_id="b", host="h", inode=1),
    }
    return RunCreated(workflow_id=workflow_id, **{**facts, **fields})


class LogBuilder:
    """`events` is the log so far, `state` what it folds to, `payloads` what hooks would have been shown, in order.

    Begins with runCreated and runStarted; `created` are fields of the first. Each event comes a millisecond after the
    one before. Nothing checks that a runtime would write these events in this order, but what cannot follow from the
    state is refused by `apply` (IllegalEventError).

        log = LogBuilder(WORKFLOW)
        log.add(events.AttemptCreated(**log.who("draft"), attempt=1))
        assert decide(log.state, log.workflow, log.now) == […]
    """

    def __init__(
        self,
        workflow: Workflow | Mapping[str, Any] | str,
        *,
        run_id: str = "run",
        start_ms: int = START_MS,
        **created: Any,
    ) -> None:
        self.workflow = workflow if isinstance(workflow, Workflow) else _loaded(workflow)
        self.run_id = RunId(run_id)
        self.events: list[Event] = []
        self.payloads: list[PayloadDocument] = []
        self.state = initial_state(self.run_id, graph_of(self.workflow))
        self._start_ms = start_ms
        self.add(run_created(self.workflow.workflow_id, **{"metadata": self.workflow.metadata, **created}))
        self.add(RunStarted())

    @property
    def now(self) -> int:
        """The time of the last event (ms)."""
        return self.state.timestamp

    def add(self, payload: Payload, *, actor: Actor = "scheduler", after_ms: int = 1) -> Event:
        """Add an event, `after_ms` after the one before, and fold it."""
        at = self._start_ms if not self.events else self.now + after_ms
        seq = len(self.events) + 1
        event = Event(seq, at, actor, payload, seq)
        gates = dict(self.state.waits)
        apply(self.state, event)
        self.events.append(event)
        told = payloads_after(self.state, self.workflow, event, lambda value: value, gates)
        self.payloads += [laid_out(document) for document in told]
        return event

    def who(self, node_id: str, attempt: int = 1, *, scope: str = "", item: int | None = None) -> dict[str, Any]:
        """What the events of an attempt name: activity_id, attempt_id, node_id."""
        activity = work_activity(self.run_id, NodeId(node_id), scope=scope, item=item)
        return {"activity_id": activity, "attempt_id": attempt_id(activity, attempt), "node_id": node_id}

    def payload(self, point: HookType | str) -> PayloadDocument:
        """The last payload of that hook point. Raises KeyError where there was none."""
        for document in reversed(self.payloads):
            if document["hook"] == str(point):
                return document
        raise KeyError(f"no event so far is an occasion for {point}")


def _loaded(workflow: Mapping[str, Any] | str) -> Workflow:
    text = workflow if isinstance(workflow, str) else json.dumps(workflow)
    return load_workflow(Path("workflow.yaml"), text=text.encode())
