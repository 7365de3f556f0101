"""The one driver of a run: it asks decide(), writes what was decided, has the work done, and asks again.

A pass: requests from the inbox, then decide() until it decides nothing more, then what it wants done. There is no wave
barrier: whenever something finishes, the next pass comes, and what has become ready starts, up to the run's
max_concurrency. Between passes the loop sleeps until an attempt ends, a timer is due, a request arrives, or somebody
tells it to stop. A failure to write the log ends everything at once: attempts are let go of as a killed driver would
let go of them, and their processes are left to be found by `recover`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Literal, TypeAlias

from hooks.definition.model import DecisionNode
from hooks.events.payloads import AttemptCreated, LoopIterationStarted, NodeCancelled, Payload, RunCancelled, RunStarted
from hooks.ids import ActivityId, NodeId
from hooks.kernel.actions import Action, Evaluate, Perform, Record, Stop, WakeAt
from hooks.kernel.decide import decide
from hooks.kernel.state import RunEnding
from hooks.kernel.walk import gate_of
from hooks.pipeline.history import cancelled_in, cancelled_with
from hooks.runtime.answering import answer_requests
from hooks.runtime.attempt import cancel_attempt, perform_attempt
from hooks.runtime.context import RunContext
from hooks.runtime.facts import bring_about
from hooks.storage.inbox import has_requests
from hooks.storage.run_directory import RunDirectory

StopReason: TypeAlias = Literal["terminal", "awaiting_wait", "in_doubt", "pending", "no_progress", "interrupted"]
Dispatching: TypeAlias = Literal["work", "nothing"]

INBOX_POLL_S = 0.1
"""How often the inbox is looked at while work is under way: one listing of a directory."""


class Driver:
    """Moves one run. `drive` may be called once.

    With `dispatching` "nothing" it answers requests, cancels, closes gates and applies timers, and starts no work.
    Hooks are opened then only when there is something to tell them: a loop that is cancelled, the end of the run.
    """

    def __init__(self, run: RunContext, directory: RunDirectory, *, dispatching: Dispatching = "work") -> None:
        self._run = run
        self._directory = directory
        self._dispatches = dispatching == "work"
        self._tasks: dict[ActivityId, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._untold = [place for place in run.state.cancelled_nodes if self._is_over(*place)]
        """Nodes (scope, id) that were cancelled, until the implementation is told; a new driver tells once more."""

    async def drive(self, *, stays_at_gates: bool = False) -> StopReason:
        """Move the run until it ends or cannot go on without a person; for one pass, start work only once.

        `stays_at_gates`: wait for the answers while gates are open. Everything recorded is durable on return. Raises
        StorageError, or whatever a fault of this program raises; nothing of the run is lost by that.
        """
        self._run.recorder.on_failure = self._changed.set
        stopping = asyncio.ensure_future(self._run.interruption.requested.wait())
        stopping.add_done_callback(lambda _: self._changed.set())
        try:
            return await self._passes(stays_at_gates)
        finally:
            stopping.cancel()
            self._let_go()

    async def _passes(self, stays_at_gates: bool) -> StopReason:
        may_start = self._dispatches
        await self._ask_about_the_run()
        while True:
            self._changed.clear()
            self._take_in_ended()
            self._answer_requests()
            wake_at = await self._decide_and_start(may_start)
            may_start = self._dispatches and not self._run.one_pass
            self._run.recorder.request_commit()
            if not self._tasks and not self._goes_on(wake_at, stays_at_gates):
                await self._run.recorder.commit()
                if not has_requests(self._directory.inbox):  # the last act under the lock
                    return self._stop_reason(wake_at)
                continue
            await self._wait(wake_at)

    async def _ask_about_the_run(self) -> None:
        """Where a driver died between the start of the run and the start of its first node: ask once more."""
        state = self._run.state
        if self._dispatches and state.started_at is not None and state.ended is None and not state.root.nodes:
            await self._run.hook_points.run_started()

    def _goes_on(self, wake_at: int | None, stays_at_gates: bool) -> bool:
        """Whether there is something to sleep for though nothing runs."""
        if self._is_stopping() or self._run.one_pass or not self._dispatches or self._run.state.ended is not None:
            return False
        return bool(self._run.state.backoff or self._run.state.pauses) or (
            stays_at_gates and bool(self._run.state.waits)
        )

    def _answer_requests(self) -> None:
        if has_requests(self._directory.inbox):
            answer_requests(
                self._run.recorder,
                self._directory,
                self._run.durability,
                is_running=self._tasks.__contains__,
                tell=self._run.tell,
            )

    # ---- deciding --------------------------------------------------------------------------------------------------

    async def _decide_and_start(self, may_start: bool) -> int | None:
        """Write what is decided until nothing more is, start what is wanted; the next due time."""
        while True:
            now = self._run.now()
            actions = decide(self._run.state, self._run.definition, now)
            has_recorded = has_new_fact = False
            for action in actions:
                if has_new_fact and isinstance(action, Record):
                    # Decided before the fact, which may have brought forth what goes first: asked about once more.
                    continue
                was_recorded = await self._record(action, may_start, now)
                has_recorded |= was_recorded
                has_new_fact |= was_recorded and isinstance(action, Evaluate)
            if not has_recorded:
                break
        await self._tell_cancelled_nodes()
        if any(isinstance(action, Stop) for action in actions):
            await self._run.hook_points.open()  # they are told of loops that are cancelled, whoever cancels
        for action in actions:
            self._start(action, may_start)
        return min((action.due_at for action in actions if isinstance(action, WakeAt)), default=None)

    async def _record(self, action: Action, may_start: bool, now: int) -> bool:
        """Write a decision, or the fact that one waits for. False: it is neither, or has to wait for another driver."""
        may_start = may_start and not self._is_stopping()
        match action:
            case Record(payload) if may_start or not action.starts_work or self._only_opens_gate(payload):
                if isinstance(payload, RunEnding):
                    await self._run.hook_points.open()
                if isinstance(payload, RunCancelled):
                    await self._tell_cancelled()
                self._run.recorder.record(payload, at=now)
                if isinstance(payload, RunStarted):
                    await self._run.hook_points.run_started()
                if isinstance(payload, NodeCancelled) and self._run.state.cancel is None:
                    self._untold.append((payload.scope, NodeId(payload.node_id)))
                return True
            case Evaluate() if may_start:
                self._run.recorder.record(bring_about(self._run, action))
                return True
            case _:
                return False

    def _only_opens_gate(self, payload: Payload) -> bool:
        """What a pass may still begin: a round of a loop, and attempts that come no further than a gate."""
        if not self._dispatches or self._is_stopping():
            return False
        if isinstance(payload, AttemptCreated):
            activity_id = ActivityId(payload.activity_id)
            return self._stands_before_gate(payload.scope, payload.node_id, payload.item, activity_id)
        return isinstance(payload, LoopIterationStarted)

    def _stands_before_gate(self, scope: str, node_id: str, item: int | None, activity_id: ActivityId) -> bool:
        """Whether a person has to answer before this does any work."""
        state = self._run.state
        graph = state.scopes[scope].graph
        node = graph.nodes[graph.position[node_id]]
        if isinstance(node, DecisionNode):
            return True
        if not self._dispatches:
            return False  # what it asks about may be for others to say, who perform the step
        gate = gate_of(node)
        activity, attempt = state.activities.get(activity_id), state.open.get(activity_id)
        is_fresh = (activity is None or not activity.approved) and (attempt is None or attempt.wait is None)
        return gate is not None and gate.stage == "before" and item is None and is_fresh

    async def _tell_cancelled(self) -> None:
        """Tell the implementation what was cancelled, once that is durable and before the run is over."""
        recorder, state = self._run.recorder, self._run.state
        recorder.commit_now()
        activities, nodes = cancelled_in(state)
        await self._run.tell_cancelled(activities, nodes)
        self._run.hook_points.observers.activities_cancelled(activities, nodes, self._run.now())

    async def _tell_cancelled_nodes(self) -> None:
        """The same of nodes that were cancelled while the run goes on."""
        if not self._untold:
            return
        untold, self._untold = self._untold, []
        self._run.recorder.commit_now()
        activities = [one for scope, node_id in untold for one in cancelled_with(self._run.state, scope, node_id)]
        await self._run.tell_cancelled(activities, [node_id for _, node_id in untold])

    def _is_over(self, scope: str, node_id: NodeId) -> bool:
        node = self._run.state.node(node_id, scope)
        return node is not None and node.ended_at is not None

    def _start(self, action: Action, may_start: bool) -> None:
        match action:
            case Perform(activity_id) if activity_id not in self._tasks and not self._is_stopping():
                attempt = self._run.state.open[activity_id]
                if may_start or self._stands_before_gate(attempt.scope, attempt.node_id, attempt.item, activity_id):
                    self._begin(activity_id, perform_attempt(self._run, attempt))
            case Stop(activity_id) if activity_id in self._tasks:
                self._run.cancel_event(activity_id).set()
            case Stop(activity_id) if not self._is_stopping():
                self._begin(activity_id, cancel_attempt(self._run, self._run.state.open[activity_id]))

    def _begin(self, activity_id: ActivityId, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks[activity_id] = task
        task.add_done_callback(lambda _: self._changed.set())

    def _take_in_ended(self) -> None:
        """Forget the attempts that have ended, so that the next of an activity can start; raise what went wrong."""
        for activity_id, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[activity_id]
                self._run.cancels.pop(activity_id, None)
                task.result()
        if self._run.recorder.failure is not None:
            raise self._run.recorder.failure

    # ---- waiting ---------------------------------------------------------------------------------------------------

    async def _wait(self, wake_at: int | None) -> None:
        """Sleep until something has changed, a request has arrived, or `wake_at` (ms) has come."""
        changed = asyncio.ensure_future(self._changed.wait())
        alarm = None
        if wake_at is not None:
            alarm = asyncio.ensure_future(self._run.clock.sleep_ms(max(0, wake_at - self._run.now())))
        sleepers = {changed} if alarm is None else {changed, alarm}
        try:
            while True:
                done, _ = await asyncio.wait(sleepers, timeout=INBOX_POLL_S, return_when=asyncio.FIRST_COMPLETED)
                if done or has_requests(self._directory.inbox):
                    return
        finally:
            for sleeper in sleepers:
                sleeper.cancel()

    def _let_go(self) -> None:
        """Let go of what is left after a fault, without ending it: as if this process had been killed."""
        for task in self._tasks.values():
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _stop_reason(self, wake_at: int | None) -> StopReason:
        state = self._run.state
        if state.ended is not None:
            return "terminal"
        if self._is_stopping():
            return "interrupted"
        if state.in_doubt:
            return "in_doubt"
        if state.waits:
            return "awaiting_wait"
        return "pending" if wake_at is not None or state.open or not self._dispatches else "no_progress"

    def _is_stopping(self) -> bool:
        return self._run.interruption.requested.is_set()
