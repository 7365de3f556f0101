"""What of a step another definition gives otherwise: what its work is made of, not when or how often it is tried.

Whether and when a step is begun, retried or skipped is decided, and shows in the decisions themselves. What it is given
to do is bound from the definition, and shows nowhere but here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hooks.definition.model import HostExecutorNode, Node, SubagentNode, Workflow, every_node

_DECIDED = {"depends", "condition", "retry", "allow_failure"}
"""Where these matter, another decision is made."""
_TOLD = {"id", "metadata", "description", "unsafe_allow_ungated"}
_LIMITS = {"timeout_ms", "grace_ms", "max_output_bytes"}
"""These change nothing unless they are reached."""
_NO_WORK = _DECIDED | _TOLD | _LIMITS


def changed_of_step(own: Workflow, other: Workflow, node_id: str) -> tuple[str, ...]:
    """The names of the fields by which a step of both is another one in `other`; `agent` also for its declaration."""
    before, after = _node(own, node_id), _node(other, node_id)
    if before is None or after is None:
        return ()
    if type(before) is not type(after):
        return ("type",)
    fields = [name for name in before.__struct_fields__ if name not in _NO_WORK]
    return tuple(name for name in fields if _differs(own, other, name, before, after))


def _differs(own: Workflow, other: Workflow, name: str, before: Node, after: Node) -> bool:
    if getattr(before, name) != getattr(after, name):
        return True
    match name:
        case "agent" | "requirements" if isinstance(before, SubagentNode):
            return any(_agent(own, agent) != _agent(other, agent) for agent in _agents(before, name))
        case "executor" if isinstance(before, HostExecutorNode):
            return bool(_executor(own, before.executor) != _executor(other, before.executor))
        case _:
            return False


def _agents(node: SubagentNode, name: str) -> Iterator[str]:
    if name == "agent":
        yield node.agent
    else:
        yield from (requirement.judge.agent for requirement in node.requirements if requirement.judge is not None)


def _node(workflow: Workflow, node_id: str) -> Node | None:
    return next((node for node in every_node(workflow) if node.id == node_id), None)


def _agent(workflow: Workflow, name: str) -> Any:
    return next((agent for agent in workflow.agents if agent.name == name), None)


def _executor(workflow: Workflow, name: str) -> Any:
    return next((executor for executor in workflow.executors if executor.name == name), None)
