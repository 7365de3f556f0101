"""Payloads as JSON: pure functions of state, definition and the event they are made from.

The same run gives the same payloads, live or replayed, with or without hooks; only `timestamp` and the latencies are
times. Values that stand in blobs are read by `resolve`, which is passed in. The classes are in `hook_points.py`; these
functions do without them, so that replay can walk thousands of runs without pydantic, and a test holds the two
together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeAlias

from hooks.definition.model import AgentDeclaration, CommandAgent, SubagentNode, Workflow, WorkNode
from hooks.events.payloads import ComponentFailed, ComponentStarted, ComponentSucceeded, GenerationFinished
from hooks.ids import attempt_directory
from hooks.jsonio import canonical
from hooks.kernel.state import AttemptState, DecidedHook, RunState
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.verdicts import HookType

Resolve: TypeAlias = Callable[[Json], Json]

# What tells when, or how long, never what: two payloads that differ in nothing else ask the same question.
_TIMES = frozenset({"timestamp", "request_id", "latency_ms"})
_LOG_TIMES = frozenset({"started_at", "latency_ms"})


@dataclass(frozen=True, slots=True)
class Occasion:
    """One attempt of a node, in its run: what a payload of it is made from."""

    state: RunState
    workflow: Workflow
    node: WorkNode
    attempt: AttemptState
    resolve: Resolve

    @property
    def component(self) -> ComponentStarted:
        assert self.attempt.component is not None, "hook points of a component come after componentStarted"
        return self.attempt.component


def component_pre_execute(occasion: Occasion) -> PayloadDocument:
    """Before the component runs: what was bound, before any hook."""
    component, resolve = occasion.component, occasion.resolve
    return {
        **_component_fields(occasion, HookType.COMPONENT_PRE_EXECUTE, occasion.attempt.component_at),
        "context_view": [] if _is_agent_step(occasion) else None,
        **{name: resolve(getattr(component, name)) for name in EXECUTION_FIELDS},
    }


def component_post_success(occasion: Occasion, event: ComponentSucceeded, at: int) -> PayloadDocument:
    """After the component succeeded, as `event`, recorded at `at` (ms), has it."""
    before: list[Json] = []
    draws = occasion.attempt.draws
    is_agent_step = _is_agent_step(occasion)
    return {
        **_component_fields(occasion, HookType.COMPONENT_POST_SUCCESS, at),
        "result": _result(occasion, event),
        "context_before": _context(before),
        "context_after": _context([*before, *_exchange(occasion, event)] if is_agent_step else before),
        "generate_log": _generate_log(occasion, draws[-1]) if draws else None,
        "sampling_results": [_drawn(draw, occasion.resolve) for draw in draws] if is_agent_step else None,
        "sampling_success": True if is_agent_step else None,
        "latency_ms": event.latency_ms,
    }


def component_post_error(occasion: Occasion, event: ComponentFailed, at: int) -> PayloadDocument:
    """After the component failed, as `event`, recorded at `at` (ms), has it."""
    error = event.error
    return {
        **_component_fields(occasion, HookType.COMPONENT_POST_ERROR, at),
        "error": {
            "error_code": error.error_code,
            "error_class": error.error_class,
            "error_message": error.error_message,
            "details": {name: occasion.resolve(value) for name, value in error.details.items()},
        },
        "error_type": error.error_code,
        "stack_trace": event.stack_trace,
        "context": _context([]),
        "model_options": effective_fields(occasion)["model_options"],
    }


EXECUTION_FIELDS = ("requirements", "model_options", "format", "strategy", "tool_calls_enabled")
"""The conditions of an agent step that component_pre_execute may change."""


def effective_fields(occasion: Occasion) -> dict[str, Json]:
    """What component_pre_execute left in force: the bound conditions with every logged change applied."""
    resolve = occasion.resolve
    bound = {name: resolve(getattr(occasion.component, name)) for name in EXECUTION_FIELDS}
    return {**bound, **logged_changes(occasion.attempt.hooks, HookType.COMPONENT_PRE_EXECUTE, resolve)}


def logged_changes(logged: Sequence[DecidedHook], point: str, resolve: Resolve) -> dict[str, Json]:
    """The changed fields of a hook point with the values now in force; a later decision of a dispatch supersedes."""
    last = {entry.decided.ordinal: entry.decided for entry in logged if entry.decided.hook == point}
    return {
        name: resolve(change.after)
        for _, decided in sorted(last.items())
        for decision in decided.decisions
        for name, change in decision.changed.items()
    }


def payload_digest(document: PayloadDocument) -> str:
    """sha256 over the payload without its times: the same question has the same digest."""
    timeless = {name: value for name, value in document.items() if name not in _TIMES}
    log = timeless.get("generate_log")
    if log is not None:
        timeless["generate_log"] = {name: value for name, value in log.items() if name not in _LOG_TIMES}
    return sha256(canonical(timeless)).hexdigest()


# ---- fields --------------------------------------------------------------------------------------------------------


def _component_fields(occasion: Occasion, point: HookType, at: int) -> PayloadDocument:
    attempt = occasion.attempt
    return {
        # A component has one dispatch of each of its points in an attempt.
        **_common_fields(occasion, point, at, ordinal=1),
        "action_id": f"{attempt.attempt_id}::action",
        "component_type": occasion.component.component_type,
        "action": _action(occasion),
    }


def _common_fields(occasion: Occasion, point: HookType, at: int, *, ordinal: int) -> PayloadDocument:
    state, attempt = occasion.state, occasion.attempt
    assert state.created is not None
    return {
        "schema_version": 1,
        "hook": point.value,
        "run_id": state.run_id,
        "workflow_id": occasion.workflow.workflow_id,
        "node_id": attempt.node_id,
        "activity_id": attempt.activity_id,
        "attempt_id": attempt.attempt_id,
        "attempt": attempt.number,
        "loop_iteration": state.scopes[attempt.scope].iteration or None,
        "item_index": attempt.item,
        "session_id": state.run_id,
        "request_id": f"{attempt.attempt_id}::{point}::{ordinal}",
        "timestamp": _iso(at),
        "params": occasion.resolve(state.created.params),
        "user_metadata": {
            **occasion.workflow.metadata,
            **occasion.node.metadata,
            **occasion.resolve(state.created.metadata),
        },
    }


def _is_agent_step(occasion: Occasion) -> bool:
    return occasion.component.component_type == "AgentStep"


def _action(occasion: Occasion) -> dict[str, Json]:
    node, bound = occasion.node, occasion.resolve(occasion.component.bound)
    if isinstance(node, SubagentNode):
        return {"kind": "agent_step", "node_id": node.id, "agent": node.agent, "prompt": bound}
    return {"kind": "host_executor", "node_id": node.id, "executor": node.executor, "input": bound}


def _result(occasion: Occasion, event: ComponentSucceeded) -> dict[str, Json]:
    output, draws = occasion.resolve(event.output), occasion.attempt.draws
    if not draws:
        return {"text": None, "value": output, "model": None, "usage": None, "finish_reason": None}
    result = _drawn(draws[-1], occasion.resolve)
    if result["value"] is None and output != result["text"]:
        # The agent gave text, and the step made a value of it.
        result["value"] = output
    return result


def _drawn(draw: GenerationFinished, resolve: Resolve) -> dict[str, Json]:
    return {
        "text": resolve(draw.text),
        "value": resolve(draw.value),
        "model": draw.model,
        "usage": draw.usage,
        "finish_reason": draw.finish_reason,
    }


def _generate_log(occasion: Occasion, draw: GenerationFinished) -> dict[str, Json]:
    return {
        "prompt": occasion.resolve(occasion.component.bound),
        "model": draw.model,
        "provider": str(_agent(occasion).__struct_config__.tag),
        "model_options": effective_fields(occasion)["model_options"],
        "usage": draw.usage,
        "started_at": _iso(occasion.attempt.running_since),
        "latency_ms": draw.latency_ms,
        "raw_ref": _raw_answer(occasion),
    }


def _agent(occasion: Occasion) -> AgentDeclaration:
    node = occasion.node
    assert isinstance(node, SubagentNode), "only an agent step draws"
    return next(agent for agent in occasion.workflow.agents if agent.name == node.agent)


def _raw_answer(occasion: Occasion) -> str | None:
    """Where the bytes of an answer are, below the run directory; only a process leaves any."""
    attempt = occasion.attempt
    if not isinstance(_agent(occasion), CommandAgent):
        return None
    return f"attempts/{attempt_directory(attempt.activity_id, attempt.number)}/stdout"


def _exchange(occasion: Occasion, event: ComponentSucceeded) -> list[Json]:
    draws = occasion.attempt.draws
    answer = occasion.resolve(draws[-1].text) if draws else _as_text(occasion.resolve(event.output))
    prompt = occasion.resolve(occasion.component.bound)
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value).decode()


def _context(messages: list[Json]) -> dict[str, Json]:
    hashes = [sha256(canonical(message)).hexdigest() for message in messages]
    return {"messages": messages, "digest": sha256(canonical(hashes)).hexdigest()}


def _iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
