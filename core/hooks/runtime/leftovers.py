"""Processes that work left in the background when it ended: they have been ended too, and the log says so."""

from __future__ import annotations

from hooks.events.payloads import LeftoversEnded
from hooks.runtime.execution_hooks import DispatchContext


def tell_of_leftovers(ctx: DispatchContext, processes: int) -> None:
    if processes:
        ended = LeftoversEnded(
            activity_id=ctx.activity_id, attempt_id=ctx.attempt_id, node_id=ctx.node_id, processes=processes
        )
        ctx.recorder.record(ended, "supervisor")
