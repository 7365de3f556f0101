"""One attempt, from where its events say it stands to its end.

    attemptCreated -> bind (componentStarted) -> component_pre_execute -> gate before -> the work -> checks
    (componentSucceeded or componentFailed) -> component_post_success or _error -> gate after
    -> activitySucceeded, activityFailed, activityTimedOut or activityCancelled

Each step first looks whether the log already has it, so that carrying on after a crash, or after a gate was answered,
is the same code as going on. The work of an agent step is its implementation's sampling loop; that of an effect stands
in `effects.py`. Whatever goes wrong after attemptCreated becomes an event of this attempt; only a gate, a doubt, a
failing disk and a stopped driver leave it open.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from hooks.definition.model import DecisionNode, HostExecutorNode, SubagentNode, WorkNode
from hooks.errors import JsonBorderError, StorageError
from hooks.events.payloads import (
    ActivityCancelled,
    ActivityFailed,
    ActivityRunning,
    ActivitySucceeded,
    ActivityTimedOut,
    ComponentSucceeded,
    ErrorInfo,
    StopReason,
)
from hooks.expressions.references import UnresolvedReferenceError
from hooks.ids import NodeId, work_activity
from hooks.jsonio import canonical, check
from hooks.kernel.apply_waits import refusal
from hooks.kernel.state import AttemptState, WaitState
from hooks.runtime.binding import bind_prompt, bind_step, scope_of_attempt
from hooks.runtime.context import RunContext
from hooks.runtime.effects import Effect, perform_effect, settle_cancelled_effect
from hooks.runtime.execution_hooks import Cancelled, DispatchContext, DispatchOutcome, Failed, Succeeded
from hooks.runtime.gates import Stage, gate_digest, open_gate
from hooks.runtime.hook_points import BlockedByHookError
from hooks.runtime.loop_record import LoopRecord
from hooks.runtime.prepared_call import PreparedCall
from hooks.runtime.sampling_loop import settle_draw
from hooks.runtime.step import Step, checked_outcome, error_of_outcome, who
from hooks.runtime.step_errors import DRIVER_DIED, NothingMore, StepError, error_of_exception, step_error
from hooks.runtime.supervision import WorkStopped
from hooks.runtime.told_answers import check_told, is_told
from hooks.sampling.checks import schema_problem

T = TypeVar("T")


async def perform_attempt(run: RunContext, attempt: AttemptState) -> None:
    """Carry `attempt` on until it has ended or can go no further in this driver.

    Raises StorageError when the log cannot be written: nothing more may be done then.
    """
    definition = run.state.definition_of(attempt)
    if isinstance(definition, DecisionNode):
        await _perform_decision(run, attempt, definition)
    else:
        assert isinstance(definition, SubagentNode | HostExecutorNode)
        await Attempt(run, attempt, definition).perform()


async def cancel_attempt(run: RunContext, state: AttemptState) -> None:
    """End an attempt that nobody performs here: it stands at a gate or in doubt, or a driver that is gone began it."""
    definition = run.state.definition_of(state)
    if isinstance(definition, DecisionNode):
        run.recorder.record(ActivityCancelled(**who(state)), "supervisor")
        return
    assert isinstance(definition, SubagentNode | HostExecutorNode)
    attempt = Attempt(run, state, definition)
    is_running = state.is_permitted and (state.effect is None or state.settled is None) and not state.is_in_doubt
    if is_running:
        await attempt.announce_stop("cancel")
    if state.is_permitted:
        await attempt.end_leftovers()
    if state.is_dangling and not state.is_in_doubt and isinstance(definition, HostExecutorNode):
        await settle_cancelled_effect(attempt, attempt.effect_of(definition))
    elif state.is_dangling and not state.is_in_doubt:
        await settle_cancelled_effect(attempt, None)
    await attempt.end_loop("cancelled")
    record_cancelled(attempt)


async def _perform_decision(run: RunContext, attempt: AttemptState, node: DecisionNode) -> None:
    """A decision has no work: it opens its gate, and ends when that is answered."""
    ids = who(attempt)
    wait = attempt.wait
    if wait is None:
        try:
            prompt = bind_prompt(node, scope_of_attempt(run.state, run.recorder.resolve, attempt))
        except UnresolvedReferenceError as error:
            fault = step_error("UnresolvedReference", "userFault", str(error))
            run.recorder.record(ActivityFailed(**ids, error=fault), "worker")
            return
        run.recorder.record(_gate(run, attempt, node, "decision", prompt, None), "scheduler")
    elif wait.closed:
        run.recorder.record(ActivityCancelled(**ids, reason="gate_closed"), "scheduler")
    elif wait.overdue and not wait.approved:
        run.recorder.record(ActivityFailed(**ids, error=refusal(wait)), "scheduler")
    elif wait.approved is not None:
        run.recorder.record(ActivitySucceeded(**ids), "scheduler")


def _gate(
    run: RunContext, attempt: AttemptState, node: WorkNode | DecisionNode, stage: Stage, prompt: str, subject: Any
) -> Any:
    return open_gate(
        run.state,
        run.now(),
        node,
        scope=attempt.scope,
        work_activity_id=attempt.activity_id,
        number=run.state.activities[attempt.activity_id].waits + 1,
        stage=stage,
        prompt=prompt,
        subject=subject,
    )


@dataclass(slots=True)
class Attempt(Step):
    """The attempt of an agent step or executor call, being performed."""

    async def perform(self) -> None:
        try:
            if self.state.failed is None:
                await self._to_success()
            if self.state.failed is not None:
                await self._after_failure()
        except NothingMore:
            return

    async def _to_success(self) -> None:
        try:
            await self._end_at_closed_gate()
            if self.state.succeeded is None:
                await self._to_output()
            await self.run.hook_points.component_post_success(self.state)
            await self._pass_gate_after()
            self.run.recorder.record(ActivitySucceeded(**self.closing))
        except (StorageError, NothingMore, asyncio.CancelledError):
            raise
        except WorkStopped as stopped:
            await self._stopped(stopped.reason)
        except BlockedByHookError as block:
            await self._fail(block.error)
        except StepError as error:
            await self._fail(error.error, error.stack_trace)
        except Exception as error:  # noqa: BLE001 - an implementation's or our own fault is an event of the attempt
            await self._fail(error_of_exception(error), traceback.format_exc())

    async def _to_output(self) -> None:
        self._bind()
        started = time.monotonic()
        node = self.node
        if isinstance(node, SubagentNode):
            output = await self._answer(node)
        elif node.read_only:
            output = await self._observe(node)
        else:
            await self._before_work()
            output = await perform_effect(self, self.effect_of(node))
        self._check_output(output)
        latency_ms = round((time.monotonic() - started) * 1000)
        self.run.recorder.record(ComponentSucceeded(**self.who, output=output, latency_ms=latency_ms), "worker")

    # ---- before the work -------------------------------------------------------------------------------------------

    def _bind(self) -> None:
        """Bind prompt or input, once; a later driver takes what was bound."""
        recorder = self.run.recorder
        if self.state.component is None:
            scope = scope_of_attempt(self.run.state, recorder.resolve, self.state)
            try:
                started = bind_step(self.node, scope, **self.who, continues=self._continues())
                check(started.bound)
            except (UnresolvedReferenceError, JsonBorderError) as error:
                raise StepError(step_error("UnresolvedReference", "userFault", str(error))) from error
            recorder.record(started)
        component = self.state.component
        assert component is not None
        self.bound = recorder.resolve(component.bound)
        self.model_options = recorder.resolve(component.model_options)
        self.format = recorder.resolve(component.format)

    def _continues(self) -> str | None:
        """The activity whose conversation this step goes on with: in its own round, else outside the loop."""
        named = self.node.continue_from if isinstance(self.node, SubagentNode) else None
        if named is None:
            return None
        state, scope = self.run.state, self.state.scope
        place = scope if named in state.scopes[scope].graph.position else ""
        return work_activity(state.run_id, NodeId(named), scope=place)

    async def _before_work(self) -> None:
        """Ask the hooks, then a person; what they left is what will be used. Once work was permitted, that stands."""
        changes = await self.run.hook_points.component_pre_execute(self.state)
        self.model_options = changes.get("model_options", self.model_options)
        self.format = changes.get("format", self.format)
        await self._before_effect()
        if not self.state.is_permitted and self.state.settled is None:
            await self._pass_gate_before()
            self._start_nothing_more()

    async def _before_effect(self) -> None:
        """Ask the hooks about the call itself, or about a draw that has consequences."""
        node, hook_points = self.node, self.run.hook_points
        if isinstance(node, HostExecutorNode):
            self.bound = await hook_points.effect_pre_attempt(self.state, self.key(), read_only=node.read_only)
        elif self._has_consequences(node):
            effective = await hook_points.effect_pre_attempt(self.state, self.key(), read_only=False)
            self.bound, self.model_options, self.format = (
                effective["prompt"],
                effective["model_options"],
                effective["format"],
            )

    def _has_consequences(self, node: SubagentNode) -> bool:
        return any(agent.name == node.agent and not agent.repeatable for agent in self.run.definition.agents)

    def _start_nothing_more(self) -> None:
        """Where the driver is stopping, this is being cancelled, or the run failed at the gate, go no further."""
        if self.is_being_cancelled:
            raise WorkStopped("cancel")
        if self.run.state.halted and self.state.wait is not None:
            self.run.recorder.record(ActivityCancelled(**self.closing, reason="gate_closed"))
            raise NothingMore
        if self.run.interruption.requested.is_set():
            raise NothingMore

    async def _pass_gate_before(self) -> None:
        component = self.state.component
        assert component is not None
        subject = {"cwd": component.cwd, "env": component.env, "input": self.bound, "model_options": self.model_options}
        await self._pass_gate("before", subject)

    async def _pass_gate_after(self) -> None:
        assert self.state.succeeded is not None
        await self._pass_gate("after", self.run.recorder.resolve(self.state.succeeded.output))

    async def _pass_gate(self, stage: Stage, subject: Any) -> None:
        """Go on only with what a person has approved. A fan-out's items pass their node's gate, not one each."""
        gate = self.node.human_gate
        if gate is None or gate.stage != stage or self.state.item is not None:
            return
        try:
            prompt = bind_prompt(self.node, scope_of_attempt(self.run.state, self.run.recorder.resolve, self.state))
        except UnresolvedReferenceError as error:
            raise StepError(step_error("UnresolvedReference", "userFault", str(error))) from error
        digest = gate_digest(stage, prompt, subject)
        if digest in self.run.state.activities[self.state.activity_id].approved:
            return
        wait = self.state.wait
        if wait is not None and wait.created.digest == digest:
            self._refuse(wait)
        self.run.recorder.record(_gate(self.run, self.state, self.node, stage, prompt, subject))
        await self.run.recorder.commit()
        raise NothingMore

    def _refuse(self, wait: WaitState) -> NoReturn:
        if wait.approved is None:
            raise NothingMore
        raise StepError(refusal(wait))

    async def _end_at_closed_gate(self) -> None:
        if self.state.wait is not None and self.state.wait.closed:
            await self.end_loop("cancelled")
            self.run.recorder.record(ActivityCancelled(**self.closing, reason="gate_closed"))
            raise NothingMore

    # ---- the work --------------------------------------------------------------------------------------------------

    async def _answer(self, node: SubagentNode) -> Any:
        await self._before_work()
        if self._has_consequences(node):
            output = await perform_effect(self, self._effect_of_draw(node))
            if is_told(self.state):
                await self.supervised(check_told(self.context(), node, output))
            return output
        await self._end_if_timed_out()
        self._fill_environment()
        if self.inherited and (loop := self.state.loop) is not None:
            if loop.open:
                await self.supervised(settle_draw(self.context(), node))
            if any(draw.validated is None for draw in loop.answered):
                await self.end_processes()  # checks that were commands
            # What was begun before has been settled: what is drawn now has its whole time.
            self.inherited = False
        return output_of_outcome(await self.supervised(self._asked(self.context(), node, self.bound)))

    async def _asked(self, ctx: DispatchContext, node: SubagentNode, prompt: str) -> DispatchOutcome:
        """What the implementation makes of the prompt; nothing of it is at work any more, and may write, after that."""
        try:
            return await self.run.implementation.execute_subagent(ctx, node, prompt)
        finally:
            await ctx.loop.turn.end()

    async def _observe(self, node: HostExecutorNode) -> Any:
        """A read-only call: no sidecar; one that its driver's death cut off is an attempt that does not count."""
        await self._before_work()
        prepared = self.prepare(node)
        filled = self._fill_input(prepared)
        await self._end_if_timed_out()
        if not self.inherited:
            self.run.recorder.record(ActivityRunning(**self.who), "worker")
            await self.run.recorder.commit()
        implementation = self.run.implementation
        if self.inherited:
            work = self.adopted(implementation.adopt_host_executor(self.context(), node, filled))
        else:
            work = implementation.execute_host_executor(self.context(), node, filled)
        outcome = await self.supervised(work)
        if self.inherited and isinstance(outcome, Failed) and outcome.outcome == "unknown":
            self.interrupted(DRIVER_DIED)
        return output_of_outcome(outcome)

    def effect_of(self, node: HostExecutorNode) -> Effect:
        implementation = self.run.implementation
        return Effect(
            name=node.executor,
            prepare=lambda: self.prepare(node),
            execute=lambda context, value: implementation.execute_host_executor(context, node, value),
            adopt=lambda context, value: implementation.adopt_host_executor(context, node, value),
            look_up=lambda context, value: implementation.look_up_effect(context, node, value),
            policy=lambda value: implementation.effect_policy(node, value, self.timeout_ms),
        )

    def _effect_of_draw(self, node: SubagentNode) -> Effect:
        """A draw of an agent whose answers have consequences; nobody can look one up or repeat it."""
        canonical_input = {"format": self.format, "model_options": self.model_options, "prompt": self.bound}
        implementation = self.run.implementation

        async def adopt(context: DispatchContext, value: Any) -> DispatchOutcome | None:
            if self.state.loop is None:
                return await implementation.adopt_subagent(context, node, value["prompt"])
            # A loop that has begun goes on by what the log says, and makes no draw again that was permitted.
            return await self._asked(context, node, value["prompt"])

        return Effect(
            name=f"agent:{node.agent}",
            prepare=lambda: PreparedCall(canonical_input, canonical_input, f"agent:{node.agent}"),
            execute=lambda context, value: self._asked(context, node, value["prompt"]),
            adopt=adopt,
        )

    async def _end_if_timed_out(self) -> None:
        """Where a driver announced the end of this work for its timeout and died: see that it is over."""
        if self.state.stop is not None and self.state.stop.reason == "timeout":
            await self.end_leftovers()
            raise WorkStopped("timeout")

    # ---- after the work --------------------------------------------------------------------------------------------

    def _check_output(self, output: Any) -> None:
        node = self.node
        try:
            check(output)
        except JsonBorderError as error:
            message = f"The output is no JSON value: {error}"
            raise StepError(step_error("InvalidOutput", "fatal", message)) from error
        if node.max_output_bytes is not None and (size := _output_size(output)) > node.max_output_bytes:
            message = f"The output has {size} bytes; max_output_bytes is {node.max_output_bytes}."
            raise StepError(step_error("OutputTooLarge", "userFault", message))
        if node.output_schema is not None and isinstance(node, HostExecutorNode):
            problem = schema_problem(node.output_schema, output)
            if problem is not None:
                raise StepError(step_error("OutputSchemaMismatch", "userFault", f"output_schema: {problem}"))

    async def _stopped(self, reason: StopReason) -> None:
        """The work was told to end and has: out of time, cancelled, or to be carried on by a later driver."""
        if reason == "timeout":
            await self._fail(self.stop_error(reason))
        elif reason == "cancel":
            await self.end_loop("cancelled")
            record_cancelled(self)

    async def _fail(self, error: ErrorInfo, stack_trace: str = "") -> None:
        await self.end_loop(error.error_message, error)
        self.fail(error, stack_trace)

    async def end_loop(self, reason: str, error: ErrorInfo | None = None) -> None:
        """End a sampling loop that was cut short from outside; it has no call under way any more."""
        if isinstance(self.node, SubagentNode):
            await LoopRecord(self.context(), self.node).end(reason, error)

    async def _after_failure(self) -> None:
        failed = self.state.failed
        assert failed is not None
        await self.run.hook_points.component_post_error(self.state)
        ending = ActivityTimedOut if failed.error.error_code == "Timeout" else ActivityFailed
        self.run.recorder.record(ending(**self.closing, error=failed.error, effect_done=self.state.effect_done))


def record_cancelled(attempt: Attempt) -> None:
    """Record that the attempt is over by a cancel, with what is known of its effect."""
    state = attempt.state
    outcome: Any = "none"
    if state.is_dangling:
        outcome = "in_doubt"
    elif state.effect is not None and state.settled is not None:
        outcome = state.settled.outcome
    output = state.settled.output if outcome == "done" and state.settled is not None else None
    attempt.run.recorder.record(ActivityCancelled(**attempt.closing, outcome=outcome, output=output), "supervisor")


def output_of_outcome(outcome: DispatchOutcome) -> Any:
    """What the work gave. Raises StepError for everything but a success."""
    match checked_outcome(outcome):
        case Succeeded(output):
            return output
        case Failed() as failed:
            raise StepError(error_of_outcome(failed), failed.stack_trace)
        case Cancelled(origin):
            raise StepError(step_error("Cancelled", "cancelled", f"Cancelled by {origin}."))


def _output_size(output: Any) -> int:
    """What max_output_bytes measures: the stdout of a command, the text of an answer, else the JSON of the output."""
    if isinstance(output, dict) and isinstance(output.get("stdout_bytes"), int):
        size: int = output["stdout_bytes"]
        return size
    return len(output.encode()) if isinstance(output, str) else len(canonical(output))
