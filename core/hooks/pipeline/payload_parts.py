"""What payloads are put together from: the fields all have, and the values several share.

Everything here is a pure function of state, definition and event. Values that stand in blobs are read by `resolve`,
which is passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeAlias

from hooks.definition.hook_points import HookType
from hooks.definition.model import AgentDeclaration, SubagentNode, Workflow, WorkNode
from hooks.events.payloads import ComponentStarted, ErrorInfo, GenerationFinished
from hooks.jsonio import canonical
from hooks.kernel.state import AttemptState, RunState, Turn
from hooks.pipeline.dispatch import Json, Later, PayloadDocument

Resolve: TypeAlias = Callable[[Json], Json]


@dataclass(frozen=True, slots=True)
class RunOccasion:
    """A run as it stands: what payloads about the run itself, its gates and its cancels are made from."""

    state: RunState
    workflow: Workflow
    resolve: Resolve


@dataclass(frozen=True, slots=True)
class Occasion:
    """One attempt of a node, in its run: what a payload of it is made from."""

    state: RunState
    workflow: Workflow
    node: WorkNode
    attempt: AttemptState
    resolve: Resolve
    may_wait: bool = False
    """Whether conversations may stand as `Later` in a payload."""

    @property
    def component(self) -> ComponentStarted:
        assert self.attempt.component is not None, "hook points of a component come after componentStarted"
        return self.attempt.component

    @property
    def is_agent_step(self) -> bool:
        return isinstance(self.node, SubagentNode)

    @property
    def agent(self) -> AgentDeclaration:
        assert isinstance(self.node, SubagentNode), "only an agent step has an agent"
        return agent_named(self, self.node.agent)


def agent_named(occasion: Occasion, name: str) -> AgentDeclaration:
    return next(agent for agent in occasion.workflow.agents if agent.name == name)


def run_fields(occasion: RunOccasion, point: HookType, at: int, *, ordinal: int) -> PayloadDocument:
    """What every payload about a run has; what belongs to an attempt is null."""
    state = occasion.state
    assert state.created is not None
    return {
        "schema_version": 1,
        "hook": point.value,
        "run_id": state.run_id,
        "workflow_id": occasion.workflow.workflow_id,
        "node_id": None,
        "activity_id": None,
        "attempt_id": None,
        "attempt": None,
        "loop_iteration": None,
        "item_index": None,
        "session_id": state.run_id,
        "request_id": f"{state.run_id}::{point}::{ordinal}",
        "timestamp": iso_time(at),
        "params": occasion.resolve(state.created.params),
        "user_metadata": {**occasion.workflow.metadata, **_given_metadata(occasion)},
        "verdict": None,
    }


def attempt_fields(occasion: Occasion, point: HookType, at: int, *, ordinal: int) -> PayloadDocument:
    """What every payload about an attempt has."""
    state, attempt = occasion.state, occasion.attempt
    run = RunOccasion(state, occasion.workflow, occasion.resolve)
    return {
        **run_fields(run, point, at, ordinal=ordinal),
        "node_id": attempt.node_id,
        "activity_id": attempt.activity_id,
        "attempt_id": attempt.attempt_id,
        "attempt": attempt.number,
        "loop_iteration": state.scopes[attempt.scope].iteration or None,
        "item_index": attempt.item,
        "request_id": f"{attempt.attempt_id}::{point}::{ordinal}",
        "user_metadata": {
            **occasion.workflow.metadata,
            **occasion.node.metadata,
            **_given_metadata(run),
        },
    }


def _given_metadata(occasion: RunOccasion) -> dict[str, Json]:
    """What was given with the run itself; runCreated has that of the workflow as well, which a node's own goes over."""
    created = occasion.state.created
    assert created is not None
    of_workflow = occasion.workflow.metadata
    merged = occasion.resolve(created.metadata)
    return {key: value for key, value in merged.items() if key not in of_workflow or of_workflow[key] != value}


def action_fields(occasion: Occasion) -> PayloadDocument:
    """The action as it was bound, and the id that ties the payloads about it together."""
    action = action_asking(occasion, occasion.resolve(occasion.component.bound))
    return {"action_id": f"{occasion.attempt.attempt_id}::action", "action": action}


def action_asking(occasion: Occasion, bound: Json) -> dict[str, Json]:
    """The action with this prompt or input."""
    node = occasion.node
    if isinstance(node, SubagentNode):
        return {"kind": "agent_step", "node_id": node.id, "agent": node.agent, "prompt": bound}
    return {"kind": "host_executor", "node_id": node.id, "executor": node.executor, "input": bound}


def error_value(error: ErrorInfo, resolve: Resolve) -> dict[str, Json]:
    return {
        "error_code": error.error_code,
        "error_class": error.error_class,
        "error_message": error.error_message,
        "details": {name: resolve(value) for name, value in error.details.items()},
    }


def output_value(draw: GenerationFinished, resolve: Resolve) -> dict[str, Json]:
    """What one draw produced."""
    return {
        "text": resolve(draw.text),
        "value": resolve(draw.value),
        "model": draw.model,
        "usage": draw.usage,
        "finish_reason": draw.finish_reason,
    }


def requirement_value(requirement: dict[str, Json]) -> dict[str, Json]:
    """A requirement with all the fields it may have, null where it does not have them."""
    return {**_NO_REQUIREMENT, **requirement}


_NO_REQUIREMENT: dict[str, Json] = {
    "name": "",
    "origin": "node",
    "reason": None,
    "weight": 1.0,
    **dict.fromkeys(("check", "schema", "regex", "command", "python", "judge", "kind")),
    "settings": {},
}


def messages_of(occasion: Occasion, last: Turn | None) -> Json:
    """The messages of a conversation as a value of a payload."""
    return _laid_out(occasion, lambda: conversation(last, occasion.resolve))


def context_of(occasion: Occasion, last: Turn | None) -> Json:
    """A conversation as a value of a payload."""
    return _laid_out(occasion, lambda: context_value(conversation(last, occasion.resolve)))


def _laid_out(occasion: Occasion, make: Callable[[], Json]) -> Json:
    """Turns never change, and there may be many of them: they need not be laid out before somebody looks."""
    return Later(make) if occasion.may_wait else make()


def conversation(last: Turn | None, resolve: Resolve) -> list[Json]:
    """The messages of a conversation up to its last turn, oldest first."""
    messages = []
    turn = last
    while turn is not None:
        messages.append({"role": "assistant", "content": as_text(resolve(turn.answer))})
        messages.append({"role": "user", "content": as_text(resolve(turn.prompt))})
        turn = turn.before
    return messages[::-1]


def context_value(messages: list[Json]) -> dict[str, Json]:
    """A conversation and its digest, which is over the hashes of its messages."""
    hashes = [sha256(canonical(message)).hexdigest() for message in messages]
    return {"messages": messages, "digest": sha256(canonical(hashes)).hexdigest()}


def as_text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value).decode()


def iso_time(at: int) -> str:
    """`at` (ms) as hooks see it."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
