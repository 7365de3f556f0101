"""Where a sampling loop asks the hooks: one method per hook point, each with the order and the words of that point.

What a hook sees is durable before it is asked, and what it decided before the work it judges starts, as everywhere. A
point whose consequence is in the log already is passed by: its hooks were asked, and what they said was acted upon.
"""

from __future__ import annotations

from typing import Any

from hooks.definition.hook_points import HookType
from hooks.events.payloads import EffectiveValidation, GenerationFinished, GenerationStarted
from hooks.kernel.state import AttemptState, DrawState, LoopState
from hooks.pipeline.effective import logged_changes
from hooks.pipeline.payload_parts import Occasion
from hooks.pipeline.sampling_payloads import (
    Call,
    call_before_hooks,
    changed_call,
    generation_error,
    generation_post_call,
    generation_pre_call,
    raw_results,
    requirements_value,
    sampling_iteration,
    sampling_loop_end,
    sampling_loop_start,
    sampling_repair,
    validation_post_check,
    validation_pre_check,
)
from hooks.runtime.hook_points import HookPoints


class LoopPoints:
    """The points of one attempt's loop. Raise BlockedByHookError, and NothingMore where a person is asked."""

    def __init__(self, points: HookPoints, attempt: AttemptState) -> None:
        self._points = points
        self._attempt = attempt
        self.occasion: Occasion = points.occasion(attempt)

    @property
    def _loop(self) -> LoopState:
        assert self._attempt.loop is not None, "points of a loop come after samplingLoopStarted"
        return self._attempt.loop

    async def loop_start(self) -> int:
        """Ask before the first draw; the budget of draws in force."""
        loop, occasion = self._loop, self.occasion
        started = loop.started
        assert started is not None, "points of a loop come after samplingLoopStarted"
        is_passed = bool(loop.draws) or HookType.SAMPLING_LOOP_START in self._attempt.passed
        if not is_passed:
            await self._points.require(
                HookType.SAMPLING_LOOP_START,
                occasion,
                lambda: sampling_loop_start(occasion, started, loop.started_at),
            )
        changes = logged_changes(self._attempt.hooks, HookType.SAMPLING_LOOP_START, occasion.resolve)
        budget: int = changes.get("loop_budget", started.loop_budget)
        return budget

    def next_draw(self, draw: int, prompt: str) -> Call:
        """What draw number `draw` of a step that asks `prompt` would send, before any hook."""
        return call_before_hooks(self.occasion, number=self._loop.calls + 1, draw=draw, prompt=prompt)

    async def pre_call(self, call: Call) -> Call:
        """Ask before an agent is asked; the call as it is to be made."""
        occasion = self.occasion
        changes = await self._points.require(
            HookType.GENERATION_PRE_CALL,
            occasion,
            lambda: generation_pre_call(occasion, call),
            ordinal=call.number,
            agent=call.agent,
        )
        return changed_call(call, changes)

    async def post_call(self, started: GenerationStarted, finished: GenerationFinished, at: int) -> None:
        """Ask whether an answer may be used."""
        occasion = self.occasion
        await self._points.require(
            HookType.GENERATION_POST_CALL,
            occasion,
            lambda: generation_post_call(occasion, started, finished, at),
            ordinal=started.call,
            agent=started.agent,
        )

    async def call_error(self, started: GenerationStarted, finished: GenerationFinished, at: int) -> None:
        """Tell of a call that failed; its error stands."""
        occasion = self.occasion
        await self._points.ask(
            HookType.GENERATION_ERROR,
            occasion,
            lambda: generation_error(occasion, started, finished, at),
            ordinal=started.call,
            agent=started.agent,
        )

    async def pre_check(self, draw: DrawState) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Ask before an answer is checked; the requirements in force, and options for judges where a hook set some."""
        occasion = self.occasion
        changes = await self._points.require(
            HookType.VALIDATION_PRE_CHECK, occasion, lambda: validation_pre_check(occasion, draw), ordinal=draw.number
        )
        started = self._loop.started
        assert started is not None, "points of a loop come after samplingLoopStarted"
        requirements = changes.get("requirements")
        if requirements is None:
            requirements = requirements_value(occasion, started.requirements)
        return requirements, changes.get("model_options", {})

    async def post_check(self, draw: DrawState) -> list[EffectiveValidation]:
        """Ask after an answer was checked; the verdicts as hooks have left them."""
        occasion = self.occasion
        changes = await self._points.require(
            HookType.VALIDATION_POST_CHECK, occasion, lambda: validation_post_check(occasion, draw), ordinal=draw.number
        )
        results = changes.get("results") or raw_results(occasion, draw)
        return [_effective(result) for result in results]

    async def iteration(self, draw: DrawState) -> None:
        occasion = self.occasion
        await self._points.require(
            HookType.SAMPLING_ITERATION, occasion, lambda: sampling_iteration(occasion, draw), ordinal=draw.number
        )

    async def repair(self, draw: DrawState) -> None:
        occasion = self.occasion
        await self._points.require(
            HookType.SAMPLING_REPAIR, occasion, lambda: sampling_repair(occasion, draw), ordinal=draw.number
        )

    async def loop_end(self, *, may_block: bool) -> None:
        """Tell of the end of the loop, and ask whether its result may be used; there may be none to withhold."""
        loop, occasion = self._loop, self.occasion
        ended = loop.ended
        assert ended is not None, "asked after samplingLoopEnded"
        ask = self._points.require if may_block else self._points.ask
        await ask(HookType.SAMPLING_LOOP_END, occasion, lambda: sampling_loop_end(occasion, ended, loop.ended_at))


def _effective(result: dict[str, Any]) -> EffectiveValidation:
    return EffectiveValidation(
        requirement=result["requirement"]["name"],
        **{name: result[name] for name in ("passed", "effective_passed", "score", "reason", "changed_by")},
    )
