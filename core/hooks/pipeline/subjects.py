"""What a hook's `match` is held against, for a step and for a place in a run."""

from __future__ import annotations

from hooks.definition.model import HostExecutorNode, SubagentNode, Workflow, WorkNode
from hooks.kernel.state import RunState
from hooks.pipeline.dispatch import Subject


def subject_of_step(workflow: Workflow, node: WorkNode) -> Subject:
    if isinstance(node, SubagentNode):
        return Subject(workflow.workflow_id, node.id, "AgentStep", agent=node.agent)
    return Subject(workflow.workflow_id, node.id, "HostExecutorCall", executor=node.executor)


def subject_of(workflow: Workflow, state: RunState, node_id: str | None) -> Subject:
    """Of a node of any scope that the run has; of the run itself where there is no such node."""
    for scope in state.scopes.values():
        if node_id and node_id in scope.graph.position:
            node = scope.graph.nodes[scope.graph.position[node_id]]
            if isinstance(node, SubagentNode | HostExecutorNode):
                return subject_of_step(workflow, node)
            return Subject(workflow.workflow_id, node.id)
    return Subject(workflow.workflow_id)
