"""Who performs the work of a run: whether this process can tell of everything that is still to be done.

A workflow may name agents and executors that only the program which made the run performs, or that a package registers
which is not installed here. A driver without them would fail the steps that another one could do, and give up effects
that another one could look up; so it is refused, before it has changed anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hooks.agents.base import Agent
from hooks.definition.executor_inputs import EXECUTORS
from hooks.definition.model import EntryPointAgent, HostExecutorNode, LoopNode, SubagentNode, Workflow, WorkNode
from hooks.entry_points import load_entry_point, registered_names
from hooks.errors import MissingPerformerError
from hooks.events.payloads import NodeReference
from hooks.ids import NodeId
from hooks.kernel.reopening import nodes_to_reopen
from hooks.kernel.state import RunState

AGENTS_GROUP, EXECUTORS_GROUP = "hooks.agents", "hooks.executors"


@dataclass(slots=True)
class _Needed:
    """What the steps that are still to be done need beside what comes with hooks: name to the nodes that name it."""

    agents: dict[str, list[str]] = field(default_factory=dict)
    executors: dict[str, list[str]] = field(default_factory=dict)


def missing_performers(definition: Workflow, state: RunState) -> list[str]:
    """The agents and executors that steps still to be done name and that nobody performs here, each with its steps.

    Of a run that has ended: what trying it again would take.
    """
    reopened = nodes_to_reopen(state) if state.ended is not None else ()
    return _missing(definition, _needed(definition, state, reopened, _nobody))


def require_performers(
    definition: Workflow,
    state: RunState,
    reopened: Sequence[NodeReference] = (),
    *,
    agent_for: Callable[[str], Agent | None] | None = None,
) -> None:
    """Raise MissingPerformerError if a step that is still to be done, or is `reopened`, names what is missing here;
    UsageError for what is installed and cannot be loaded. `agent_for`: agents of this program.
    """
    if state.ended is not None and not reopened:
        return
    needed = _needed(definition, state, reopened, agent_for or _nobody)
    if missing := _missing(definition, needed):
        raise MissingPerformerError(state.run_id, missing)
    for name in needed.executors:
        load_entry_point(EXECUTORS_GROUP, name)
    for name in needed.agents:
        load_entry_point(AGENTS_GROUP, _kinds(definition)[name])


def _nobody(name: str) -> Agent | None:
    return None


def _needed(
    definition: Workflow,
    state: RunState,
    reopened: Sequence[NodeReference],
    agent_for: Callable[[str], Agent | None],
) -> _Needed:
    needed, kinds = _Needed(), _kinds(definition)
    known = {*EXECUTORS, *(executor.name for executor in definition.executors)}
    for node in _to_be_done(definition, state, {reference.node_id for reference in reopened}):
        if isinstance(node, HostExecutorNode):
            if node.executor not in known:
                needed.executors.setdefault(node.executor, []).append(node.id)
            continue
        judges = [requirement.judge.agent for requirement in node.requirements if requirement.judge is not None]
        for name in dict.fromkeys([node.agent, *judges]):
            if name in kinds and agent_for(name) is None:
                needed.agents.setdefault(name, []).append(node.id)
    return needed


def _to_be_done(definition: Workflow, state: RunState, reopened: set[str]) -> Iterator[WorkNode]:
    for node in definition.nodes:
        begun = state.root.nodes.get(NodeId(node.id))
        if begun is not None and begun.ended_at is not None and node.id not in reopened:
            continue
        for one in node.body if isinstance(node, LoopNode) else [node]:
            if isinstance(one, SubagentNode | HostExecutorNode):
                yield one


def _kinds(definition: Workflow) -> dict[str, str]:
    """The agents that do not come with hooks, each with what it is registered as."""
    return {agent.name: agent.entry_point for agent in definition.agents if isinstance(agent, EntryPointAgent)}


def _missing(definition: Workflow, needed: _Needed) -> list[str]:
    missing, kinds = [], _kinds(definition)
    # Reading what is installed costs more than a small run; most runs never need it.
    if needed.executors:
        installed = registered_names(EXECUTORS_GROUP)
        missing += [_named("executor", *each) for each in needed.executors.items() if each[0] not in installed]
    if needed.agents:
        installed = registered_names(AGENTS_GROUP)
        missing += [_named("agent", *each) for each in needed.agents.items() if kinds[each[0]] not in installed]
    return missing


def _named(kind: str, name: str, nodes: Sequence[str]) -> str:
    return f"the {kind} `{name}` ({', '.join(nodes)})"
