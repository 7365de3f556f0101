"""What the parts of an attempt share: whose it is, what is bound for it, and how its work is supervised and ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

from hooks.definition.durations import spelt
from hooks.definition.model import HostExecutorNode, SubagentNode, WorkNode
from hooks.errors import JsonBorderError, describe_exception
from hooks.events.payloads import (
    ActivityFailed,
    CancelDelivered,
    ComponentFailed,
    EffectOutcome,
    ErrorClass,
    ErrorInfo,
    StopReason,
)
from hooks.expressions.secrets import MissingSecretError, fill_secrets
from hooks.ids import RevisionId, attempt_directory, call_directory, idempotency_key, process_marker
from hooks.jsonio import carried_text, check
from hooks.kernel.retry_rules import retry_of
from hooks.kernel.state import AttemptState
from hooks.runtime.attempt_files import FilledInput, files_left
from hooks.runtime.context import RunContext
from hooks.runtime.execution_hooks import Cancelled, DispatchContext, DispatchOutcome, Failed, Leftover, Succeeded
from hooks.runtime.loop_points import LoopPoints
from hooks.runtime.loop_services import LoopServices
from hooks.runtime.prepared_call import PreparedCall
from hooks.runtime.step_errors import MAX_MESSAGE, NothingMore, StepError, step_error
from hooks.runtime.supervision import supervise

T = TypeVar("T")

MOMENT_MS = 2_000
_MOST_SHOWN = 200
LONGEST_SLEEP_MS = 500
"""How late a wait may notice that a person has settled what it waits for."""


def who(attempt: AttemptState) -> dict[str, Any]:
    return {"activity_id": attempt.activity_id, "attempt_id": attempt.attempt_id, "node_id": attempt.node_id}


@dataclass(slots=True)
class Step:
    """What an attempt of an agent step or executor call stands on: its place, its names, its way to be told to stop."""

    run: RunContext
    state: AttemptState
    node: WorkNode
    inherited: bool = False
    """A driver that is gone may have started something for this attempt."""
    model_options: dict[str, Any] = field(default_factory=dict)
    format: Any = None
    bound: Any = None
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inherited = self.state.is_permitted

    @property
    def who(self) -> dict[str, Any]:
        return who(self.state)

    @property
    def closing(self) -> dict[str, Any]:
        """What the event that ends the attempt names."""
        return {**self.who, "files": files_left(self.directory)}

    @property
    def directory(self) -> Path:
        return self.run.attempts_directory / attempt_directory(self.state.activity_id, self.state.number)

    @property
    def timeout_ms(self) -> int | None:
        return self.node.timeout_ms or self.run.definition.timeout_ms

    @property
    def grace_ms(self) -> int:
        """What the work gets between TERM and KILL: as a cancel says, else the node, else the run."""
        cancel = self.run.state.cancel
        if cancel is not None and cancel.grace_ms is not None:
            return cancel.grace_ms
        return self.run.grace_ms if self.node.grace_ms is None else self.node.grace_ms

    @property
    def working_directory(self) -> Path:
        component = self.state.component
        cwd = None if component is None else component.cwd
        return self.run.working_directory if cwd is None else self.run.working_directory / cwd

    @property
    def is_being_cancelled(self) -> bool:
        return self.run.cancel_event(self.state.activity_id).is_set()

    async def pause(self, duration_ms: int) -> StopReason | None:
        """Wait, with nothing under way, unless the effect is settled meanwhile; what cut it short, if anything did."""
        stops = [self.run.interruption.requested, self.run.cancel_event(self.state.activity_id)]
        waits = [asyncio.ensure_future(stop.wait()) for stop in stops]
        while duration_ms > 0 and self.state.is_dangling and not any(stop.is_set() for stop in stops):
            sleep = asyncio.ensure_future(self.run.clock.sleep_ms(min(duration_ms, LONGEST_SLEEP_MS)))
            await asyncio.wait({*waits, sleep}, return_when=asyncio.FIRST_COMPLETED)
            sleep.cancel()
            duration_ms -= LONGEST_SLEEP_MS
        for wait in waits:
            wait.cancel()
        return "cancel" if stops[1].is_set() else "interrupt" if stops[0].is_set() else None

    def prepare(self, node: HostExecutorNode) -> PreparedCall:
        try:
            return self.run.implementation.prepare_in(self.working_directory, node.executor, self.bound)
        except ValueError as error:
            raise StepError(step_error("InvalidInput", "userFault", str(error))) from error

    def _fill_environment(self) -> None:
        """Put the secrets into the environment; a missing one is the fault of the machine, and may be there later."""
        component = self.state.component
        assert component is not None
        env = self.run.recorder.resolve(component.env)
        try:
            self.environment = fill_secrets(env, component.env_secret_pointers, self.run.environ)
        except MissingSecretError as error:
            raise StepError(missing_secret(error)) from error

    def _fill_input(self, prepared: PreparedCall) -> Any:
        component = self.state.component
        assert component is not None
        self._fill_environment()
        try:
            return fill_secrets(prepared.parsed_input, component.secret_pointers, self.run.environ)
        except MissingSecretError as error:
            raise StepError(missing_secret(error)) from error

    def use(self, filled: FilledInput) -> None:
        """Take the environment from a sidecar."""
        self.environment = filled.environment

    async def supervised(self, work: Coroutine[Any, Any, T], *, is_bounded: bool = True) -> T:
        """Run `work` until it ends or is told to: for its timeout, a cancel, or because the driver stops."""
        interruption = self.run.interruption
        is_effect = self.state.effect is not None
        return await supervise(
            work,
            timeout_ms=self._time_left_ms() if is_bounded else None,
            stop=interruption.grace_over if is_effect else interruption.requested,
            cancel=self.run.cancel_event(self.state.activity_id),
            hurry=interruption.hurry,
            announce=self.announce_stop,
        )

    async def adopted(self, work: Coroutine[Any, Any, DispatchOutcome | None]) -> DispatchOutcome:
        """How work ended that a driver which is gone had begun; where nobody knows, nothing of it goes on here."""
        outcome = await work
        if outcome is None:
            await self.end_processes()
            return Failed("OutcomeUnknown", "manual", "Nothing is known of how this ended.", "unknown")
        return outcome

    async def in_moment(self, work: Coroutine[Any, Any, T]) -> T:
        """What a cancel waits for has the grace, and a moment at least. Raises TimeoutError."""
        async with asyncio.timeout(max(self.grace_ms, MOMENT_MS) / 1000):
            return await work

    async def end_leftovers(self) -> None:
        """End what a driver that is gone had begun and nobody wants any more, wherever it goes on."""
        try:
            await self.in_moment(self.run.implementation.end_leftovers(self.context(), self.node))
        except Exception as error:  # noqa: BLE001 - what it makes of it cannot keep the rest from being ended
            self.run.tell(f"{self.state.node_id}: end_leftovers failed: {describe_exception(error)}")
        await self.end_processes()

    async def end_processes(self) -> None:
        """End the processes that a driver which is gone had started, and mask what they left."""
        calls = [] if self.state.loop is None else [started.call for started in self.state.loop.open.values()]
        for call in {1, *calls}:
            directory = self.directory.parent / call_directory(self.directory.name, call)
            await self.run.engine.end_leftovers(self.marker_of(call), self.grace_ms, directory, self.run.masker)

    async def announce_stop(self, reason: StopReason) -> None:
        self.run.recorder.record(CancelDelivered(**self.who, reason=reason, signal="SIGTERM"), "supervisor")
        await self.run.recorder.commit()

    def _note_kill(self) -> None:
        """TERM was not enough: that KILL follows is told before it is sent."""
        stop = self.state.stop
        if stop is not None and self.run.recorder.failure is None:
            self.run.recorder.record(CancelDelivered(**self.who, reason=stop.reason, signal="SIGKILL"), "supervisor")
            self.run.recorder.commit_now()

    def _time_left_ms(self) -> int | None:
        """What is left of the timeout: work that a driver which is gone began has used some of it.

        It always gets a moment, so that an outcome that is there already is learned however late we come.
        """
        if self.timeout_ms is None or not self.inherited:
            return self.timeout_ms
        left_ms = self.timeout_ms - (self.run.now() - self.state.running_since)
        return max(left_ms, MOMENT_MS)

    def leftover(self) -> Leftover:
        if not self.inherited:
            return "none"
        permitted_by = self.state.permitted_by
        is_trusted = permitted_by is not None and permitted_by >= self.run.trusted_since
        return "trusted" if is_trusted and self.state.stop is None else "untrusted"

    def context(self) -> DispatchContext:
        run, state = self.run, self.state
        assert run.state.created is not None
        return DispatchContext(
            run_id=run.state.run_id,
            workflow_id=run.definition.workflow_id,
            revision_id=RevisionId(run.state.created.revision_id),
            node_id=state.node_id,
            activity_id=state.activity_id,
            attempt_id=state.attempt_id,
            attempt=state.number,
            idempotency_key=self.key(),
            directory=self.directory,
            working_directory=self.working_directory,
            workflow_directory=run.workflow_directory,
            grace_ms=self.grace_ms,
            marker=self.marker,
            leftover=self.leftover(),
            model_options=self.model_options,
            format=self.format,
            environment={**self.environment, "HOOKS_ATTEMPT": state.attempt_id},
            hidden=self.run.secret_names - frozenset(self.node.secrets),
            masker=self.run.masker,
            on_kill=self._note_kill,
            recorder=run.recorder,
            loop=LoopServices(
                points=LoopPoints(run.hook_points, state),
                engine=run.engine,
                retry=retry_of(self.node, run.definition),
                marker_of=self.marker_of,
                key_of=lambda call: self.key(call=call),
                now=run.now,
            ),
        )

    @property
    def marker(self) -> str:
        """What the processes of this attempt are found by."""
        return self.marker_of(1)

    def marker_of(self, call: int) -> str:
        """What the processes of one call of the agent are found by."""
        assert self.run.state.created is not None
        return process_marker(self.run.state.created.token, self.state.attempt_id, call)

    def key(self, epoch: int | None = None, *, call: int = 1) -> str:
        """The idempotency key of the attempt's effect or of a call of its agent, in its epoch or another."""
        run, state = self.run, self.state
        assert run.state.created is not None
        return idempotency_key(
            run_id=run.state.run_id,
            workflow_id=run.definition.workflow_id,
            revision_id=RevisionId(run.state.created.revision_id),
            node_id=state.node_id,
            activity_id=state.activity_id,
            epoch=state.epoch if epoch is None else epoch,
            draw=call if isinstance(self.node, SubagentNode) else 0,
        )

    def stop_error(self, reason: StopReason) -> ErrorInfo:
        match reason:
            case "timeout":
                message = f"It ran longer than its timeout of {spelt(self.timeout_ms or 0)} and was ended."
                return step_error("Timeout", "timeout", message)
            case "cancel":
                return step_error("Cancelled", "cancelled", "It was cancelled while it was running.")
            case "interrupt":
                message = "The driver was told to stop while this was running."
                return step_error("Interrupted", "retryable", message)

    def leave(self) -> NoReturn:
        """Leave the attempt open, as it is, for a person or a later driver."""
        raise NothingMore

    def interrupted(self, error: ErrorInfo) -> NoReturn:
        """End the attempt without counting it: another one takes its place."""
        self.run.recorder.record(ActivityFailed(**self.closing, error=error, interrupted=True), "supervisor")
        raise NothingMore

    def fail(self, error: ErrorInfo, stack_trace: str = "") -> None:
        recorder = self.run.recorder
        if self.state.component is None:
            # It failed before it was anything a hook could look at.
            recorder.record(ActivityFailed(**self.closing, error=error), "worker")
        else:
            # A traceback quotes what was raised, and that may quote what is no Unicode text, a file name for one.
            trace = carried_text(stack_trace[-MAX_MESSAGE:])
            recorder.record(ComponentFailed(**self.who, error=error, stack_trace=trace), "worker")


def checked_outcome(given: object) -> DispatchOutcome:
    """What an implementation has returned, if it is an outcome that the log can carry. Raises StepError otherwise."""
    match given:
        case Succeeded() | Cancelled(cancel_origin_event_id=str()):
            return given
        case Failed(error_code=str(), error_message=str(), stack_trace=str()) if given.error_class in get_args(
            ErrorClass
        ) and given.outcome in get_args(EffectOutcome):
            try:
                check(dict(given.details))
            except (JsonBorderError, TypeError, ValueError) as error:
                raise StepError(step_error("InvalidOutcome", "fatal", f"Its details are no JSON: {error}")) from error
            return given
    message = (
        f"The implementation returned {shown(given)}, which is no Succeeded, Failed or Cancelled as they are meant."
    )
    raise StepError(step_error("InvalidOutcome", "fatal", message))


def shown(given: object) -> str:
    """A value of others' making, in a few words; whatever its own `__repr__` does."""
    try:
        return carried_text(repr(given))[:_MOST_SHOWN]
    except Exception:  # noqa: BLE001 - a repr may do anything
        return f"a {type(given).__name__}"


def error_of_outcome(failed: Failed) -> ErrorInfo:
    return step_error(failed.error_code, failed.error_class, failed.error_message, failed.details)


def missing_secret(error: MissingSecretError) -> ErrorInfo:
    return step_error("MissingSecret", "userFault", f"{error} Set it and go on with `hooks retry`.")
