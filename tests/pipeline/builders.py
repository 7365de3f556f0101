"""A run with an agent step and an executor call under way, folded from events, and pipelines over real hook files."""

from __future__ import annotations

import asyncio
import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks.definition.graph import build_graph
from hooks.definition.model import CommandAgent, HookEntry, HostExecutorNode, SubagentNode, Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import (
    AttemptCreated,
    ComponentFailed,
    ComponentStarted,
    ComponentSucceeded,
    EffectiveValidation,
    ErrorInfo,
    GenerationFinished,
    GenerationStarted,
    Payload,
    RunStarted,
    SamplingIteration,
    SamplingLoopStarted,
    SamplingRepair,
    Validation,
    ValidationFinished,
)
from hooks.ids import NodeId, RunId, attempt_id, generation_id, work_activity
from hooks.kernel.apply import apply
from hooks.kernel.state import DecidedHook, RunState
from hooks.kernel.walk import initial_state
from hooks.pipeline.dispatch import Dispatch, Subject, Verdict
from hooks.pipeline.hook_set import resolve_hook_set
from hooks.pipeline.payload_parts import Occasion
from hooks.pipeline.payloads import component_post_error, component_post_success, component_pre_execute
from hooks.pipeline.pipeline import Pipeline
from hooks.testing import run_created

RUN = RunId("notes-20260101T120000Z-4f8a2c")
START = 1_767_268_800_000
WRITER = CommandAgent(name="writer", argv=["writer"], options={"temperature": ["-t", "{value}"]})
DRAFT = SubagentNode(id="draft", agent="writer", prompt="Write.", metadata={"team": "docs"})
PUBLISH = HostExecutorNode(id="publish", executor="file", input={"path": "NOTES.md"})
WORKFLOW = Workflow(
    workflow_id="notes", version=1, agents=[WRITER], nodes=[DRAFT, PUBLISH], metadata={"team": "all", "tier": 1}
)
SUBJECTS = {
    "draft": Subject(workflow="notes", node_id="draft", component_type="AgentStep", agent="writer"),
    "publish": Subject(workflow="notes", node_id="publish", component_type="HostExecutorCall", executor="file"),
}
POINTS = ("component_pre_execute", "component_post_success", "component_post_error")


def started_run(**changed: Any) -> RunState:
    """A run in which both nodes have begun; `changed` replaces fields of the agent step's componentStarted."""
    state = initial_state(RUN, build_graph(WORKFLOW.nodes))
    created = run_created("notes", params={"since": "v1"}, metadata={"ticket": "T-1"})
    for payload in (created, RunStarted()):
        add(state, payload)
    agent_step = {"component_type": "AgentStep", "bound": "Write.", "model_options": {"temperature": 1}, **changed}
    add(state, AttemptCreated(**who("draft"), attempt=1))
    add(state, ComponentStarted(**who("draft"), **agent_step))
    add(state, AttemptCreated(**who("publish"), attempt=1))
    add(state, ComponentStarted(**who("publish"), component_type="HostExecutorCall", bound={"path": "NOTES.md"}))
    return state


def drawn(state: RunState, text: Any = "Notes.") -> RunState:
    """The agent step has had one draw."""
    draw = generation_id(attempt_id(work_activity(RUN, NodeId("draft")), 1), 1)
    add(
        state,
        GenerationStarted(
            **who("draft"),
            generation_id=draw,
            draw=1,
            agent="writer",
            prompt="Write.",
            model_options={"temperature": 1},
        ),
    )
    finished = GenerationFinished(
        **who("draft"), generation_id=draw, draw=1, text=text, model="m", usage={"tokens": 7}, latency_ms=12
    )
    add(state, finished)
    return state


REQUIREMENT = {"name": "short", "origin": "node", "reason": "Too long.", "weight": 2.0, "check": "size(output) < 3"}


def sampled() -> RunState:
    """The agent step is in a loop of two draws: the first was refused and repaired, the second one stands open."""
    state = started_run(requirements=[REQUIREMENT], strategy={"strategy": "repair_template", "loop_budget": 2})
    draft = who("draft")
    started = SamplingLoopStarted(
        **draft,
        strategy_name="RepairTemplateStrategy",
        sampling={"strategy": "repair_template", "loop_budget": 2},
        requirements=[REQUIREMENT],
        loop_budget=2,
    )
    add(state, started)
    drawn(state)
    verdict = Validation(requirement="short", passed=False, reason="Too long.")
    add(state, ValidationFinished(**draft, draw=1, requirements=[REQUIREMENT], validations=[verdict]))
    counted = EffectiveValidation(requirement="short", passed=False, reason="Too long.", effective_passed=False)
    add(state, SamplingIteration(**draft, draw=1, passed=False, validations=[counted]))
    add(state, SamplingRepair(**draft, draw=1, repair_type="template", prompt="Write. Shorter."))
    add(
        state,
        GenerationStarted(
            **draft,
            generation_id=f"{draft['attempt_id']}::gen-2",
            draw=2,
            call=2,
            agent="writer",
            prompt="Write. Shorter.",
        ),
    )
    return state


def add(state: RunState, payload: Payload) -> None:
    apply(state, Event(state.seq + 1, START + state.seq, "scheduler", payload, state.seq + 1))


def who(node: str) -> dict[str, Any]:
    activity = work_activity(RUN, NodeId(node))
    return {"activity_id": activity, "attempt_id": attempt_id(activity, 1), "node_id": node}


def occasion(state: RunState, node: str = "draft", resolve: Callable[[Any], Any] = lambda value: value) -> Occasion:
    attempt = state.open[work_activity(RUN, NodeId(node))]
    return Occasion(state, WORKFLOW, DRAFT if node == "draft" else PUBLISH, attempt, resolve)


def document_at(point: str, node: str = "draft", state: RunState | None = None) -> dict[str, Any]:
    """The payload of a hook point of this run."""
    if state is None:
        state = started_run()
        if node == "draft" and point == "component_post_success":
            drawn(state)
    here = occasion(state, node)
    match point:
        case "component_pre_execute":
            return component_pre_execute(here)
        case "component_post_success":
            return component_post_success(here, ComponentSucceeded(**who(node), output="Notes.", latency_ms=34), START)
        case _:
            error = ErrorInfo(error_code="AgentError", error_class="retryable", error_message="rate limit")
            failed = ComponentFailed(**who(node), error=error, stack_trace="at line 1", latency_ms=5)
            return component_post_error(here, failed, START)


@dataclass
class HookFiles:
    """A directory of hook files, and the pipelines made of them."""

    directory: Path

    def script(self, name: str, text: str, *, mode: int = 0o755) -> str:
        """Write an executable sh script (or whatever its first line says); return what goes into argv."""
        body = textwrap.dedent(text)
        path = self.directory / name
        path.write_text(body if body.startswith("#!") else f"#!/bin/sh\n{body}")
        path.chmod(mode)
        return f"./{name}"

    def module(self, name: str, text: str) -> None:
        """Write a Python file that has the words of hooks at hand."""
        words = ("verdicts", "declaring", "plugins", "hook_points")
        head = "import asyncio, time, threading\n" + "".join(f"from hooks.pipeline.{name} import *\n" for name in words)
        (self.directory / name).write_text(head + textwrap.dedent(text))

    def entry(
        self, name: str = "policy", on: str | Sequence[str] = "component_pre_execute", **fields: Any
    ) -> HookEntry:
        points = [on] if isinstance(on, str) else list(on)
        return HookEntry(name=name, on=points, declared_in=str(self.directory / "workflow.yaml"), **fields)

    def python(self, body: str, name: str = "policy", **fields: Any) -> HookEntry:
        """An entry for a function of its own file: `body` is that of `def hook_(payload)`, or a whole definition."""
        text = textwrap.dedent(body)
        if "def hook_" not in text:
            text = "def hook_(payload):\n" + textwrap.indent(text, "    ")
        self.module(f"{name}.py", text)
        return self.entry(name, python=f"{name}.py:hook_", **fields)

    def command(self, body: str, name: str = "policy", **fields: Any) -> HookEntry:
        return self.entry(name, argv=[self.script(f"{name}.sh", body)], **fields)

    def pipeline(self, *entries: HookEntry, **options: Any) -> Pipeline:
        run_directory = self.directory / "run"
        run_directory.mkdir(exist_ok=True)
        return Pipeline(
            resolve_hook_set(entries),
            run_id=RUN,
            workflow_id="notes",
            run_directory=run_directory,
            transcript=run_directory / "events.jsonl",
            **{"working_directory": self.directory, "command_grace_ms": 200, **options},
        )

    async def ask(self, *entries: HookEntry, options: dict[str, Any] | None = None, **question: Any) -> Verdict:
        """The verdict of one dispatch (`dispatch_of(**question)`) through a pipeline of these entries."""
        return await ask_through(self.pipeline(*entries, **(options or {})), dispatch_of(**question))


async def ask_through(pipeline: Pipeline, dispatch: Dispatch) -> Verdict:
    await pipeline.open()
    try:
        return await pipeline.dispatch(dispatch)
    finally:
        await pipeline.close()


async def appears(path: Path) -> None:
    """Wait for a file that another process or thread makes."""
    while not os.path.exists(path):  # noqa: ASYNC110, ASYNC240 - who makes it cannot set an event of ours
        await asyncio.sleep(0.002)


def dispatch_of(
    point: str = "component_pre_execute",
    node: str = "draft",
    document: dict[str, Any] | None = None,
    logged: Sequence[DecidedHook] = (),
    accepts: Callable[[str, Any], str | None] = lambda name, value: None,
    subject: Subject | None = None,
    ordinal: int = 1,
    mask: Callable[[Any], Any] = lambda value: value,
) -> Dispatch:
    return Dispatch(
        hook=point,
        ordinal=ordinal,
        subject=SUBJECTS[node] if subject is None else subject,
        mask=mask,
        payload=lambda: document_at(point, node) if document is None else document,
        **who(node),
        logged=logged,
        accepts=accepts,
    )


def outcomes(verdict: Verdict) -> list[str]:
    """What each hook's answer came to, as recorded."""
    assert verdict.decided is not None
    return [decision.outcome for decision in verdict.decided.decisions]


def reason(verdict: Verdict, index: int = 0) -> str:
    assert verdict.decided is not None
    return verdict.decided.decisions[index].reason or ""
