"""The sampling loop of an agent step: draw, check; one draw in this version.

It carries on from what the log says: a finished draw is never paid for twice, one that a driver's death cut off is
learned from what it left (its process, its exit.json) or drawn again in the same conversation. `sample` is public: an
implementation of `WorkflowExecutionHooks` of one's own calls it where it wants the loop.
"""

from __future__ import annotations

import re
import time
from typing import Any

from hooks.agents.base import AgentError, Generation, GenerationRequest
from hooks.definition.model import SubagentNode
from hooks.errors import JsonBorderError
from hooks.events.payloads import (
    EffectOutcome,
    GenerationFinished,
    GenerationStarted,
    Validation,
    ValidationFinished,
)
from hooks.ids import generation_id
from hooks.jsonio import parse_strict
from hooks.kernel.retry_rules import MAX_INTERRUPTIONS
from hooks.kernel.state import AttemptState
from hooks.runtime.execution_hooks import DispatchContext, DispatchOutcome, Failed, Succeeded
from hooks.runtime.leftovers import tell_of_leftovers
from hooks.runtime.output_check import schema_problem
from hooks.runtime.work_engine import GenerateWork, WorkEngine


async def sample(ctx: DispatchContext, engine: WorkEngine, node: SubagentNode, prompt: str) -> DispatchOutcome:
    """Have the node's agent answer `prompt` and check the answer; every step is in the log before the next begins."""
    loop = _SamplingLoop(ctx, engine, node, prompt)
    return await loop.run()


async def settle_draw(ctx: DispatchContext, engine: WorkEngine, node: SubagentNode) -> None:
    """Learn what became of the draw that a driver which is gone had begun; without an answer it was interrupted."""
    await _SamplingLoop(ctx, engine, node, "").settle_inherited_draw()


class _SamplingLoop:
    def __init__(self, ctx: DispatchContext, engine: WorkEngine, node: SubagentNode, prompt: str) -> None:
        self._ctx = ctx
        self._engine = engine
        self._node = node
        self._prompt = prompt
        self._who: dict[str, Any] = {
            "activity_id": ctx.activity_id,
            "attempt_id": ctx.attempt_id,
            "node_id": ctx.node_id,
        }

    @property
    def _attempt(self) -> AttemptState:
        return self._ctx.recorder.state.open[self._ctx.activity_id]

    async def run(self) -> DispatchOutcome:
        attempt = self._attempt
        await self.settle_inherited_draw()
        while not attempt.draws and attempt.generation_error is None:
            if attempt.effect is not None and self._ctx.leftover != "none":
                # A draw with consequences, and nothing was learned of it: it is not drawn again.
                return Failed("OutcomeUnknown", "manual", "Nothing is known of how this draw ended.")
            if attempt.interruptions >= MAX_INTERRUPTIONS:
                return _crash_loop(attempt.interruptions)
            await self._draw()
        if attempt.generation_error is not None:
            return _agent_failed(attempt.generation_error)
        return self._judge(attempt)

    async def _draw(self) -> None:
        """Draw once. The permit is durable before the agent is asked."""
        recorder = self._ctx.recorder
        work = self._work(self._prompt)
        recorder.record(
            GenerationStarted(
                **self._who,
                generation_id=generation_id(self._ctx.attempt_id, 1),
                draw=1,
                agent=self._node.agent,
                prompt=self._prompt,
                model_options=dict(self._ctx.model_options),
                format=self._ctx.format,
            )
        )
        await recorder.commit()
        started = time.monotonic()
        try:
            generation: Generation | AgentError = await self._engine.generate(work)
        except AgentError as error:
            generation = error
        self._finish(generation, _elapsed_ms(started))

    async def settle_inherited_draw(self) -> None:
        """Learn what became of an open draw, whose driver is gone; if nothing can be learned, it was interrupted."""
        open_draw = self._attempt.generation
        if open_draw is None:
            return
        work = self._work(self._ctx.recorder.resolve(open_draw.prompt))
        generation: Generation | AgentError | None = None
        if self._ctx.leftover == "trusted":
            started = time.monotonic()
            try:
                generation = await self._engine.reattach_generation(work)
            except AgentError as error:
                generation = error
            if generation is not None:
                self._finish(generation, _elapsed_ms(started))
                return
        ctx = self._ctx
        await self._engine.end_leftovers(ctx.marker, ctx.grace_ms, ctx.directory, ctx.masker)
        self._ctx.recorder.record(
            GenerationFinished(**self._who, generation_id=open_draw.generation_id, draw=1, interrupted=True)
        )

    def _finish(self, generation: Generation | AgentError, latency_ms: int) -> None:
        recorder = self._ctx.recorder
        tell_of_leftovers(self._ctx, generation.leaked)
        if isinstance(generation, AgentError):
            finished = GenerationFinished(
                **self._who,
                generation_id=generation_id(self._ctx.attempt_id, 1),
                draw=1,
                latency_ms=latency_ms,
                error=generation.error,
                stack_trace=generation.stack_trace,
            )
        else:
            finished = GenerationFinished(
                **self._who,
                generation_id=generation_id(self._ctx.attempt_id, 1),
                draw=1,
                text=generation.text,
                value=generation.value,
                model=generation.model,
                usage=None if generation.usage is None else dict(generation.usage),
                finish_reason=generation.finish_reason,
                latency_ms=latency_ms,
            )
        recorder.record(finished, "worker")

    def _work(self, prompt: str) -> GenerateWork:
        ctx = self._ctx
        return GenerateWork(
            self._node.agent,
            GenerationRequest(
                prompt=prompt,
                model_options=ctx.model_options,
                format=ctx.format,
                directory=ctx.directory,
                working_directory=ctx.working_directory,
                workflow_directory=ctx.workflow_directory,
                marker=ctx.marker,
                key=ctx.idempotency_key,
                grace_ms=ctx.grace_ms,
                environment=ctx.environment,
                hidden=ctx.hidden,
                masker=ctx.masker,
                on_kill=ctx.on_kill,
            ),
        )

    def _judge(self, attempt: AttemptState) -> DispatchOutcome:
        """Check the answer against output_schema, the one requirement of this version."""
        draw = attempt.draws[-1]
        recorder = self._ctx.recorder
        text, value = recorder.resolve(draw.text), recorder.resolve(draw.value)
        schema = self._node.output_schema
        if schema is None:
            return Succeeded(text if value is None else value)
        if value is None:
            value, reason = _parse_answer(text)
        else:
            reason = None
        if reason is None:
            reason = schema_problem(schema, value)
        if attempt.validated is None:
            verdict = Validation(requirement="output_schema", passed=reason is None, reason=reason)
            recorder.record(ValidationFinished(**self._who, draw=draw.draw, validations=[verdict]))
        if reason is None:
            return Succeeded(value)
        return Failed("RequirementsNotMet", "userFault", f"output_schema: {reason}. {_shown(text)}", outcome="done")


_FENCED = re.compile(r"^[ \t]*```[^`\n]*\n(?P<body>.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
_SHOWN = 300


def _parse_answer(text: str) -> tuple[Any, str | None]:
    """The JSON value an answer holds, alone or as its only fenced block, and why there is none."""
    if not text.strip():
        return None, "the answer is empty"
    try:
        return parse_strict(text.strip().encode()), None
    except (JsonBorderError, UnicodeEncodeError) as error:
        reason = f"the answer is not JSON: {error}"
    blocks = [match["body"] for match in _FENCED.finditer(text)]
    if len(blocks) != 1:
        return None, f"{reason}; it has {len(blocks)} fenced blocks, of which one would do" if blocks else reason
    try:
        return parse_strict(blocks[0].strip().encode()), None
    except (JsonBorderError, UnicodeEncodeError) as error:
        return None, f"the fenced block of the answer is not JSON: {error}"


def _shown(text: str) -> str:
    """The beginning of an answer, for whoever has to see why it did not do."""
    if not text.strip():
        return "The agent printed nothing."
    more = f"… (+{len(text) - _SHOWN:,} characters)" if len(text) > _SHOWN else ""
    return f"The answer: {text[:_SHOWN]!r}{more}"


def _agent_failed(finished: GenerationFinished) -> Failed:
    assert finished.error is not None
    error = finished.error
    outcome = _OUTCOMES.get(error.error_code, "failed")
    return Failed(error.error_code, error.error_class, error.error_message, outcome, stack_trace=finished.stack_trace)


_OUTCOMES: dict[str, EffectOutcome] = {
    "CouldNotStart": "not_done",
    "UnknownModelOption": "not_done",
    "Signalled": "unknown",
    "OutcomeUnknown": "unknown",
}
"""What an agent's error says of a draw that has consequences; whatever else it says, it said so itself."""


def _crash_loop(interruptions: int) -> Failed:
    return Failed(
        "DriverCrashLoop", "fatal", f"The driver died {interruptions} times in a row while this agent was answering."
    )


def _elapsed_ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
