"""What a type checker knows of a program that embeds the runtime: every public name, used as a third party would.

Checked by mypy, never run, as `hooks_in_python.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_type

import hooks
from hooks import (
    Absent,
    Agent,
    AgentError,
    Cancelled,
    CannotEvaluateError,
    CannotTell,
    Clock,
    DispatchContext,
    DispatchOutcome,
    Draw,
    EffectCall,
    EffectLog,
    EffectPolicy,
    ErrorInfo,
    Event,
    Executor,
    Failed,
    Found,
    Generation,
    GenerationRequest,
    HookEntry,
    HostExecutorNode,
    InputError,
    Later,
    LookUp,
    Message,
    OpenRun,
    Prepared,
    PreparedCall,
    Prompt,
    RawVerdict,
    RecoveryResult,
    Registered,
    Requirement,
    RequirementCheck,
    RunDirectory,
    RunReport,
    RunState,
    RunView,
    Sampling,
    SamplingStrategy,
    Settled,
    SubagentNode,
    Succeeded,
    Verdict,
    Workflow,
    WorkflowExecutionHooks,
)

# ---- everything that can be implemented ----------------------------------------------------------------------------


class Echo:
    """An agent."""

    @property
    def honoured_options(self) -> frozenset[str]:
        return frozenset({"temperature"})

    async def generate(self, request: GenerationRequest) -> Generation:
        assert_type(request.context, Sequence[Message])
        if not request.prompt:
            raise AgentError(ErrorInfo(error_code="Empty", error_class="userFault", error_message="no prompt"))
        return Generation(request.prompt, model="echo", usage={"input_tokens": len(request.prompt)})

    async def adopt(self, request: GenerationRequest) -> Generation | None:
        return None


AN_AGENT: Agent = Echo()


class Mail(Executor):
    """An executor; what it does not say is as for one that can neither look up a call nor repeat one."""

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        if "to" not in resolved_input:
            raise InputError("mail needs `to`")
        return Prepared(resolved_input, "smtp", idempotency_ttl_ms=60_000)

    async def execute(self, call: EffectCall) -> Settled:
        return Settled("done", {"key": call.key})

    def can_look_up(self, canonical_input: Mapping[str, Any]) -> bool:
        return True

    async def look_up(self, call: EffectCall) -> LookUp:
        match call.input["to"]:
            case "ann":
                return Found(Settled("done"), evidence={"seen": True})
            case "ben":
                return Absent()
            case "cyd":
                return Later("not reachable")
            case _:
                return CannotTell("nobody keeps a record")


AN_EXECUTOR: Executor = Mail()


class Twice:
    """A strategy."""

    repair_type: hooks.RepairType = "rejection"
    is_independent: bool = False

    def repair(self, original: Prompt, failed: Draw) -> Prompt:
        assert_type(failed.verdicts, Sequence[Verdict])
        return Prompt(f"{original.text}\nNot: {failed.text}")

    def is_enough(self, draws: Sequence[Draw], loop_budget: int) -> bool:
        return len(draws) == 2

    def choose(self, draws: Sequence[Draw]) -> Draw | None:
        return draws[-1] if draws[-1].passed else None


A_STRATEGY: SamplingStrategy = Twice()


class Polite:
    """A check of a requirement."""

    async def check(self, text: str, value: Any) -> RawVerdict:
        if not text:
            raise CannotEvaluateError("polite", "there is no text")
        return RawVerdict("please" in text, score=0.5, reason="say please")


A_CHECK: RequirementCheck = Polite()


class Still:
    """A clock."""

    def now_ms(self) -> int:
        return 0

    async def sleep_ms(self, duration_ms: int) -> None: ...


A_CLOCK: Clock = Still()


class Least(WorkflowExecutionHooks):
    """An implementation, with nothing that may be left out."""

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        return await hooks.sample(ctx, node, resolved_prompt)

    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        if ctx.attempt > 1:
            return Cancelled("event-1")
        return Failed("No", "fatal", "never", "not_done")


class Most(Least):
    """An implementation, with everything that there is."""

    def agent_for(self, name: str) -> Agent | None:
        return Echo() if name == "writer" else None

    def prepare_host_executor(self, executor_name: str, resolved_input: Any) -> PreparedCall:
        return PreparedCall(resolved_input, resolved_input, "queue", 60_000)

    def prepare_in(self, working_directory: Path, executor_name: str, resolved_input: Any) -> PreparedCall:
        return self.prepare_host_executor(executor_name, resolved_input)

    def effect_policy(self, node: HostExecutorNode, canonical_input: Any, timeout_ms: int | None) -> EffectPolicy:
        return EffectPolicy(can_look_up=True, settle_ms=1_000)

    async def look_up_effect(self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any) -> LookUp:
        return Later("not now")

    async def adopt_subagent(
        self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str
    ) -> DispatchOutcome | None:
        return Succeeded("an answer")

    async def adopt_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome | None:
        return None

    async def recover_dangling_effects(self, log: EffectLog, snapshot: RunState) -> RecoveryResult:
        for effect in log.dangling:
            assert_type(effect, hooks.EffectAttempted)
            assert_type(effect.idempotency_key, str)
            log.done(effect, {"id": 7}, evidence={"input": log.input_of(effect)})
            log.failed(effect, "No", "it said no", error_class="retryable")
            log.absent(effect)
            log.in_doubt(effect, "who knows")
        return RecoveryResult(had_progress=True, has_remaining_dangling=False)

    async def end_leftovers(self, ctx: DispatchContext, node: SubagentNode | HostExecutorNode) -> None: ...

    async def on_activities_cancelled(
        self, activity_ids: Sequence[str], node_ids: Sequence[str], run_id: str
    ) -> None: ...


# ---- everything that can be called ---------------------------------------------------------------------------------


async def a_program(here: Path, plugins: Sequence[Registered]) -> None:
    workflow = hooks.load_workflow(here / "w.yaml", agents=["writer"], executors=["mail"])
    assert_type(workflow, Workflow)
    entries = hooks.load_hooks_file(here / "hooks.yaml")
    assert_type(entries, list[HookEntry])
    with hooks.start_run(
        workflow,
        hooks.resolve_params(workflow, file_values={"to": "ann"}, environ={}),
        runs_dir=here,
        workflow_directory=here,
        working_directory=here,
        initiator="me",
        hook_entries=entries,
        clock=Still(),
    ) as run:
        assert_type(run, OpenRun)
        report = await hooks.run_loop(run, implementation=Most(), plugins=plugins, on_event=_told)
        assert_type(report, RunReport)
        assert_type(report.output(), dict[str, Any])
        assert_type(await hooks.run_tick(run, implementation=Least()), RunReport)
        assert_type(await hooks.drive_async(run), RunReport)
    directory = hooks.find_run(here, "last")
    assert_type(directory, RunDirectory)
    assert_type(hooks.list_runs(here), list[RunDirectory])
    assert_type(await hooks.recover(directory, implementation=Most(), take_over=True), RunReport)
    assert_type(await hooks.cancel(directory, node="draft", grace_ms=10, implementation=Most()), RunReport)
    assert_type(await hooks.approve(directory, "draft", digest="12ab", by="ann"), RunReport)
    assert_type(await hooks.reject(directory, comment="no"), RunReport)
    assert_type(await hooks.resolve(directory, "send", "done", output={"id": 7}), RunReport)
    assert_type(await hooks.retry(directory, implementation=Most()), RunReport)
    assert_type(hooks.start_rerun(hooks.read_run(directory), "send", initiator="me", repeat_effects=True), OpenRun)


def looking(directory: RunDirectory) -> None:
    view = hooks.read_run(directory)
    assert_type(view, RunView)
    assert_type(view.state, RunState)
    events = hooks.read_events(directory)
    assert_type(events, Iterator[Event])
    state = hooks.fold(hooks.initial_state("r", view.definition), events)
    for event in hooks.watch_run(directory):
        assert_type(hooks.apply(state, event), RunState)
    for action in hooks.decide(state, view.definition, 0):
        print(action)
    for event, divergence in hooks.replay_run(directory):
        print(event.seq, divergence)
    assert_type(hooks.verify_run(directory), list[hooks.Finding])
    with hooks.open_existing(directory) as run:
        assert_type(hooks.drive(run), RunReport)


async def on_history(directory: RunDirectory, plugins: Sequence[Registered]) -> None:
    assert_type(await hooks.backtest_run(directory, [], plugins=plugins), hooks.Backtested)


def errors(error: hooks.HooksError) -> str:
    match error:
        case hooks.DefinitionError():
            return "\n".join(problem.message for problem in error.problems)
        case hooks.MissingPerformerError():
            return error.message
        case hooks.UsageError() | hooks.NotFoundError() | hooks.RefusedError() | hooks.QueuedError():
            return error.message
        case hooks.RunLockedError() | hooks.InDoubtError() | hooks.CorruptRunError() | hooks.StorageError():
            return error.fix or ""
        case hooks.PluginViolationError():
            return error.reason
        case _:
            return str(error.exit_code)


A_REQUIREMENT = Requirement(name="short", check="size(output) < 6")
A_SAMPLING = Sampling(strategy="best_of", loop_budget=3, parallel=2)


def _told(event: Event) -> None:
    assert_type(event.seq, int)
