"""Effects: permitted, executed, settled, and what is done about one of which nobody knows how it ended.

    effect-input.json, durable -> effectAttempted, durable -> execute from the sidecar's bytes -> effectSettled, durable

Nothing is judged before it is settled, and nothing that is done is ever done again. A dangling effect (attempted, and
its outcome unknown) is reconciled by the first of these that applies, in this or any later driver:

    the implementation has ways of its own             what it writes (`recover_dangling_effects`)
    its exit.json, or its process that still runs      effectSettled from that
    its sidecar is missing or is not what was hashed   in doubt; the provider is not contacted
    the provider can look it up                        found: done. absent, and settled: not done, a new attempt.
                                                       later: asked again, from 1 s doubling to 1 min, without end
    a repeat is harmless and its time is not over      sent again: same key, same bytes, same attempt
    otherwise                                          in doubt: only a person can say (`hooks resolve`)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from hooks.definition.durations import spelt
from hooks.errors import JsonBorderError, StorageError
from hooks.events.payloads import EffectAttempted, EffectSettled, ErrorInfo, ReconcileResult
from hooks.executors.base import Absent, CannotTell, Found, Later, LookUp
from hooks.expressions.secrets import MissingSecretError
from hooks.jsonio import check
from hooks.runtime.attempt_files import EffectInput, make_effect_input, read_effect_input, write_effect_input
from hooks.runtime.effect_log import EffectLog
from hooks.runtime.execution_hooks import (
    Cancelled,
    DispatchContext,
    DispatchOutcome,
    EffectPolicy,
    Failed,
    RecoveryResult,
    Succeeded,
)
from hooks.runtime.node_names import name_in_id
from hooks.runtime.prepared_call import PreparedCall
from hooks.runtime.step import Step, checked_outcome, error_of_outcome, shown
from hooks.runtime.step_errors import NOT_STARTED, NothingMore, StepError, error_of_exception, step_error
from hooks.runtime.supervision import WorkStopped, uncancelled

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 1_000, 60_000


async def _nobody_to_ask(context: DispatchContext, value: Any) -> LookUp:
    return CannotTell("nobody can look it up")


def _nothing_to_be_done(value: Any) -> EffectPolicy:
    return EffectPolicy()


@dataclass(frozen=True, slots=True)
class Effect:
    """How the effect of a step is made ready, performed, and asked about."""

    name: str
    prepare: Callable[[], PreparedCall]
    execute: Callable[[DispatchContext, Any], Coroutine[Any, Any, DispatchOutcome]]
    adopt: Callable[[DispatchContext, Any], Coroutine[Any, Any, DispatchOutcome | None]]
    """Learn how it ended where a driver that is gone had begun it."""
    look_up: Callable[[DispatchContext, Any], Coroutine[Any, Any, LookUp]] = _nobody_to_ask
    policy: Callable[[Any], EffectPolicy] = _nothing_to_be_done


async def perform_effect(attempt: Step, effect: Effect) -> Any:
    """The output of the step's effect, which is done once. Raises StepError if it failed, NothingMore in doubt."""
    return await _Performance(attempt, effect).output()


async def settle_cancelled_effect(attempt: Step, effect: Effect | None) -> None:
    """Learn by one look-up what became of an effect that was told to end, or leave it in doubt. Durable on return."""
    unasked = Effect("", prepare=_never, execute=_never_executed, adopt=_never_executed)
    performance = _Performance(attempt, effect or unasked)
    await performance.settle_once()


def _never() -> PreparedCall:
    raise AssertionError("an effect that is being cancelled is not made ready")


def _never_executed(context: DispatchContext, value: Any) -> Coroutine[Any, Any, DispatchOutcome]:
    raise AssertionError("an effect that is being cancelled is not executed")


class _CutShort(Exception):
    """A cancel came while an answer was waited for."""


@dataclass(slots=True)
class _Performance:
    attempt: Step
    effect: Effect

    async def output(self) -> Any:
        state = self.attempt.state
        if state.effect is None and state.settled is None:
            await self._permit()
        if self.attempt.inherited and state.reconciled is not None and state.reconciled.by is not None:
            # A person has settled it; what may still run of it must not run beside what comes next.
            await self.attempt.end_leftovers()
        if state.is_dangling:
            await self._settle()
        if self._is_cancelled():
            raise WorkStopped("cancel")
        await self.attempt.run.hook_points.effect_post_settle(state)
        return self._judge()

    async def settle_once(self) -> None:
        attempt = self.attempt
        assert attempt.state.effect is not None
        effect_input, problem = read_effect_input(attempt.directory, attempt.state.effect.input_hash)
        if effect_input is None:
            await self._record_result(outcome="in_doubt", reason=problem)
            return
        try:
            filled = effect_input.filled(attempt.run.environ)
        except MissingSecretError:
            await self._record_result(outcome="in_doubt", reason="MissingSecret")
            return
        attempt.use(filled)
        with suppress(TimeoutError):
            await attempt.in_moment(self._recover_once())
        if attempt.state.is_dangling and not attempt.state.is_in_doubt:
            await self._reconcile_once(effect_input.input, filled.input)

    # ---- permit ----------------------------------------------------------------------------------------------------

    async def _permit(self) -> None:
        """effect-input.json, then effectAttempted; both durable before the provider hears anything."""
        attempt, run = self.attempt, self.attempt.run
        prepared = self.effect.prepare()
        component = attempt.state.component
        assert component is not None
        effect_input = make_effect_input(
            self.effect.name,
            prepared.canonical_input,
            cwd=str(attempt.working_directory),
            env=run.recorder.resolve(component.env),
            input_secrets=component.secret_pointers,
            env_secrets=component.env_secret_pointers,
        )
        try:
            attempt.use(effect_input.filled(run.environ))
        except MissingSecretError as error:
            raise StepError(step_error("MissingSecret", "userFault", f"{error} Set it and try again.")) from error
        epoch, policy = self._epoch_for(effect_input), self._policy(prepared.canonical_input)
        write_effect_input(attempt.directory, effect_input, run.durability)
        run.recorder.record(
            EffectAttempted(
                **attempt.who,
                idempotency_key=attempt.key(epoch),
                input_hash=effect_input.hash,
                idempotency_ttl_ms=prepared.idempotency_ttl_ms,
                provider=prepared.provider,
                epoch=epoch,
                may_retry=policy.vouches_for_retry,
            ),
            "host_executor",
        )
        await run.recorder.commit()

    def _policy(self, canonical_input: Any) -> EffectPolicy:
        """What the implementation says that can be done about the call; raises what it raises, or TypeError."""
        policy = self.effect.policy(canonical_input)
        if not isinstance(policy, EffectPolicy):
            raise TypeError(f"effect_policy returned {shown(policy)}, which is no EffectPolicy")
        return policy

    def _epoch_for(self, effect_input: EffectInput) -> int:
        """The epoch of this input. One key never stands for two inputs: a changed one takes the next epoch, where the
        effect certainly did not happen or a person asked for it, and is refused everywhere else."""
        state = self.attempt.state
        activity = self.attempt.run.state.activities[state.activity_id]
        if activity.input_hash is None or activity.input_hash == effect_input.hash or state.epoch > activity.sent_epoch:
            return state.epoch
        if not activity.may_change_input:
            message = "The effective input differs from that of the attempt before, which may have had an effect."
            raise StepError(step_error("EffectInputChanged", "manual", message))
        return state.epoch + 1

    # ---- execute and settle ----------------------------------------------------------------------------------------

    async def _settle(self) -> None:
        """Bring the effect to an outcome that is durable, or leave it in doubt."""
        attempt = self.attempt
        assert attempt.state.effect is not None
        effect_input, problem = read_effect_input(attempt.directory, attempt.state.effect.input_hash)
        if effect_input is None:
            await self._doubt(problem)
        try:
            value = await self._filled(effect_input)
            if attempt.inherited:
                await self._recover()
            if attempt.state.is_dangling and attempt.state.settled is None:
                await self._execute(value)
            if attempt.state.is_dangling and not attempt.inherited:
                await self._recover()
            if attempt.state.is_dangling:
                await self._reconcile(effect_input.input, value)
        except _CutShort:
            await self.settle_once()
        except (StorageError, NothingMore, StepError, WorkStopped, asyncio.CancelledError):
            raise
        except Exception as error:
            # Whatever an implementation raises when it is asked about an effect: the attempt cannot end before that of
            # the effect is known, and nobody here can tell.
            if not attempt.state.is_dangling:
                raise
            await self._doubt(error_of_exception(error).error_message)

    async def _filled(self, effect_input: EffectInput) -> Any:
        """The input with its secrets; a missing one says nothing about the effect: it is asked for again."""
        pauses = _pauses()
        while self.attempt.state.is_dangling:
            try:
                filled = effect_input.filled(self.attempt.run.environ)
            except MissingSecretError as error:
                await self._ask_again(str(error), next(pauses))
                continue
            self.attempt.use(filled)
            return filled.input
        return None  # a person has settled it meanwhile

    async def _execute(self, value: Any) -> None:
        """Execute, or learn how the execution of a driver that is gone ended."""
        attempt, run = self.attempt, self.attempt.run
        effect = attempt.state.effect
        assert effect is not None
        started = time.monotonic()
        shortage: StorageError | None = None
        run.under_way.add(attempt.state.activity_id)
        try:
            settled = await self._outcome(value)
        except StorageError as error:
            if run.recorder.failure is not None:
                raise
            shortage = error
            settled = {"outcome": "not_done", "error": step_error(NOT_STARTED, "retryable", error.message)}
        finally:
            run.under_way.discard(attempt.state.activity_id)
        run.recorder.record(
            EffectSettled(
                **attempt.who,
                idempotency_key=effect.idempotency_key,
                latency_ms=round((time.monotonic() - started) * 1000),
                **settled,
            ),
            "host_executor",
        )
        await run.recorder.commit()
        if shortage is not None:
            raise shortage

    async def _outcome(self, value: Any) -> dict[str, Any]:
        attempt = self.attempt
        if attempt.is_being_cancelled and not attempt.inherited:
            return {"outcome": "not_done", "error": attempt.stop_error("cancel")}
        try:
            outcome = checked_outcome(await attempt.supervised(self._work(value)))
        except WorkStopped as stopped:
            return {"outcome": "unknown", "error": attempt.stop_error(stopped.reason)}
        except (StorageError, asyncio.CancelledError):
            raise
        except StepError as error:
            return {"outcome": "unknown", "error": error.error}
        except Exception as error:  # noqa: BLE001 - whatever an implementation raises, its effect is unknown
            return {"outcome": "unknown", "error": error_of_exception(error)}
        match outcome:
            case Succeeded(output):
                return {"outcome": "done", **_carried(output)}
            case Failed():
                return {"outcome": outcome.outcome, **_carried(outcome.output), "error": error_of_outcome(outcome)}
            case Cancelled():
                return {"outcome": "unknown"}

    def _work(self, value: Any) -> Coroutine[Any, Any, DispatchOutcome]:
        attempt = self.attempt
        if attempt.inherited:
            return attempt.adopted(self.effect.adopt(attempt.context(), value))
        return self.effect.execute(attempt.context(), value)

    # ---- reconcile -------------------------------------------------------------------------------------------------

    async def _recover(self) -> None:
        """Have the implementation settle it in its own way, as often as it says that it will be able to."""
        pauses = _pauses()
        while self.attempt.state.is_dangling:
            try:
                result, why = await self.attempt.supervised(self._recover_once(), is_bounded=False)
            except WorkStopped as stopped:
                if stopped.reason == "cancel":
                    raise _CutShort from stopped
                raise
            if self.attempt.state.is_in_doubt:
                self.attempt.leave()
            if not result.has_remaining_dangling:
                return
            if result.had_progress:
                pauses = _pauses()
            if self.attempt.state.is_dangling:
                await self._ask_again(why, next(pauses))

    async def _recover_once(self) -> tuple[RecoveryResult, str]:
        """What one asking has brought, durable, and why it may have to be asked again."""
        run = self.attempt.run
        log = EffectLog(run.recorder, run.attempts_directory, run.under_way.__contains__)
        try:
            result = await uncancelled(run.implementation.recover_dangling_effects(log, run.state))
            why = "it is not settled yet"
            if not isinstance(result, RecoveryResult):
                raise TypeError(f"recover_dangling_effects returned {shown(result)}, which is no RecoveryResult")
        except (StorageError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - an implementation that fails has not told
            result, why = RecoveryResult(has_remaining_dangling=True), error_of_exception(error).error_message
        await run.recorder.commit()
        return result, why

    async def _reconcile(self, canonical_input: Any, value: Any) -> None:
        policy = self._policy(canonical_input)
        if self._is_cancelled():
            await self._reconcile_once(canonical_input, value)
        elif policy.can_look_up:
            await self._look_up(policy, value)
        elif policy.is_idempotent:
            await self._resubmit(value)
        else:
            await self._doubt("NoReconciler")

    def _is_cancelled(self) -> bool:
        stop = self.attempt.state.stop
        return self.attempt.is_being_cancelled or (stop is not None and stop.reason == "cancel")

    async def _reconcile_once(self, canonical_input: Any, value: Any) -> None:
        """What a cancel has time for: one look-up."""
        answer: LookUp = CannotTell("NoReconciler")
        policy, why = EffectPolicy(), "cancelled"
        try:
            policy = self._policy(canonical_input)
            if policy.can_look_up:
                answer = await uncancelled(self.effect.look_up(self.attempt.context(), value))
        except Exception as error:  # noqa: BLE001 - a look-up that fails has not told
            why = error_of_exception(error).error_message
        if not self.attempt.state.is_dangling:
            return  # settled meanwhile
        if isinstance(answer, Found):
            await self._found(answer)
        elif isinstance(answer, Absent) and self._settled_at(policy) <= self.attempt.run.now():
            await self._absent()
        else:
            await self._record_result(outcome="in_doubt", reason=why)

    async def _look_up(self, policy: EffectPolicy, value: Any) -> None:
        pauses = _pauses()
        while self.attempt.state.is_dangling:
            answer = await self._ask(value)
            if not self.attempt.state.is_dangling:
                return  # a person has settled it meanwhile
            match answer:
                case Found():
                    await self._found(answer)
                    return
                case Absent():
                    wait_ms = self._settled_at(policy) - self.attempt.run.now()
                    if wait_ms <= 0:
                        await self._absent()
                        return
                    await self._ask_again("it is absent, which has to settle", wait_ms)
                case Later(reason):
                    await self._ask_again(reason, next(pauses))
                case CannotTell(reason):
                    await self._doubt(reason)

    async def _ask(self, value: Any) -> LookUp:
        attempt = self.attempt
        try:
            answer = await attempt.supervised(self.effect.look_up(attempt.context(), value), is_bounded=False)
        except (StorageError, WorkStopped, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - a look-up that fails has not told
            return Later(error_of_exception(error).error_message)
        if not isinstance(answer, Found | Absent | Later | CannotTell):
            return CannotTell(f"the look-up returned {shown(answer)}, which is no answer")
        return answer

    def _settled_at(self, policy: EffectPolicy) -> int:
        return self.attempt.state.running_since + policy.settle_ms

    async def _found(self, answer: Found) -> None:
        settled = answer.settled
        carried = _carried(settled.output)
        await self._record_result(
            outcome="failed" if settled.outcome in ("not_done", "unknown") else settled.outcome,
            reason="found",
            output=carried["output"],
            evidence=_carried(answer.evidence)["output"],
            error=settled.error or carried.get("error"),
        )

    async def _absent(self) -> None:
        error = step_error("EffectAbsent", "retryable", "The provider says that it did not happen.")
        await self._record_result(outcome="not_done", reason="absent", error=error)

    async def _resubmit(self, value: Any) -> None:
        """Send it again, as often as its time to live allows, until an outcome is known."""
        attempt = self.attempt
        pauses = _pauses()
        while attempt.state.is_dangling:
            if not self._is_alive():
                await self._doubt("IdempotencyExpired")
            attempt.inherited = False
            await self._execute(value)
            if attempt.state.is_dangling:
                await self._ask_again("sent again, and its outcome is still unknown", next(pauses))

    def _is_alive(self) -> bool:
        """Whether the time to live of the key is not over; a clock that went back counts as over."""
        effect = self.attempt.state.effect
        assert effect is not None
        if effect.idempotency_ttl_ms is None:
            return False
        activity = self.attempt.run.state.activities[self.attempt.state.activity_id]
        age = self.attempt.run.wall_clock.now_ms() - activity.first_attempted_at[effect.idempotency_key]
        return 0 <= age < effect.idempotency_ttl_ms

    async def _doubt(self, reason: str) -> NoReturn:
        """Only a person can say what became of the effect: recorded once, and left open."""
        if not self.attempt.state.is_in_doubt:
            await self._record_result(outcome="in_doubt", reason=reason)
        self.attempt.leave()

    async def _record_result(self, **result: Any) -> None:
        effect = self.attempt.state.effect
        assert effect is not None
        self.attempt.run.recorder.record(
            ReconcileResult(**self.attempt.who, idempotency_key=effect.idempotency_key, **result), "supervisor"
        )
        await self.attempt.run.recorder.commit()

    async def _ask_again(self, reason: str, duration_ms: int) -> None:
        """Wait before asking again, and say why. One pass does not wait; a stop or a cancel ends it."""
        by_hand = "`hooks resolve` settles it by hand."
        place = name_in_id(self.attempt.state.activity_id)
        self.attempt.run.tell(f"{place}: {reason.removesuffix('.')}; asked again in {spelt(duration_ms)}. {by_hand}")
        if self.attempt.run.one_pass:
            self.attempt.leave()
        match await self.attempt.pause(duration_ms):
            case "cancel":
                raise _CutShort
            case "interrupt":
                self.attempt.leave()

    # ---- judge -----------------------------------------------------------------------------------------------------

    def _judge(self) -> Any:
        """The output of a settled effect. An outcome that says it did not happen is followed by another attempt."""
        attempt, settled = self.attempt, self.attempt.state.settled
        assert settled is not None
        reconciled = attempt.state.reconciled
        if settled.outcome == "done" and settled.error is None:
            return attempt.run.recorder.resolve(settled.output)
        if settled.outcome == "not_done" and (reconciled is not None or _was_not_started(settled.error)):
            attempt.interrupted(settled.error or step_error("EffectNotDone", "retryable", "It did not happen."))
        raise StepError(settled.error or step_error("EffectFailed", "fatal", f"The effect ended {settled.outcome}."))


def _carried(output: Any) -> dict[str, Any]:
    """The output as the log can carry it; of one that it cannot, that it was lost."""
    try:
        check(output)
    except (JsonBorderError, TypeError) as error:
        message = f"The output is no JSON value: {error}"
        return {"output": None, "error": step_error("InvalidOutput", "fatal", message)}
    return {"output": output}


def _was_not_started(error: ErrorInfo | None) -> bool:
    return error is not None and error.error_code == NOT_STARTED


def _pauses() -> Iterator[int]:
    pause = FIRST_PAUSE_MS
    while True:
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE_MS)
