"""What of a step another definition gives otherwise: what its work is made of, not when or how often it is tried.

Whether and when a step is begun, retried or skipped is decided, and shows in the decisions themselves. What it is given
to do is bound from the definition, and shows nowhere but here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from hooks.definition.model import (
    AgentDeclaration,
    ExecutorDeclaration,
    HostExecutorNode,
    Json,
    Node,
    SubagentNode,
    Workflow,
    every_node,
)

_DECIDED = {"depends", "condition", "retry", "allow_failure"}
"""Where these matter, another decision is made."""
_TOLD = {"id", "metadata", "description", "unsafe_allow_ungated"}
_LIMITS = {"timeout_ms", "grace_ms", "max_output_bytes"}
"""These change nothing unless they are reached."""
_NO_WORK = _DECIDED | _TOLD | _LIMITS


Changed: TypeAlias = dict[str, tuple[Json, Json]]
"""By field, what it is in the one definition and in the other; where it names the same agent, the declarations."""


def changed_of_step(own: Workflow, other: Workflow, node_id: str) -> Changed:
    """The fields by which a step of both is another one in `other`; `agent` also for its declaration."""
    before, after = _node(own, node_id), _node(other, node_id)
    if before is None or after is None:
        return {}
    if type(before) is not type(after):
        return {"type": (_type(before), _type(after))}
    fields = [name for name in before.__struct_fields__ if name not in _NO_WORK]
    differences = {name: _difference(own, other, name, before, after) for name in fields}
    return {name: difference for name, difference in differences.items() if difference is not None}


def _difference(own: Workflow, other: Workflow, name: str, before: Node, after: Node) -> tuple[Json, Json] | None:
    was, would_be = getattr(before, name), getattr(after, name)
    if was != would_be:
        return msgspec.to_builtins(was), msgspec.to_builtins(would_be)
    match name:
        case "agent" | "requirements" if isinstance(before, SubagentNode):
            return _difference_of_declared(_agents(before, name), own.agents, other.agents)
        case "executor" if isinstance(before, HostExecutorNode):
            return _difference_of_declared([before.executor], own.executors, other.executors)
        case _:
            return None


def _difference_of_declared(
    names: Iterable[str],
    before: Sequence[AgentDeclaration | ExecutorDeclaration],
    after: Sequence[AgentDeclaration | ExecutorDeclaration],
) -> tuple[Json, Json] | None:
    """By name, what is declared otherwise under it."""
    was, would_be = ({each.name: each for each in declared} for declared in (before, after))
    changed = [name for name in dict.fromkeys(names) if was.get(name) != would_be.get(name)]
    if not changed:
        return None
    old, new = ({name: msgspec.to_builtins(each.get(name)) for name in changed} for each in (was, would_be))
    return old, new


def _type(node: Node) -> str:
    return str(node.__struct_config__.tag)


def _agents(node: SubagentNode, name: str) -> Iterator[str]:
    if name == "agent":
        yield node.agent
    else:
        yield from (requirement.judge.agent for requirement in node.requirements if requirement.judge is not None)


def _node(workflow: Workflow, node_id: str) -> Node | None:
    return next((node for node in every_node(workflow) if node.id == node_id), None)
