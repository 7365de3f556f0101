"""Mistakes that a type checker finds before a run does.

Each line says which error it must be; one that is none any more fails the check (`warn_unused_ignores`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hooks
from hooks import (
    Agent,
    DispatchContext,
    DispatchOutcome,
    EffectLog,
    Executor,
    Failed,
    Generation,
    GenerationRequest,
    PreparedCall,
    RawVerdict,
    RecoveryResult,
    RequirementCheck,
    RunDirectory,
    RunState,
    SamplingStrategy,
    SubagentNode,
    Succeeded,
    Workflow,
    WorkflowExecutionHooks,
)
from hooks.testing import FakeClock, ScriptedAgent, ask_policy, run_workflow


class Half(WorkflowExecutionHooks):
    """Does not say how an executor call is performed."""

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        return Succeeded(resolved_prompt)


Half()  # type: ignore[abstract]


class Wrong(WorkflowExecutionHooks):
    async def execute_subagent(  # type: ignore[override]
        self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str
    ) -> str:
        return resolved_prompt

    def execute_host_executor(self, ctx: Any, node: Any, parsed_input: Any) -> DispatchOutcome:  # type: ignore[override]
        return Succeeded(None)

    def prepare_host_executor(self, executor_name: str) -> PreparedCall:  # type: ignore[override]
        raise NotImplementedError

    async def recover_dangling_effects(self, log: EffectLog, snapshot: RunState) -> RecoveryResult:
        log.done("wf_key")  # type: ignore[arg-type]
        log.settled(log.dangling[0])  # type: ignore[attr-defined]
        return True  # type: ignore[return-value]


class Silent:
    """No agent: it cannot be asked what a driver that is gone left."""

    honoured_options: frozenset[str] = frozenset()

    async def generate(self, request: GenerationRequest) -> Generation:
        return Generation(request.promt)  # type: ignore[attr-defined]


AGENT: Agent = Silent()  # type: ignore[assignment]


class Idle(Executor):
    """Does nothing that an executor has to."""


EXECUTOR = Idle()  # type: ignore[abstract]


class Careless:
    repair_type = "again"
    is_independent = False


STRATEGY: SamplingStrategy = Careless()  # type: ignore[assignment]


class Blunt:
    async def check(self, text: str, value: Any) -> bool:
        return bool(text)


CHECK: RequirementCheck = Blunt()  # type: ignore[assignment]

Failed("Code", "sometimes", "a class that there is not")  # type: ignore[arg-type]
Failed("Code", "fatal", "an outcome that there is not", "maybe")  # type: ignore[arg-type]
RawVerdict()  # type: ignore[call-arg]
Succeeded("frozen").output = "changed"  # type: ignore[misc]


async def calls(directory: RunDirectory, workflow: Workflow, run: hooks.OpenRun, ctx: DispatchContext) -> None:
    hooks.start_run(workflow, {}, runs_dir=Path())  # type: ignore[call-arg]
    await hooks.run_loop(run, implementation=Half)  # type: ignore[arg-type]
    await hooks.run_loop(directory)  # type: ignore[arg-type]
    await hooks.cancel(directory, "draft")  # type: ignore[call-arg]
    await hooks.resolve(directory, "send", "perhaps")  # type: ignore[arg-type]
    await hooks.sample(ctx, "prompt")  # type: ignore[call-arg]
    hooks.cancel(directory).status  # type: ignore[attr-defined]  # noqa: B018
    hooks.nonsense()  # type: ignore[attr-defined]


run_workflow("…", agents={"writer": ["a list is no agent"]})  # type: ignore[dict-item]
run_workflow("…", clock=0)  # type: ignore[arg-type]
ask_policy(ScriptedAgent([]))  # type: ignore[arg-type, call-arg]
FakeClock().advance("1h")  # type: ignore[arg-type]
