"""What the runtime owes an implementation of one's own, and what it does about one that errs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import hooks
from hooks import (
    DispatchContext,
    DispatchOutcome,
    EffectLog,
    EffectPolicy,
    Failed,
    HostExecutorNode,
    RecoveryResult,
    RunState,
    SubagentNode,
    Succeeded,
    WorkflowExecutionHooks,
)
from hooks.runtime import driving, step
from hooks.testing import FakeClock, ScriptedAgent, WorkflowRun, events, run_workflow

DRAFT = """
workflow_id: notes
version: 1
nodes:
  draft:
    agent: writer
    prompt: Write.
    requirements: [{name: short, check: "size(output) < 6"}]
    sampling: {strategy: repair_template, loop_budget: 3}
"""
SEND = "workflow_id: mail\nversion: 1\nnodes: {send: {executor: mail, input: {to: ann}}}\n"
LOOK = "workflow_id: mail\nversion: 1\nnodes: {look: {executor: mail, read_only: true, input: {to: ann}}}\n"


class Own(WorkflowExecutionHooks):
    """Does what it is given to do; keeps what it was asked."""

    def __init__(self, execute: Callable[[], Any] = lambda: Succeeded("sent")) -> None:
        self.executed: list[str] = []
        self._execute = execute

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        outcome: DispatchOutcome = await self._do(ctx)
        return outcome

    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        outcome: DispatchOutcome = await self._do(ctx)
        return outcome

    async def _do(self, ctx: DispatchContext) -> Any:
        self.executed.append(ctx.idempotency_key)
        given = self._execute()
        return await given if asyncio.iscoroutine(given) else given


def run_with(workflow: str, own: WorkflowExecutionHooks, **options: Any) -> WorkflowRun:
    return run_workflow(workflow, implementation=own, agent_names=["writer"], executor_names=["mail"], **options)


# ---- the sampling loop ---------------------------------------------------------------------------------------------


class Sampling(Own):
    """Has the loop for its agent steps, in which an agent of its own answers, and changes what comes of it."""

    def __init__(self, agent: hooks.Agent) -> None:
        super().__init__()
        self._agent = agent

    def agent_for(self, name: str) -> hooks.Agent | None:
        return self._agent if name == "writer" else None

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        outcome = await hooks.sample(ctx, node, resolved_prompt)
        return Succeeded({"text": outcome.output}) if isinstance(outcome, Succeeded) else outcome


def test_an_implementation_has_the_sampling_loop_by_one_call() -> None:
    writer = ScriptedAgent(["much too long", "doors"])

    run = run_with(DRAFT, Sampling(writer))

    assert run.output == {"draft": {"text": "doors"}}
    assert [draw.passed for draw in run.all(events.SamplingIteration)] == [False, True]
    assert writer.prompts[1].startswith("Write.\n\nAn earlier answer was refused:")


class Stuck(ScriptedAgent):
    """Never gives the second answer."""

    async def generate(self, request: hooks.GenerationRequest) -> hooks.Generation:
        if self.asked:
            self.asked.append(request)
            await asyncio.Event().wait()
        return await super().generate(request)


def test_a_loop_whose_driver_let_go_goes_on_and_pays_no_draw_twice() -> None:
    stuck, writer = Stuck(["much too long"]), ScriptedAgent(["doors"])
    run = run_with(DRAFT.replace("prompt: Write.", "prompt: Write.\n    human_gate: {prompt: Go?}"), Sampling(stuck))

    async def main() -> hooks.RunReport:
        await hooks.approve(run.directory)
        with hooks.open_existing(run.directory) as opened:
            driving = asyncio.ensure_future(hooks.run_loop(opened, implementation=Sampling(stuck)))
            while len(stuck.asked) < 2:  # noqa: ASYNC110 - nobody could set an event
                await asyncio.sleep(0)
            driving.cancel()
            await asyncio.wait([driving])
        return await hooks.recover(run.directory, implementation=Sampling(writer))

    assert asyncio.run(main()).output() == {"draft": {"text": "doors"}}
    assert writer.prompts == [stuck.prompts[1]]


class Twice(Sampling):
    """Calls the loop twice at once."""

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        calls = [hooks.sample(ctx, node, resolved_prompt) for _ in range(2)]
        outcome: DispatchOutcome = (await self.both(calls))[0]
        return outcome

    async def both(self, calls: list[Any]) -> Any:
        return await asyncio.gather(*calls)


class Lenient(Twice):
    async def both(self, calls: list[Any]) -> Any:
        return await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize(("repeatable", "status"), [("", "failed"), ("repeatable: false", "in_doubt")])
def test_a_loop_that_is_asked_for_twice_at_once_is_an_error_of_the_step_and_ends(repeatable: str, status: str) -> None:
    workflow = DRAFT
    if repeatable:
        agents = f"agents: {{writer: {{kind: python, callable: 'a:b', {repeatable}}}}}\n"
        workflow = agents + DRAFT.replace("loop_budget: 3", "loop_budget: 1")
    stuck = Stuck(["much too long"])

    run = run_with(workflow, Twice(stuck))

    assert run.status == status
    assert len(run.all(events.SamplingLoopStarted)) == 1
    assert len(stuck.asked) <= 2
    ended: list[Any] = run.all(events.EffectSettled if repeatable else events.ComponentFailed)
    said = ended[0].error
    assert said is not None
    assert said.error_code == "UsageError"
    assert "`sample` was called while it is at work" in said.error_message


def test_the_loop_that_was_called_first_comes_to_its_end_beside_a_second_one_that_is_refused() -> None:
    writer = ScriptedAgent(["much too long", "doors"])

    assert run_with(DRAFT, Lenient(writer)).output == {"draft": "doors"}
    assert len(writer.asked) == 2


def test_a_loop_that_was_left_to_itself_ends_with_its_step() -> None:
    class Leaving(Sampling):
        async def execute_subagent(
            self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str
        ) -> DispatchOutcome:
            self.left = asyncio.ensure_future(hooks.sample(ctx, node, resolved_prompt))
            while not stuck.asked:  # noqa: ASYNC110 - nobody could set an event
                await asyncio.sleep(0)
            return Succeeded("without it")

    stuck = Stuck(["much too long"])

    own = Leaving(stuck)

    assert run_with(DRAFT, own).output == {"draft": "without it"}
    assert own.left.cancelled()


# ---- an effect is asked for once -----------------------------------------------------------------------------------


async def _forever() -> Any:
    await asyncio.Event().wait()


def let_go(run: WorkflowRun, own: Own) -> None:
    """Drive the run on until the work was begun, and let go of it there."""

    async def main() -> None:
        await hooks.approve(run.directory)
        with hooks.open_existing(run.directory) as opened:
            driving = asyncio.ensure_future(hooks.run_loop(opened, implementation=own))
            while not own.executed:  # noqa: ASYNC110 - nobody could set an event
                await asyncio.sleep(0)
            driving.cancel()
            await asyncio.wait([driving])

    asyncio.run(main())


def begun(workflow: str) -> tuple[WorkflowRun, Own]:
    own = Own(_forever)
    run = run_with(workflow.replace("{to: ann}", "{to: ann}, human_gate: {prompt: Go?}"), own)
    let_go(run, own)
    return run, own


def test_an_effect_whose_driver_is_gone_is_not_asked_for_again() -> None:
    run, first = begun(SEND)
    second = Own()

    report = asyncio.run(hooks.recover(run.directory, implementation=second))

    assert (len(first.executed), second.executed) == (1, [])
    assert report.status.status == "in_doubt"


def test_a_call_that_only_reads_is_asked_for_again() -> None:
    run, _ = begun(LOOK)
    second = Own()

    report = asyncio.run(hooks.recover(run.directory, implementation=second))

    assert report.output() == {"look": "sent"}


class Adopting(Own):
    async def adopt_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome | None:
        return Succeeded(f"adopted {parsed_input['to']}")


def test_an_implementation_may_know_how_the_work_of_a_gone_driver_ended() -> None:
    run, _ = begun(SEND)

    report = asyncio.run(hooks.recover(run.directory, implementation=Adopting()))

    assert report.output() == {"send": "adopted ann"}


class Recovering(Own):
    """Settles what dangles when it has been asked `patience` times; `say` says what it settles it as."""

    def __init__(self, patience: int, say: Callable[[EffectLog], None], *, fails: bool = False) -> None:
        super().__init__()
        self.asked: list[int] = []
        self._patience = patience
        self._say = say
        self._fails = fails

    async def recover_dangling_effects(self, log: EffectLog, snapshot: RunState) -> RecoveryResult:
        self.asked.append(len(log.dangling))
        if len(self.asked) <= self._patience:
            if self._fails:
                raise ConnectionError("the queue is not there")
            return RecoveryResult(has_remaining_dangling=True)
        self._say(log)
        return RecoveryResult(had_progress=True)


@pytest.mark.parametrize("fails", [False, True])
def test_recovery_that_is_not_done_is_asked_again_with_growing_pauses(fails: bool) -> None:
    run, _ = begun(SEND)
    clock = FakeClock()
    own = Recovering(3, lambda log: log.done(log.dangling[0], log.input_of(log.dangling[0])), fails=fails)

    report = asyncio.run(hooks.recover(run.directory, implementation=own, clock=clock))

    assert report.output() == {"send": {"to": "ann"}}
    assert own.asked == [1, 1, 1, 1]
    assert clock.slept_ms == (1 + 2 + 4) * 1_000


@pytest.mark.parametrize(
    ("say", "status", "executed"),
    [
        (lambda log: log.absent(log.dangling[0]), "succeeded", 1),
        (lambda log: log.failed(log.dangling[0], "Bounced", "no such address"), "failed", 0),
        (lambda log: log.in_doubt(log.dangling[0], "the record is gone"), "in_doubt", 0),
        (lambda log: None, "in_doubt", 0),
    ],
)
def test_what_recovery_says_of_an_effect_is_what_becomes_of_it(
    say: Callable[[EffectLog], None], status: str, executed: int
) -> None:
    run, _ = begun(SEND)
    own = Recovering(0, say)

    report = asyncio.run(hooks.recover(run.directory, implementation=own))

    assert report.status.status == status
    assert len(own.executed) == executed


def test_recovery_cannot_settle_what_is_settled() -> None:
    run, _ = begun(SEND)
    kept: list[Exception] = []

    def twice(log: EffectLog) -> None:
        [effect] = log.dangling
        log.done(effect, "once")
        try:
            log.absent(effect)
        except ValueError as error:
            kept.append(error)

    report = asyncio.run(hooks.recover(run.directory, implementation=Recovering(0, twice)))

    assert report.output() == {"send": "once"}
    assert "is not dangling" in str(kept[0])


# ---- an implementation that errs -----------------------------------------------------------------------------------


PLAIN = "workflow_id: notes\nversion: 1\nnodes: {draft: {agent: writer, prompt: Write.}}\n"
NO_OUTCOMES = [
    None,
    "sent",
    Failed("Code", "sometimes", "no such class"),  # type: ignore[arg-type]
    Failed("Code", "fatal", "no such outcome", "maybe"),  # type: ignore[arg-type]
    Failed("Code", "fatal", "no JSON", details={"why": object()}),
]
NO_OUTPUTS = [object(), {"n": float("nan")}, 2**70, {1: 2}]


@pytest.mark.parametrize("given", NO_OUTCOMES)
@pytest.mark.parametrize(("workflow", "status"), [(SEND, "in_doubt"), (LOOK, "failed"), (PLAIN, "failed")])
def test_what_is_no_outcome_is_an_error_of_the_step_and_an_effect_then_unknown(
    workflow: str, status: str, given: object
) -> None:
    run = run_with(workflow, Own(lambda: given))

    assert run.status == status
    asyncio.run(hooks.cancel(run.directory))


@pytest.mark.parametrize("output", NO_OUTPUTS)
@pytest.mark.parametrize("workflow", [SEND, LOOK, PLAIN])
def test_an_output_that_is_no_json_fails_the_step_and_an_effect_was_done(workflow: str, output: object) -> None:
    run = run_with(workflow, Own(lambda: Succeeded(output)))

    [failed] = run.all(events.NodeFailed)
    assert failed.error.error_code == "InvalidOutput"
    assert [settled.outcome for settled in run.all(events.EffectSettled)] == ["done"] * (workflow == SEND)


class Asked(Own):
    """Says something about an effect that it cannot say."""

    def __init__(self, policy: Callable[[], Any], answer: Callable[[], Any]) -> None:
        super().__init__(lambda: Failed("Lost", "retryable", "lost"))
        self._policy = policy
        self._answer = answer

    def effect_policy(self, node: HostExecutorNode, canonical_input: Any, timeout_ms: int | None) -> Any:
        return self._policy()

    async def look_up_effect(self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any) -> Any:
        return self._answer()


@pytest.mark.parametrize("answer", [lambda: None, lambda: "found"])
def test_an_answer_about_an_effect_that_is_none_leaves_it_in_doubt(answer: Callable[[], Any]) -> None:
    own = Asked(lambda: EffectPolicy(can_look_up=True), answer)

    run = run_with(SEND, own)

    assert run.status == "in_doubt"
    assert len(own.executed) == 1


@pytest.mark.parametrize(
    ("policy", "said"),
    [(lambda: None, "effect_policy returned None, which is no EffectPolicy"), (lambda: 1 / 0, "division by zero")],
)
def test_an_effect_of_which_it_cannot_say_what_can_be_done_is_not_begun(policy: Callable[[], Any], said: str) -> None:
    own = Asked(policy, lambda: None)

    run = run_with(SEND, own)

    assert run.status == "failed"
    assert [said in failed.error.error_message for failed in run.all(events.NodeFailed)] == [True]
    assert own.executed == []


def test_a_failure_of_which_it_says_that_nothing_is_left_behind_is_tried_again_by_a_default() -> None:
    class Once(Asked):
        async def execute_host_executor(
            self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
        ) -> DispatchOutcome:
            self.executed.append(parsed_input)
            return Failed("Busy", "retryable", "busy", "failed") if len(self.executed) == 1 else Succeeded(None)

    workflow = SEND.replace("nodes:", "defaults: {retry: {max_attempts: 2, base: 1ms}}\nnodes:")

    assert run_with(workflow, Once(EffectPolicy, lambda: None)).status == "failed"
    assert run_with(workflow, Once(lambda: EffectPolicy(may_retry=True), lambda: None)).status == "succeeded"


def test_what_it_raises_while_it_makes_ready_is_the_users_fault_and_nothing_was_tried() -> None:
    class Strict(Own):
        def prepare_host_executor(self, executor_name: str, resolved_input: Any) -> hooks.PreparedCall:
            raise ValueError("mail needs `subject`")

    run = run_with(SEND, Strict())

    assert run.status == "failed"
    assert [failed.error.error_message for failed in run.all(events.NodeFailed)] == ["mail needs `subject`"]
    assert run.all(events.EffectAttempted) == []


NO_TEXT = "no file b\udcffd"


def raises(error: BaseException) -> Callable[[], Any]:
    def execute() -> Any:
        raise error

    return execute


@pytest.mark.parametrize(
    "execute",
    [
        raises(OSError(NO_TEXT)),
        raises(ExceptionGroup(NO_TEXT, [ValueError(NO_TEXT)])),
        lambda: Failed(NO_TEXT, "fatal", NO_TEXT, stack_trace=NO_TEXT),
        raises(asyncio.CancelledError()),
    ],
)
@pytest.mark.parametrize(("workflow", "status"), [(SEND, "in_doubt"), (LOOK, "failed"), (PLAIN, "failed")])
def test_what_it_raises_of_whatever_making_is_an_error_of_the_step_and_an_effect_then_unknown(
    workflow: str, status: str, execute: Callable[[], Any]
) -> None:
    assert run_with(workflow, Own(execute)).status == status


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_a_fault_that_is_no_text_while_it_makes_ready_is_one_of_the_step(kind: type[Exception]) -> None:
    class Strict(Own):
        def prepare_host_executor(self, executor_name: str, resolved_input: Any) -> hooks.PreparedCall:
            raise kind(NO_TEXT)

    run = run_with(SEND, Strict())

    assert [failed.error.error_message for failed in run.all(events.NodeFailed)] == ["no file b?d"]


def test_nobody_to_answer_is_an_error_of_the_step_whatever_it_says() -> None:
    class Nobody(Sampling):
        def agent_for(self, name: str) -> hooks.Agent | None:
            raise OSError(NO_TEXT)

    assert run_with(DRAFT, Nobody(ScriptedAgent([]))).status == "failed"


class Deaf(Own):
    """Never comes back from anything it is asked because of a cancel."""

    async def recover_dangling_effects(self, log: EffectLog, snapshot: RunState) -> RecoveryResult:
        await asyncio.Event().wait()
        raise AssertionError("nobody wakes it")

    async def end_leftovers(self, ctx: DispatchContext, node: SubagentNode | HostExecutorNode) -> None:
        await asyncio.Event().wait()

    async def on_activities_cancelled(self, activity_ids: Sequence[str], node_ids: Sequence[str], run_id: str) -> None:
        await asyncio.Event().wait()


def test_a_cancel_does_not_wait_for_ever_for_what_never_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (step, driving):
        monkeypatch.setattr(module, "MOMENT_MS", 10)
    run, _ = begun(SEND)

    report = asyncio.run(hooks.cancel(run.directory, grace_ms=1, implementation=Deaf()))

    assert report.status.exit_code == 10


def test_recovery_is_not_asked_about_an_effect_whose_input_is_not_what_was_hashed() -> None:
    run, _ = begun(SEND)
    [sidecar] = run.directory.attempts.glob("*/effect-input.json")
    sidecar.write_text("{}")
    own = Recovering(0, lambda log: log.done(log.dangling[0], "sent"))

    report = asyncio.run(hooks.recover(run.directory, implementation=own))

    assert report.status.status == "in_doubt"
    assert own.asked == []
