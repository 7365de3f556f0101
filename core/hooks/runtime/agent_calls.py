"""The calls of agents in a sampling loop: permitted, made, and their ends put down; of draws and of judges.

`generationStarted` is on disk before an agent is asked, so that a finished call is never paid for twice, and one that a
driver's death cut off is learned from what it left (its process, its exit.json) or made again as it was permitted. A
call that fails in a way that may pass is made again in the same loop when its delay is over: until then the attempt
stands still, and holds neither a slot nor a driver.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from hooks.agents.base import AgentError, Generation, GenerationRequest, Message
from hooks.events.payloads import (
    EffectOutcome,
    ErrorInfo,
    GenerationFinished,
    GenerationRetryScheduled,
    GenerationStarted,
)
from hooks.ids import ActivityId, call_directory, generation_id
from hooks.kernel.retry_rules import MAX_INTERRUPTIONS, delay_ms, may_call_again
from hooks.kernel.state import FailedCall, LoopState, purpose_of
from hooks.pipeline.payload_parts import conversation
from hooks.pipeline.sampling_payloads import Call, call_as_made, turn_before
from hooks.runtime.execution_hooks import DispatchContext, Failed
from hooks.runtime.leftovers import tell_of_leftovers
from hooks.runtime.loop_over import LoopOverError, failed_with
from hooks.runtime.loop_record import LoopRecord
from hooks.runtime.step_errors import NothingMore
from hooks.runtime.work_engine import GenerateWork


class AgentCalls:
    """The calls of one loop; those of draws may be under way at once."""

    def __init__(self, ctx: DispatchContext, log: LoopRecord) -> None:
        self._ctx = ctx
        self._engine = ctx.loop.engine
        self._points = ctx.loop.points
        self._log = log
        self._flying: dict[int, asyncio.Task[None]] = {}
        """Draws that are being made, by number."""

    @property
    def _loop(self) -> LoopState:
        return self._log.loop

    def is_under_way(self, draw: int) -> bool:
        return draw in self._flying

    def failed(self, purpose: str) -> FailedCall | None:
        """The call that failed last for a purpose, and has not been made again."""
        return self._loop.failed.get(purpose)

    async def begin(self, call: Call) -> None:
        """Begin a draw, with the permit durable."""
        await self._permit(call)
        self._flying[call.draw] = asyncio.ensure_future(self._perform(call))

    async def make(self, call: Call) -> None:
        """Make a call, with the permit durable, and return when its end is noted."""
        await self._permit(call)
        await self._perform(call)

    async def _permit(self, call: Call) -> None:
        attempt = self._log.attempt
        if attempt.interruptions >= MAX_INTERRUPTIONS:
            raise LoopOverError(_crash_loop(attempt.interruptions))
        if self._log.is_effect and self._ctx.leftover != "none":
            # A draw with consequences, and nothing was learned of it: it is not drawn again.
            raise LoopOverError(Failed("OutcomeUnknown", "manual", "Nothing is known of how this draw ended."))
        self._log.add(
            GenerationStarted(
                **self._log.who,
                generation_id=generation_id(self._ctx.attempt_id, call.number),
                draw=call.draw,
                call=call.number,
                purpose=call.purpose,
                requirement=call.requirement,
                agent=call.agent,
                prompt=call.prompt,
                after=call.after,
                model_options=dict(call.model_options),
                format=call.format,
                tool_calls_enabled=call.tool_calls_enabled,
            )
        )
        await self._ctx.recorder.commit()

    async def _perform(self, call: Call) -> None:
        started = time.monotonic()
        try:
            generation: Generation | AgentError = await self._engine.generate(self._work(call))
        except AgentError as error:
            generation = error
        self._finish(call, generation, _elapsed_ms(started))

    def _finish(self, call: Call, generation: Generation | AgentError, latency_ms: int) -> None:
        tell_of_leftovers(self._ctx, generation.leaked)
        finished = GenerationFinished(
            **self._log.who,
            generation_id=generation_id(self._ctx.attempt_id, call.number),
            draw=call.draw,
            latency_ms=latency_ms,
            **_said(generation),
        )
        self._ctx.recorder.record(finished, "worker")

    async def wait_to_repeat(self, failed: FailedCall) -> None:
        """Return when a call that failed is to be made again. Raises NothingMore until then, LoopOverError if never."""
        state, services = self._ctx.recorder.state, self._ctx.loop
        was_told = self._ctx.activity_id in state.pauses
        if was_told and not state.halted:
            return
        if not was_told:
            await self._points.call_error(failed.started, failed.finished, failed.at)
        error = failed.finished.error
        assert error is not None
        failures = self._loop.failures[purpose_of(failed.started)]
        if self._log.is_effect or state.halted or not may_call_again(error, failures, services.retry):
            raise LoopOverError(_agent_failed(failed.finished, error))
        await self.landed()
        delay = delay_ms(services.retry, ActivityId(f"{self._ctx.activity_id}#{failed.started.draw}"), failures)
        self._log.add(
            GenerationRetryScheduled(
                **self._log.who,
                generation_id=failed.finished.generation_id,
                draw=failed.finished.draw,
                delay_ms=delay,
                due_at=services.now() + delay,
            )
        )
        await self._ctx.recorder.commit()
        raise NothingMore

    # ---- calls of a driver that is gone ----------------------------------------------------------------------------

    async def settle_inherited(self) -> None:
        """Learn what became of open calls; those of which nothing can be learned were interrupted."""
        loop = self._log.attempt.loop
        for started in [] if loop is None else [*loop.open.values()]:
            await self._settle(call_as_made(self._points.occasion, started))

    async def _settle(self, call: Call) -> None:
        work = self._work(call)
        generation: Generation | AgentError | None = None
        if self._ctx.leftover == "trusted":
            started = time.monotonic()
            try:
                generation = await self._engine.reattach_generation(work)
            except AgentError as error:
                generation = error
            if generation is not None:
                self._finish(call, generation, _elapsed_ms(started))
                return
        request = work.request
        await self._engine.end_leftovers(request.marker, request.grace_ms, request.directory, request.masker)
        self._log.add_interrupted(call.number, call.draw)

    async def landed(self, *numbers: int) -> None:
        """Return when these draws, or else all, are not under way any more; each has its end in the log."""
        flying = [self._flying[number] for number in numbers or [*self._flying] if number in self._flying]
        if flying:
            # Not awaited one by one: whoever is cancelled here ends them all at once (`end`).
            await asyncio.wait(flying)
        for number in [number for number, task in self._flying.items() if task in flying]:
            self._flying.pop(number).result()

    async def end(self) -> None:
        """End the draws that are under way and not wanted any more, all at once.

        Cancelled meanwhile, it passes that on: their processes get no more grace, and have ended before this returns.
        """
        flying = [*self._flying.values()]
        hurry: asyncio.CancelledError | None = None
        for task in flying:
            task.cancel()
        while waiting := [task for task in flying if not task.done()]:
            try:
                await asyncio.wait(waiting)
            except asyncio.CancelledError as again:
                hurry = again
                for task in waiting:
                    task.cancel()
        self._flying.clear()
        if hurry is not None:
            raise hurry
        for task in flying:
            if not task.cancelled() and (fault := task.exception()) is not None:
                raise fault

    def _work(self, call: Call) -> GenerateWork:
        ctx, resolve = self._ctx, self._ctx.recorder.resolve
        turn = (
            turn_before(self._points.occasion, self._log.attempt.loop, call.after) if call.purpose == "draw" else None
        )
        return GenerateWork(
            call.agent,
            GenerationRequest(
                prompt=call.prompt,
                context=[Message(**message) for message in conversation(turn, resolve)],
                model_options=call.model_options,
                format=call.format,
                tool_calls_enabled=call.tool_calls_enabled,
                directory=ctx.directory.parent / call_directory(ctx.directory.name, call.number),
                working_directory=ctx.working_directory,
                workflow_directory=ctx.workflow_directory,
                marker=ctx.loop.marker_of(call.number),
                key=ctx.loop.key_of(call.number),
                grace_ms=ctx.grace_ms,
                environment=ctx.environment,
                hidden=ctx.hidden,
                masker=ctx.masker,
                on_kill=ctx.on_kill,
            ),
        )


def _said(generation: Generation | AgentError) -> dict[str, Any]:
    if isinstance(generation, AgentError):
        return {"error": generation.error, "stack_trace": generation.stack_trace}
    return {
        "text": generation.text,
        "value": generation.value,
        "model": generation.model,
        "usage": None if generation.usage is None else dict(generation.usage),
        "finish_reason": generation.finish_reason,
    }


def _agent_failed(finished: GenerationFinished, error: ErrorInfo) -> Failed:
    return failed_with(error, _OUTCOMES.get(error.error_code, "failed"), finished.stack_trace)


_OUTCOMES: dict[str, EffectOutcome] = {
    **dict.fromkeys(
        ("CouldNotStart", "ExtraNotInstalled", "MissingKey", "PromptNotText", "UnknownModelOption"), "not_done"
    ),
    **dict.fromkeys(("Signalled", "AgentTimeout", "ConnectionFailed", "ConnectionTimeout", "StreamEnded"), "unknown"),
    "OutcomeUnknown": "unknown",
}
"""What an agent's error says of a draw that has consequences; whatever else it says, it said so itself."""


def _crash_loop(interruptions: int) -> Failed:
    return Failed(
        "DriverCrashLoop", "fatal", f"The driver died {interruptions} times in a row while this agent was answering."
    )


def _elapsed_ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
