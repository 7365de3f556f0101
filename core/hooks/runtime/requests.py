"""Asking something of a run that another process may be driving: cancel it, answer its gates, settle its doubts.

Either nobody drives the run: we take its lock, drop the request into the inbox, durably, and act as its driver for this
one thing, dispatching no work. Or somebody does, maybe another task of this very loop: the request is dropped all the
same, and we read the log until the event that answers us is in it. Nothing is reported before that event is durable. A
driver that was stopped (SIGSTOP) answers nobody: a cancel wakes it, and kills it if that does not help.

What is reported as not done must not be done later. A run that cannot be driven (a copy, a damaged one) is refused
before anything is written; whatever goes wrong after that, the request is taken back, under the lock: whoever answers
requests holds it, so that by then ours is in the log or never will be.
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
from hooks.errors import CorruptRunError, HooksError, QueuedError, RunLockedError, StorageError, message_of
from hooks.events.envelope import Event
from hooks.events.payloads import NodeReference, RequestRefused
from hooks.runtime.driving import drive_async
from hooks.runtime.execution_hooks import WorkflowExecutionHooks
from hooks.runtime.reading import RunView, read_events, read_run
from hooks.runtime.runs import DEFAULT_GRACE_MS, OpenRun, open_existing
from hooks.storage.durable_files import Durability
from hooks.storage.inbox import CancelRequest, GateAnswer, Request, Resolution, put_request, withdraw_request
from hooks.storage.locks import DriverLock, ProcessIdentity, process_start_time, this_process
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
        request = _Dropped(self.directory, self.request, durability)
        try:
            return await self._await_event(reader, request)
        except Exception as error:
            match request.take_back():
                case "recorded" if isinstance(error, HooksError):
                    error.message += " What was asked for is recorded all the same, and counts."
                    error.args = (error.message,)
                case "left" if isinstance(error, StorageError):  # the disk, which is what there is to see to
                    error.message += " The request lies in the inbox, and may still be taken."
                    error.args = (error.message,)
                case "left":
                    raise QueuedError(
                        f"{message_of(error)} The request lies in the inbox all the same, and may still be taken.",
                        fix=f"`hooks show {view.run_id}` tells whether it has been.",
                        run=view.run_id,
                    ) from error
            raise
        except BaseException:  # who asked does not want to know any more
            request.take_back()
            raise

    async def _await_event(self, reader: LogReader, request: _Dropped) -> Answer:
        give_up_at = time.monotonic() + self.timeout_ms / 1000
        found: Event | None = None
        stopped_since: float | None = None
        while True:
            await self._hand_over(request)
            for event in reader.read_new():
                found = event if _answers(event, self.request.id) else found
            if found is not None and not self._still_waits():
                return Answer(read_run(self.directory), found)
            if time.monotonic() > give_up_at:
                return Answer(read_run(self.directory), found)
            if isinstance(self.request, CancelRequest):
                stopped_since = self._wake_stopped_driver(stopped_since)
            await asyncio.sleep(POLL_S)

    async def _hand_over(self, request: _Dropped) -> None:
        """Drop the request, if that is still to be done; if nobody drives the run, do so for what lies in the inbox."""
        run = self._open_if_free()
        if run is None:
            request.drop()
            return
        with run:
            request.drop()
            await drive_async(
                run,
                dispatching="nothing",
                implementation=self.implementation,
                handle_signals=self.handle_signals,
            )

    def _open_if_free(self) -> OpenRun | None:
        if self.directory.driver() is not None:
            return None
        grace_ms = self.request.grace_ms if isinstance(self.request, CancelRequest) else None
        try:
            return open_existing(self.directory, grace_ms=grace_ms, role="inbox")
        except RunLockedError:
            return None

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


@dataclass(slots=True)
class _Dropped:
    """A request on its way into the inbox, and out of it where nothing comes of it."""

    directory: RunDirectory
    request: Request
    durability: Durability
    _is_dropped: bool = False

    def drop(self) -> None:
        """Put it into the inbox, once; durable on return."""
        if not self._is_dropped:
            self._is_dropped = True  # also one of which only the sync failed may be found there
            put_request(self.directory.inbox, self.request, self.durability)

    def take_back(self) -> Literal["gone", "recorded", "left"]:
        """See to it that nothing comes of it: `gone`, unless it is recorded by now; `left` where it lies in the inbox
        and somebody else may be about to answer it."""
        if not self._is_dropped:
            return "gone"
        try:
            with DriverLock.acquire(self.directory.lock, role="inbox", run_id=self.directory.run_id):
                if self._is_recorded():
                    return "recorded"
                withdraw_request(self.directory.inbox, self.request, self.durability)
        except HooksError:
            return "left"
        return "gone"

    def _is_recorded(self) -> bool:
        with suppress(CorruptRunError):  # nobody can have answered since
            return any(_answers(event, self.request.id) for event in read_events(self.directory))
        return False


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
