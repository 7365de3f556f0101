"""One attempt, from where its events say it stands to its end.

    attemptCreated -> bind (componentStarted) -> component_pre_execute -> the work -> checks (componentSucceeded or
    componentFailed) -> component_post_success or _error -> activitySucceeded, activityFailed or activityTimedOut

Each step first looks whether the log already has it, so that carrying on after a crash is the same code as going on.
The work of an agent step is its implementation's sampling loop. The work of an effect is: prepare -> effect-input.json
-> effectAttempted, durable -> execute -> effectSettled, durable, before anything judges it. Whatever goes wrong after
attemptCreated becomes an event of this attempt; only a failing disk and a stopped driver leave it open.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from hooks.clock import Clock
from hooks.definition.durations import spelt
from hooks.definition.executor_inputs import bind_input
from hooks.definition.model import HostExecutorNode, Node, SubagentNode, Workflow
from hooks.errors import HooksError, JsonBorderError, StorageError
from hooks.events.payloads import (
    ActivityFailed,
    ActivityRunning,
    ActivitySucceeded,
    ActivityTimedOut,
    CancelDelivered,
    ComponentFailed,
    ComponentStarted,
    ComponentSucceeded,
    EffectAttempted,
    EffectSettled,
    ErrorClass,
    ErrorInfo,
    ReconcileResult,
    StopReason,
)
from hooks.expressions.references import UnresolvedReferenceError
from hooks.expressions.templates import bind_text
from hooks.ids import RevisionId, attempt_directory, idempotency_key
from hooks.jsonio import canonical, check
from hooks.kernel.state import AttemptState, RunState
from hooks.runtime.attempt_files import (
    EffectInput,
    make_effect_input,
    read_effect_input,
    write_effect_input,
)
from hooks.runtime.binding import run_scope
from hooks.runtime.execution_hooks import (
    Cancelled,
    DispatchContext,
    DispatchOutcome,
    Failed,
    Leftover,
    Succeeded,
    WorkflowExecutionHooks,
)
from hooks.runtime.hook_points import BlockedByHookError, HookPoints
from hooks.runtime.output_check import schema_problem
from hooks.runtime.recorder import Recorder
from hooks.runtime.supervision import Interruption, WorkStopped, supervise
from hooks.storage.durable_files import Durability

MAX_MESSAGE = 4_000
NOT_STARTED = "NotStarted"
"""The machine was short of disk, descriptors or memory: the driver stops, and the next one makes a new attempt."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What every attempt of a run needs of its driver."""

    definition: Workflow
    recorder: Recorder
    implementation: WorkflowExecutionHooks
    hook_points: HookPoints
    interruption: Interruption
    clock: Clock
    attempts_directory: Path
    working_directory: Path
    workflow_directory: Path
    grace_ms: int
    durability: Durability
    end_leftovers: Callable[[str, int], Awaitable[None]]
    trusted_since: int
    """Index of the first driver session whose unsynced files may be believed: same boot, same directory."""

    @property
    def state(self) -> RunState:
        return self.recorder.state


class StepError(Exception):
    """The attempt fails with `error`."""

    def __init__(self, error: ErrorInfo, stack_trace: str = "") -> None:
        super().__init__(error.error_message)
        self.error = error
        self.stack_trace = stack_trace


class _NothingMore(Exception):
    """There is no more to do for the attempt here: the driver was told to stop, its effect is in doubt, or it ended."""


async def perform_attempt(run: RunContext, attempt: AttemptState) -> None:
    """Carry `attempt` on until it has ended or can go no further in this driver.

    Raises StorageError when the log cannot be written: nothing more may be done then.
    """
    await _Attempt(run, attempt).perform()


@dataclass(slots=True)
class _Attempt:
    run: RunContext
    attempt: AttemptState
    inherited: bool = False
    """A driver that is gone may have started something for this attempt."""
    model_options: dict[str, Any] = field(default_factory=dict)
    format: Any = None
    bound: Any = None

    def __post_init__(self) -> None:
        self.inherited = self.attempt.is_permitted

    @property
    def node(self) -> Node:
        graph = self.run.state.graph
        return graph.nodes[graph.position[self.attempt.node_id]]

    @property
    def who(self) -> dict[str, Any]:
        attempt = self.attempt
        return {"activity_id": attempt.activity_id, "attempt_id": attempt.attempt_id, "node_id": attempt.node_id}

    @property
    def directory(self) -> Path:
        return self.run.attempts_directory / attempt_directory(self.attempt.activity_id, self.attempt.number)

    async def perform(self) -> None:
        try:
            if self.attempt.failed is None:
                await self._to_success()
            if self.attempt.failed is not None:
                await self._after_failure()
        except _NothingMore:
            return

    async def _to_success(self) -> None:
        try:
            if self.attempt.succeeded is None:
                await self._to_output()
            await self.run.hook_points.component_post_success(self.attempt)
            self.run.recorder.record(ActivitySucceeded(**self.who))
        except (StorageError, _NothingMore, asyncio.CancelledError):
            raise
        except WorkStopped as stopped:
            self._stopped(stopped.reason)
        except BlockedByHookError as block:
            self._fail(block.error)
        except StepError as error:
            self._fail(error.error, error.stack_trace)
        except Exception as error:  # noqa: BLE001 - an implementation's or our own fault is an event of the attempt
            self._fail(_as_error(error), traceback.format_exc()[-MAX_MESSAGE:])

    async def _to_output(self) -> None:
        self._bind()
        started = time.monotonic()
        node = self.node
        if isinstance(node, SubagentNode):
            output = await self._answer(node)
        elif node.read_only:
            output = await self._observe(node)
        else:
            output = await self._effect(node)
        self._check_output(output)
        latency_ms = round((time.monotonic() - started) * 1000)
        self.run.recorder.record(ComponentSucceeded(**self.who, output=output, latency_ms=latency_ms), "worker")

    # ---- before the work -------------------------------------------------------------------------------------------

    def _bind(self) -> None:
        """Bind prompt or input, once; a later driver takes what was bound."""
        node, recorder = self.node, self.run.recorder
        if self.attempt.component is None:
            scope = run_scope(self.run.state, recorder.resolve)
            try:
                is_agent = isinstance(node, SubagentNode)
                bound = bind_text(node.prompt, scope) if isinstance(node, SubagentNode) else bind_input(node, scope)
            except UnresolvedReferenceError as error:
                raise StepError(_error("UnresolvedReference", "userFault", str(error))) from error
            recorder.record(
                ComponentStarted(
                    **self.who,
                    component_type="AgentStep" if is_agent else "HostExecutorCall",
                    bound=bound,
                    model_options=node.model_options if isinstance(node, SubagentNode) else {},
                    format=node.output_schema if is_agent else None,
                )
            )
        component = self.attempt.component
        assert component is not None
        self.bound = recorder.resolve(component.bound)
        self.model_options = recorder.resolve(component.model_options)
        self.format = recorder.resolve(component.format)

    async def _pre_execute(self) -> None:
        """Ask the hooks before the work; what they changed is what will be used."""
        changes = await self.run.hook_points.component_pre_execute(self.attempt)
        self.model_options = changes.get("model_options", self.model_options)
        self.format = changes.get("format", self.format)

    def _refuse_if_stopping(self) -> None:
        if self.run.interruption.requested.is_set():
            raise _NothingMore

    # ---- the work --------------------------------------------------------------------------------------------------

    async def _answer(self, node: SubagentNode) -> Any:
        await self._pre_execute()
        self._refuse_if_stopping()
        if self.attempt.stop is not None and self.attempt.stop.reason == "timeout":
            await self._end_timed_out()
        work = self.run.implementation.execute_subagent(self._context(), node, self.bound)
        return _output_of(await self._supervised(work))

    async def _observe(self, node: HostExecutorNode) -> Any:
        """A read-only call: no sidecar; one that its driver's death cut off is an attempt that does not count."""
        if not self.inherited:
            await self._pre_execute()
            self._refuse_if_stopping()
            prepared = self._prepare(node)
            self.run.recorder.record(ActivityRunning(**self.who), "worker")
            await self.run.recorder.commit()
        else:
            prepared = self._prepare(node)
            if self.attempt.stop is not None and self.attempt.stop.reason == "timeout":
                await self._end_timed_out()
        work = self.run.implementation.execute_host_executor(self._context(), node, prepared.parsed_input)
        outcome = await self._supervised(work)
        if self.inherited and isinstance(outcome, Failed) and outcome.outcome == "unknown":
            self._interrupted(_error("DriverDied", "retryable", "The driver died while this was running."))
        return _output_of(outcome)

    async def _effect(self, node: HostExecutorNode) -> Any:
        attempt = self.attempt
        if attempt.effect is None:
            await self._pre_execute()
            self._refuse_if_stopping()
            await self._permit_effect(node)
        if attempt.is_dangling and attempt.settled is None:
            await self._settle_effect(node)
        if attempt.is_dangling:
            await self._doubt()
        return self._effect_output()

    async def _permit_effect(self, node: HostExecutorNode) -> None:
        """effect-input.json, then effectAttempted; both durable before the provider hears anything."""
        prepared = self._prepare(node)
        effect_input = make_effect_input(node.executor, prepared.canonical_input, str(self.run.working_directory))
        write_effect_input(self.directory, effect_input, self.run.durability)
        self.run.recorder.record(
            EffectAttempted(
                **self.who,
                idempotency_key=self._key(),
                input_hash=effect_input.hash,
                idempotency_ttl_ms=prepared.idempotency_ttl_ms,
                provider=prepared.provider,
                epoch=self.attempt.epoch,
            ),
            "host_executor",
        )
        await self.run.recorder.commit()

    async def _settle_effect(self, node: HostExecutorNode) -> None:
        """Execute, or learn how the execution of a driver that is gone ended; the outcome is durable on return."""
        effect = self.attempt.effect
        assert effect is not None
        effect_input, problem = read_effect_input(self.directory, effect.input_hash)
        if effect_input is None:
            await self._doubt(problem)
            return
        started = time.monotonic()
        shortage: StorageError | None = None
        try:
            settled = await self._outcome_of_effect(node, effect_input)
        except StorageError as error:
            if self.run.recorder.failure is not None:
                raise
            shortage = error
            settled = {"outcome": "not_done", "error": _error(NOT_STARTED, "retryable", error.message)}
        latency_ms = round((time.monotonic() - started) * 1000)
        self.run.recorder.record(
            EffectSettled(**self.who, idempotency_key=effect.idempotency_key, latency_ms=latency_ms, **settled),
            "host_executor",
        )
        await self.run.recorder.commit()
        if shortage is not None:
            raise shortage

    async def _outcome_of_effect(self, node: HostExecutorNode, effect_input: EffectInput) -> dict[str, Any]:
        work = self.run.implementation.execute_host_executor(self._context(), node, effect_input.input)
        try:
            outcome = await self._supervised(work)
        except WorkStopped as stopped:
            return {"outcome": "unknown", "error": _stop_error(stopped.reason, node, self.run)}
        except (StorageError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever an implementation raises, its effect is unknown
            return {"outcome": "unknown", "error": _as_error(error)}
        match outcome:
            case Succeeded(output):
                return {"outcome": "done", "output": output}
            case Failed():
                return {"outcome": outcome.outcome, "output": outcome.output, "error": _failed_error(outcome)}
            case Cancelled():
                return {"outcome": "unknown"}

    async def _doubt(self, reason: str = "NoReconciler") -> None:
        """Nobody but a person can say what became of the effect: recorded once, and left open."""
        effect = self.attempt.effect
        assert effect is not None
        if not self.attempt.is_in_doubt:
            self.run.recorder.record(
                ReconcileResult(**self.who, idempotency_key=effect.idempotency_key, outcome="in_doubt", reason=reason),
                "supervisor",
            )
            await self.run.recorder.commit()
        raise _NothingMore

    def _effect_output(self) -> Any:
        settled = self.attempt.settled
        assert settled is not None
        if settled.outcome == "done" and settled.error is None:
            return self.run.recorder.resolve(settled.output)
        if settled.error is not None and settled.error.error_code == NOT_STARTED:
            self._interrupted(settled.error)
        raise StepError(settled.error or _error("EffectFailed", "fatal", f"The effect ended {settled.outcome}."))

    def _prepare(self, node: HostExecutorNode) -> Any:
        try:
            check(self.bound)
            return self.run.implementation.prepare_host_executor(node.executor, self.bound)
        except ValueError as error:
            raise StepError(_error("InvalidInput", "userFault", str(error))) from error

    async def _supervised(self, work: Coroutine[Any, Any, DispatchOutcome]) -> DispatchOutcome:
        interruption = self.run.interruption
        is_effect = self.attempt.effect is not None
        return await supervise(
            work,
            timeout_ms=self._time_left_ms(),
            stop=interruption.grace_over if is_effect else interruption.requested,
            hurry=interruption.hurry,
            announce=self._announce_stop,
        )

    async def _announce_stop(self, reason: StopReason) -> None:
        self.run.recorder.record(CancelDelivered(**self.who, reason=reason, signal="SIGTERM"), "supervisor")
        await self.run.recorder.commit()

    def _time_left_ms(self) -> int | None:
        timeout_ms = self.node.timeout_ms or self.run.definition.timeout_ms
        if timeout_ms is None or not self.inherited:
            return timeout_ms
        return timeout_ms - (self.run.state.now(self.run.clock.now_ms()) - self.attempt.running_since)

    def _leftover(self) -> Leftover:
        if not self.inherited:
            return "none"
        permitted_by = self.attempt.permitted_by
        is_trusted = permitted_by is not None and permitted_by >= self.run.trusted_since
        return "trusted" if is_trusted and self.attempt.stop is None else "untrusted"

    async def _end_timed_out(self) -> None:
        """A driver announced the end of this work for its timeout and died: see that it is over."""
        await self.run.end_leftovers(self.attempt.attempt_id, self.run.grace_ms)
        raise WorkStopped("timeout")

    def _context(self) -> DispatchContext:
        run, attempt = self.run, self.attempt
        assert run.state.created is not None
        return DispatchContext(
            run_id=run.state.run_id,
            workflow_id=run.definition.workflow_id,
            revision_id=RevisionId(run.state.created.revision_id),
            node_id=attempt.node_id,
            activity_id=attempt.activity_id,
            attempt_id=attempt.attempt_id,
            attempt=attempt.number,
            idempotency_key=self._key(draw=1 if isinstance(self.node, SubagentNode) else 0),
            directory=self.directory,
            working_directory=run.working_directory,
            workflow_directory=run.workflow_directory,
            grace_ms=run.grace_ms,
            leftover=self._leftover(),
            model_options=self.model_options,
            format=self.format,
            recorder=run.recorder,
        )

    def _key(self, draw: int = 0) -> str:
        run, attempt = self.run, self.attempt
        assert run.state.created is not None
        return idempotency_key(
            run_id=run.state.run_id,
            workflow_id=run.definition.workflow_id,
            revision_id=RevisionId(run.state.created.revision_id),
            node_id=attempt.node_id,
            activity_id=attempt.activity_id,
            epoch=attempt.epoch,
            draw=draw,
        )

    # ---- after the work --------------------------------------------------------------------------------------------

    def _check_output(self, output: Any) -> None:
        node = self.node
        try:
            check(output)
        except JsonBorderError as error:
            raise StepError(_error("InvalidOutput", "fatal", f"The output is no JSON value: {error}")) from error
        if node.max_output_bytes is not None and (size := _output_size(output)) > node.max_output_bytes:
            message = f"The output has {size} bytes; max_output_bytes is {node.max_output_bytes}."
            raise StepError(_error("OutputTooLarge", "userFault", message))
        if node.output_schema is not None and isinstance(node, HostExecutorNode):
            problem = schema_problem(node.output_schema, output)
            if problem is not None:
                raise StepError(_error("OutputSchemaMismatch", "userFault", f"output_schema: {problem}"))

    def _stopped(self, reason: StopReason) -> None:
        """The work was told to end and has ended: out of time, or to be carried on by a later driver."""
        if reason == "timeout":
            self._fail(_stop_error(reason, self.node, self.run))

    def _interrupted(self, error: ErrorInfo) -> NoReturn:
        """End the attempt without counting it: another one takes its place."""
        self.run.recorder.record(ActivityFailed(**self.who, error=error, interrupted=True), "supervisor")
        raise _NothingMore

    def _fail(self, error: ErrorInfo, stack_trace: str = "") -> None:
        recorder = self.run.recorder
        if self.attempt.component is None:
            # It failed before it was anything a hook could look at.
            recorder.record(ActivityFailed(**self.who, error=error), "worker")
        else:
            recorder.record(ComponentFailed(**self.who, error=error, stack_trace=stack_trace), "worker")

    async def _after_failure(self) -> None:
        failed = self.attempt.failed
        assert failed is not None
        await self.run.hook_points.component_post_error(self.attempt)
        ending = ActivityTimedOut if failed.error.error_code == "Timeout" else ActivityFailed
        self.run.recorder.record(ending(**self.who, error=failed.error, effect_done=self.attempt.effect_done))


def _output_of(outcome: DispatchOutcome) -> Any:
    match outcome:
        case Succeeded(output):
            return output
        case Failed():
            raise StepError(_failed_error(outcome), outcome.stack_trace[-MAX_MESSAGE:])
        case Cancelled(origin):
            raise StepError(_error("Cancelled", "cancelled", f"Cancelled by {origin}."))


def _output_size(output: Any) -> int:
    """What max_output_bytes measures: the stdout of a command, the text of an answer, else the JSON of the output."""
    if isinstance(output, dict) and isinstance(output.get("stdout_bytes"), int):
        size: int = output["stdout_bytes"]
        return size
    return len(output.encode()) if isinstance(output, str) else len(canonical(output))


def _failed_error(failed: Failed) -> ErrorInfo:
    return _error(failed.error_code, failed.error_class, failed.error_message)


def _stop_error(reason: StopReason, node: Node, run: RunContext) -> ErrorInfo:
    if reason == "timeout":
        limit = node.timeout_ms or run.definition.timeout_ms
        return _error("Timeout", "timeout", f"It ran longer than its timeout of {spelt(limit or 0)} and was ended.")
    return _error("Interrupted", "retryable", "The driver was told to stop while this was running.")


def _as_error(error: Exception) -> ErrorInfo:
    message = error.message if isinstance(error, HooksError) else str(error)
    return _error(type(error).__name__, "fatal", message or type(error).__name__)


def _error(code: str, error_class: ErrorClass, message: str) -> ErrorInfo:
    if len(message) > MAX_MESSAGE:
        message = message[:MAX_MESSAGE] + " …"
    # A message may quote what a child printed: what JSON cannot carry is replaced.
    text = message.encode("utf-8", "replace").decode()
    return ErrorInfo(error_code=code, error_class=error_class, error_message=text)
