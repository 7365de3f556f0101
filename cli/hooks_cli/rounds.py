"""The rounds of a loop, as the log tells them: a state keeps only the last two."""

from __future__ import annotations

from typing import Any, TypeAlias

from hooks.events.payloads import (
    LoopIterationFinished,
    LoopIterationStarted,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.kernel.walk import round_key
from hooks.runtime.reading import RunView, read_events
from hooks.times import iso_time

Document: TypeAlias = dict[str, Any]


def round_documents(view: RunView, loop_id: str) -> list[Document]:
    """Every round of a loop, in order: how it ended, and who decided that with which words."""
    told: dict[str, Document] = {}
    deciding: dict[str, Document] = {}
    for event in read_events(view.directory):
        match event.payload:
            case LoopIterationStarted(node_id=node_id, iteration=number) if node_id == loop_id:
                told[round_key(loop_id, number)] = _begun(number, event.timestamp)
            case LoopIterationFinished(node_id=node_id, iteration=number) as ended if node_id == loop_id:
                told[round_key(loop_id, number)].update(ended_at=iso_time(event.timestamp), outcome=ended.outcome)
            case WaitCreated(stage="decision", scope=scope, wait_id=wait_id) if scope in told:
                deciding[wait_id] = told[scope]
            case WaitResolved(wait_id=wait_id, by=by, comment=comment) if wait_id in deciding:
                deciding[wait_id].update(by=by, comment=comment)
            case WaitDeadlineExceeded(wait_id=wait_id) if wait_id in deciding:
                deciding[wait_id].update(comment="nobody answered in time")
            case _:
                pass
    return list(told.values())


def _begun(number: int, at: int) -> Document:
    return {
        "round": number,
        "started_at": iso_time(at),
        "ended_at": None,
        "outcome": None,
        "by": None,
        "comment": "",
    }
