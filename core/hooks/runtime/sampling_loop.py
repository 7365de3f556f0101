"""The sampling loop of an agent step: draw, check, repair, choose.

    loop start -> [ draw -> checks -> iteration -> (failed, budget left) repair ]* -> loop end

Each arrow is an event, and the hook points in between are asked in this order whatever the strategy; the strategy only
says what is asked next and which draw is taken. The loop carries on from what the log says: what is there is not done
again, and a hook point whose consequence is in the log is passed by. Draws that do not depend on each other are made up
to `parallel` at once; all that follows from them follows in their order. How a call is made, and made again, stands in
agent_calls.py.

`sample` is public: an own implementation of `WorkflowExecutionHooks` calls it where it wants the loop, and says in
`agent_for` who answers in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hooks.definition.model import Judge, Requirement, Sampling, SubagentNode
from hooks.definition.requirement_values import (
    OUTPUT_SCHEMA,
    output_schema_requirement,
    requirement_from_json,
    requirement_to_json,
    sampling_from_json,
)
from hooks.errors import UsageError
from hooks.events.payloads import (
    EffectOutcome,
    SamplingIteration,
    SamplingLoopEnded,
    SamplingLoopStarted,
    SamplingRepair,
    Validation,
    ValidationFinished,
)
from hooks.kernel.state import DrawState, LoopState, draw_purpose, judge_purpose, purpose_of
from hooks.pipeline.effective import effective_fields
from hooks.pipeline.sampling_payloads import Call, call_as_made
from hooks.runtime.agent_calls import AgentCalls
from hooks.runtime.check_processes import check_context
from hooks.runtime.execution_hooks import DispatchContext, DispatchOutcome, Failed, Succeeded
from hooks.runtime.hook_points import BlockedByHookError
from hooks.runtime.loop_over import LoopOverError, failed_with
from hooks.runtime.loop_record import LoopRecord
from hooks.runtime.requirements import evaluate
from hooks.runtime.step_errors import NothingMore, step_error
from hooks.sampling.answers import Answer, shown
from hooks.sampling.draws import Draw, Prompt, best_failure
from hooks.sampling.judging import JUDGE_FORMAT, judge_prompt, judge_verdict
from hooks.sampling.strategies import SamplingStrategy, make_strategy
from hooks.sampling.verdicts import CannotEvaluateError, RawVerdict

NOT_OF_THE_FORM = "not checked: the answer is not of the form that output_schema says"


async def sample(ctx: DispatchContext, node: SubagentNode, prompt: str) -> DispatchOutcome:
    """Have the node's agent answer `prompt` until an answer does; every step is in the log before the next begins.

    To be called from `execute_subagent`, once: requirements, strategy, budget, and retries are those of the node, as
    hooks have left them; the hook points of the loop are asked. After a crash the same call goes on where the log ends.
    What comes of it is for `execute_subagent` to return: Succeeded with the answer's value, else its text, or Failed
    (`RequirementsNotMet`, of class userFault, when no draw passed). Called while it is at work for the same step, it
    raises UsageError; left at work when `execute_subagent` returns, it is ended.
    """
    with ctx.loop.turn.taken(ctx.node_id):
        return await _SamplingLoop(ctx, node, prompt).run()


async def settle_draw(ctx: DispatchContext, node: SubagentNode) -> None:
    """Learn what became of the calls that a driver which is gone had begun; without an answer they were interrupted."""
    await AgentCalls(ctx, LoopRecord(ctx, node)).settle_inherited()


class _SamplingLoop:
    def __init__(self, ctx: DispatchContext, node: SubagentNode, prompt: str) -> None:
        self._ctx = ctx
        self._node = node
        self._prompt = prompt
        self._points = ctx.loop.points
        self._log = LoopRecord(ctx, node)
        self._calls = AgentCalls(ctx, self._log)

    @property
    def _loop(self) -> LoopState:
        return self._log.loop

    async def run(self) -> DispatchOutcome:
        await self._calls.settle_inherited()
        try:
            return await self._sample()
        except BlockedByHookError as block:
            return await self._cut_short(_reason_of(block), failed_with(block.error, self._outcome()))
        except LoopOverError as over:
            return await self._cut_short(over.failed.error_message, over.failed)
        except NothingMore:
            await self._calls.landed()
            raise
        finally:
            await self._calls.end()

    async def _cut_short(self, reason: str, failed: Failed) -> Failed:
        await self._calls.end()
        error = step_error(failed.error_code, failed.error_class, failed.error_message, failed.details)
        await self._log.end(reason, error)
        return failed

    def _outcome(self) -> EffectOutcome:
        """What is known of a draw with consequences when the loop ends for another reason than the draw itself."""
        return "done" if self._log.attempt.loop is not None and self._loop.answered else "not_done"

    async def _sample(self) -> DispatchOutcome:
        self._begin()
        sampling, strategy = self._sampling_and_strategy()
        budget = await self._points.loop_start()
        if self._loop.ended is None:
            await self._make_draws(strategy, sampling, budget)
        return await self._result(sampling)

    def _begin(self) -> None:
        if self._log.attempt.loop is not None:
            return
        fields = effective_fields(self._points.occasion)
        strategy, requirements = fields["strategy"], list(fields["requirements"])
        if self._node.output_schema is not None:
            requirements.insert(0, requirement_to_json(output_schema_requirement(self._node.output_schema)))
        sampling = Sampling() if strategy is None else sampling_from_json(strategy)
        self._log.add(
            SamplingLoopStarted(
                **self._log.who,
                strategy_name=type(self._strategy(sampling)).__name__,
                sampling=strategy,
                requirements=requirements,
                loop_budget=sampling.loop_budget,
            )
        )

    def _sampling_and_strategy(self) -> tuple[Sampling, SamplingStrategy]:
        started = self._loop.started
        assert started is not None, "an attempt has its loop from its first event on"
        given = self._ctx.recorder.resolve(started.sampling)
        sampling = Sampling() if given is None else sampling_from_json(given)
        return sampling, self._strategy(sampling)

    def _strategy(self, sampling: Sampling) -> SamplingStrategy:
        try:
            return make_strategy(sampling)
        except UsageError as error:
            raise LoopOverError(Failed("StrategyNotFound", "userFault", error.message, "not_done")) from error

    # ---- draws -----------------------------------------------------------------------------------------------------

    async def _make_draws(self, strategy: SamplingStrategy, sampling: Sampling, budget: int) -> None:
        """Draw and check, in order, until the strategy has enough or the budget is used up."""
        draws: list[Draw] = []
        number = 0
        while not draws or not (number >= budget or strategy.is_enough(draws, budget)):
            if draws and not draws[-1].passed:
                await self._repair(strategy, draws[-1])
            number += 1
            ahead = min(number + sampling.parallel - 1, budget) if strategy.is_independent else number
            await self._answered(number, ahead)
            draws.append(await self._checked(strategy, self._loop.draws[number]))
        chosen = self._choose(strategy, draws)
        best = chosen or best_failure(draws)
        self._log.add(
            SamplingLoopEnded(
                **self._log.who,
                success=chosen is not None,
                draw=None if best is None else best.number,
                iterations=len(draws),
                failure_reason=None if chosen is not None or best is None else _why_not(best),
            )
        )

    async def _answered(self, number: int, ahead: int) -> None:
        """Have draw `number` answered, and those up to `ahead` begun."""
        for other in range(number, ahead + 1):
            if (
                not self._calls.is_under_way(other)
                and not self._is_answered(other)
                and self._calls.failed(draw_purpose(other)) is None
            ):
                await self._start_draw(other)
        while not self._is_answered(number):
            await self._calls.landed(number)
            if (failed := self._calls.failed(draw_purpose(number))) is not None:
                await self._calls.wait_to_repeat(failed)
                await self._start_draw(number)

    def _is_answered(self, number: int) -> bool:
        draw = self._loop.draws.get(number)
        return draw is not None and draw.finished is not None

    async def _start_draw(self, number: int) -> None:
        """Begin a draw, with the permit durable; one that was interrupted is made again as it was permitted."""
        made = self._loop.draws.get(number)
        if made is not None and self._calls.failed(draw_purpose(number)) is None:
            call = call_as_made(self._points.occasion, made.started)
        else:
            call = await self._points.pre_call(self._points.next_draw(number, self._prompt))
        await self._calls.begin(call)

    # ---- checks ----------------------------------------------------------------------------------------------------

    async def _checked(self, strategy: SamplingStrategy, state: DrawState) -> Draw:
        """Have an answered draw checked and counted, as far as the log does not have it."""
        assert state.finished is not None
        if state.validated is None:
            await self._points.post_call(state.started, state.finished, state.finished_at)
            await self._validate(state)
        if state.iteration is None:
            validations = await self._points.post_check(state)
            passed = all(validation.effective_passed for validation in validations)
            self._log.add(SamplingIteration(**self._log.who, draw=state.number, passed=passed, validations=validations))
        if state.repair is None and not self._has_gone_on(strategy, state.number):
            await self._points.iteration(state)
        return self._log.draw(state)

    async def _validate(self, state: DrawState) -> None:
        given, judge_options = await self._points.pre_check(state)
        requirements = self._with_output_schema([requirement_from_json(requirement) for requirement in given])
        answer = self._log.answer(state)
        if requirements:
            # The checks may be commands: what they are about is on disk before they start.
            await self._ctx.recorder.commit()
        try:
            verdicts = await self._verdicts(state, requirements, answer, judge_options)
        except CannotEvaluateError as error:
            fault = step_error("RequirementError", "userFault", str(error))
            raise LoopOverError(failed_with(fault, "done", error.stack_trace)) from error
        self._log.add(
            ValidationFinished(
                **self._log.who,
                draw=state.number,
                requirements=[requirement_to_json(requirement) for requirement in requirements],
                validations=[
                    Validation(
                        requirement=requirement.name, passed=verdict.passed, reason=verdict.reason, score=verdict.score
                    )
                    for requirement, verdict in zip(requirements, verdicts, strict=True)
                ],
            )
        )

    async def _verdicts(
        self, state: DrawState, requirements: list[Requirement], answer: Answer, judge_options: dict[str, Any]
    ) -> list[RawVerdict]:
        """One for each requirement. Raises CannotEvaluateError.

        What is written for answers of the promised form may not be able to say anything of one that is not: that is
        no fault of the check, and has failed with the form.
        """
        verdicts: list[RawVerdict] = []
        for index, requirement in enumerate(requirements, start=1):
            try:
                verdict = await self._verdict(
                    state, requirement, answer, judge_options, f"check-{state.number}-{index}"
                )
            except CannotEvaluateError:
                if not verdicts or requirements[0].name != OUTPUT_SCHEMA or verdicts[0].passed:
                    raise
                verdict = RawVerdict(False, reason=NOT_OF_THE_FORM)
            verdicts.append(verdict)
        return verdicts

    def _with_output_schema(self, requirements: list[Requirement]) -> list[Requirement]:
        """The requirements, the implicit one first: whatever a hook does, output_schema is checked."""
        others = [requirement for requirement in requirements if requirement.name != OUTPUT_SCHEMA]
        if self._node.output_schema is None:
            return others
        return [output_schema_requirement(self._node.output_schema), *others]

    async def _verdict(
        self, state: DrawState, requirement: Requirement, answer: Answer, judge_options: dict[str, Any], place: str
    ) -> RawVerdict:
        if requirement.judge is not None:
            return await self._judged(state, requirement, requirement.judge, answer, judge_options)
        return await evaluate(requirement, answer, check_context(self._ctx, place))

    async def _judged(
        self,
        state: DrawState,
        requirement: Requirement,
        judge: Judge,
        answer: Answer,
        options: dict[str, Any],
    ) -> RawVerdict:
        """Ask a judge, unless it has answered; what it is asked and says is logged like a draw."""
        key, purpose = (state.number, requirement.name), judge_purpose(state.number, requirement.name)
        while key not in self._loop.judged:
            if (failed := self._calls.failed(purpose)) is not None:
                await self._calls.wait_to_repeat(failed)
            call = await self._question(state, requirement, judge, answer, options)
            await self._calls.make(call)
        said = self._loop.judged[key]
        started = self._loop.judging[said.generation_id]
        await self._points.post_call(started, said, state.finished_at)
        resolve = self._ctx.recorder.resolve
        return judge_verdict(requirement, Answer(resolve(said.text), resolve(said.value)))

    async def _question(
        self, state: DrawState, requirement: Requirement, judge: Judge, answer: Answer, options: dict[str, Any]
    ) -> Call:
        """What a judge is asked; a question that was interrupted is put again as it was permitted."""
        asked = [started for started in self._loop.judging.values() if started.draw == state.number]
        asked = [started for started in asked if started.requirement == requirement.name]
        if asked and self._calls.failed(purpose_of(asked[-1])) is None:
            return call_as_made(self._points.occasion, asked[-1])
        return await self._points.pre_call(
            Call(
                number=self._loop.calls + 1,
                draw=state.number,
                agent=judge.agent,
                prompt=judge_prompt(judge.prompt, answer.text),
                model_options=options,
                format=dict(JUDGE_FORMAT),
                purpose="judge",
                requirement=requirement.name,
            )
        )

    # ---- what follows ----------------------------------------------------------------------------------------------

    async def _repair(self, strategy: SamplingStrategy, failed: Draw) -> None:
        """Say what the next draw is asked, and ask the hooks about it."""
        state = self._loop.draws[failed.number]
        if state.repair is None:
            original = Prompt(self._prompt)
            prompt = strategy.repair(original, failed)
            self._log.add(
                SamplingRepair(
                    **self._log.who,
                    draw=failed.number,
                    repair_type=strategy.repair_type,
                    prompt=prompt.text,
                    after=prompt.after,
                )
            )
        if not self._has_gone_on(strategy, failed.number):
            await self._points.repair(state)

    def _has_gone_on(self, strategy: SamplingStrategy, number: int) -> bool:
        """Whether the log shows that all was said about a draw: it has what comes only after that."""
        following = self._loop.draws.get(number + 1)
        return following is not None and (not strategy.is_independent or following.validated is not None)

    def _choose(self, strategy: SamplingStrategy, draws: Sequence[Draw]) -> Draw | None:
        try:
            return strategy.choose(draws)
        except CannotEvaluateError as error:
            raise LoopOverError(failed_with(step_error("RequirementError", "userFault", str(error)), "done")) from error

    async def _result(self, sampling: Sampling) -> DispatchOutcome:
        """What the loop came to, unless a hook withholds it."""
        ended = self._loop.ended
        assert ended is not None
        await self._points.loop_end(may_block=ended.error is None)
        if ended.error is not None:
            return failed_with(ended.error, self._outcome())
        best = None if ended.draw is None else self._log.draw(self._loop.draws[ended.draw])
        assert best is not None, "a loop that ends by itself has a draw"
        if ended.success or (sampling.on_exhausted == "use_best" and self._has_its_form(best)):
            return Succeeded(best.answer)
        message = f"{ended.failure_reason}. {shown(best.text)}"
        return Failed("RequirementsNotMet", "userFault", message, outcome="done")

    def _has_its_form(self, draw: Draw) -> bool:
        """Whether what depends on the step can rely on output_schema, though other checks have failed."""
        return all(verdict.passed for verdict in draw.verdicts if verdict.requirement == OUTPUT_SCHEMA)


def _reason_of(block: BlockedByHookError) -> str:
    """What a policy, or the person it had asked, said."""
    details = block.error.details
    return f"{details['plugin']}: {details['reason']}" if "plugin" in details else block.error.error_message


def _why_not(best: Draw) -> str:
    """What failed of the best draw."""
    return "; ".join(f"{verdict.requirement}: {verdict.reason or 'failed'}" for verdict in best.failures)
