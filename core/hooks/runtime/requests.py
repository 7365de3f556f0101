"""Asking something of a run that another process may be driving: cancel it, answer its gates, settle its doubts.

A request is dropped into the inbox, durably, and then: either nobody drives the run, and we take its lock and act as
its driver for this one thing, dispatching no work; or somebody does, maybe another task of this very loop, and we read
the log until the event that answers us is in it. Nothing is reported before that event is durable. A driver that was
stopped (SIGSTOP) answers nobody: a cancel wakes it, and kills it if that does not help.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from hooks.clock import SystemClock
from hooks.errors import RunLockedError
from hooks.events.envelope import Event
from hooks.events.payloads import NodeReference, RequestRefused
from hooks.runtime.driving import drive_async
from hooks.runtime.execution_hooks import WorkflowExecutionHooks
from hooks.runtime.reading import RunView, read_run
from hooks.runtime.runs import DEFAULT_GRACE_MS, open_existing
from hooks.storage.inbox import CancelRequest, GateAnswer, Request, Resolution, put_request
from hooks.storage.locks import ProcessIdentity, process_start_time, this_process
from hooks.storage.log_reader import LogReader
from hooks.storage.run_directory import RunDirectory

POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request. Neither event nor queued: the driver has answered before (a repeated id)."""

    view: RunView
    event: Event | None = None
    """The durable event that grants or refuses it."""

    @property
    def queued(self) -> bool:
        """Nobody has answered yet; it lies in the inbox and will be."""
        return self.event is None

    @property
    def refusal(self) -> RequestRefused | None:
        payload = None if self.event is None else self.event.payload
        return payload if isinstance(payload, RequestRefused) else None

    @property
    def accepted(self) -> bool:
        return self.event is not None and self.refusal is None


async def request_cancel(
    directory: RunDirectory,
    *,
    by: str,
    reason: str | None = None,
    node: NodeReference | None = None,
    grace_ms: int | None = None,
    timeout_ms: int,
    implementation: WorkflowExecutionHooks | None = None,
    handle_signals: bool = False,
) -> Answer:
    """Cancel a run, or one node of it; returns when that is durable and, of a whole run, when it is over.

    Where nobody drives it, `implementation` takes part as in a driver.
    """
    request = CancelRequest(**_stamp(), by=by, reason=reason, node=node, grace_ms=grace_ms)
    return await _Requesting(
        directory,
        request,
        timeout_ms,
        waits_for_end=node is None,
        implementation=implementation,
        handle_signals=handle_signals,
    ).deliver()


async def answer_gate(
    directory: RunDirectory,
    *,
    wait_id: str,
    approved: bool,
    by: str,
    comment: str = "",
    digest: str | None = None,
    timeout_ms: int,
) -> Answer:
    """Approve or reject an open gate; the first answer counts."""
    request = GateAnswer(**_stamp(), by=by, wait_id=wait_id, approved=approved, comment=comment, digest=digest)
    return await _Requesting(directory, request, timeout_ms).deliver()


async def resolve_effect(
    directory: RunDirectory,
    *,
    activity_id: str,
    attempt_id: str,
    outcome: Literal["done", "failed", "retry"],
    by: str,
    output: Any = None,
    new_key: bool = False,
    reason: str | None = None,
    timeout_ms: int,
) -> Answer:
    """Say what became of an effect in doubt; compared with its attempt, so that a stale answer changes nothing."""
    request = Resolution(
        **_stamp(),
        by=by,
        activity_id=activity_id,
        attempt_id=attempt_id,
        outcome=outcome,
        output=output,
        new_key=new_key,
        reason=reason,
    )
    return await _Requesting(directory, request, timeout_ms).deliver()


def _stamp() -> dict[str, Any]:
    """An id that sorts by time, and the time."""
    now = SystemClock().now_ms()
    return {"id": f"{now:015d}-{secrets.token_hex(6)}", "at": now}


@dataclass(slots=True)
class _Requesting:
    directory: RunDirectory
    request: Request
    timeout_ms: int
    waits_for_end: bool = False
    implementation: WorkflowExecutionHooks | None = None
    handle_signals: bool = False

    async def deliver(self) -> Answer:
        view = read_run(self.directory)
        reader = LogReader(self.directory.log, run_id=view.run_id)
        for _ in reader.stream():
            pass
        durability = view.state.created.durability if view.state.created is not None else "strict"
        put_request(self.directory.inbox, self.request, durability)
        return await self._await_event(reader)

    async def _await_event(self, reader: LogReader) -> Answer:
        give_up_at = time.monotonic() + self.timeout_ms / 1000
        found: Event | None = None
        stopped_since: float | None = None
        while True:
            await self._drive_if_free()
            for event in reader.read_new():
                found = event if _answers(event, self.request.id) else found
            if found is not None and not self._still_waits():
                return Answer(read_run(self.directory), found)
            if time.monotonic() > give_up_at:
                return Answer(read_run(self.directory), found)
            if isinstance(self.request, CancelRequest):
                stopped_since = self._wake_stopped_driver(stopped_since)
            await asyncio.sleep(POLL_S)

    async def _drive_if_free(self) -> None:
        """If nobody drives the run, do so for what lies in the inbox."""
        if self.directory.driver() is not None:
            return
        grace_ms = self.request.grace_ms if isinstance(self.request, CancelRequest) else None
        try:
            run = open_existing(self.directory, grace_ms=grace_ms, role="inbox")
        except RunLockedError:
            return
        with run:
            await drive_async(
                run,
                dispatching="nothing",
                implementation=self.implementation,
                handle_signals=self.handle_signals,
            )

    def _still_waits(self) -> bool:
        """A cancel is reported when the run is over, not when it was asked for."""
        return self.waits_for_end and read_run(self.directory).state.ended is None

    def _wake_stopped_driver(self, since: float | None) -> float | None:
        """Let a driver in state T go on; kill it if it is there again or still there after the grace."""
        holder = self.directory.driver()
        if holder is None or holder.process is None or not _is_stopped(holder.process):
            return since
        grace_s = (getattr(self.request, "grace_ms", None) or DEFAULT_GRACE_MS) / 1000
        with suppress(ProcessLookupError):
            if since is not None and time.monotonic() - since > grace_s:
                os.kill(holder.process.pid, signal.SIGKILL)
            else:
                os.kill(holder.process.pid, signal.SIGCONT)
        return time.monotonic() if since is None else since


def _answers(event: Event, request_id: str) -> bool:
    return getattr(event.payload, "request_id", None) == request_id


def _is_stopped(identity: ProcessIdentity) -> bool:
    """That process is on this machine, still the one that took the lock, and it is stopped."""
    if identity.boot_id != this_process().boot_id:
        return False
    if process_start_time(identity.pid) != identity.start_time:
        return False
    try:
        with open(f"/proc/{identity.pid}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state == b"T"
