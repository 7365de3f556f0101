"""`require_gates`: no effect without a person before it, or a word that this one may go without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hooks.definition.model import AgentDeclaration, HostExecutorNode, SubagentNode
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.tree import Source


def check_gates(source: Source, nodes: Sequence[DeclaredNode], agents: Mapping[str, AgentDeclaration]) -> None:
    for declared in nodes:
        node = declared.node
        if not isinstance(node, HostExecutorNode | SubagentNode) or not _is_effect(node, agents):
            continue
        if node.unsafe_allow_ungated or (node.human_gate is not None and node.human_gate.stage == "before"):
            continue
        source.report(
            declared.place,
            f"`{node.id}` has an effect and no gate before it, which `require_gates` demands",
            "add `human_gate: {prompt: …}`, or `unsafe_allow_ungated: true`; `read_only: true` if it changes nothing",
        )


def _is_effect(node: HostExecutorNode | SubagentNode, agents: Mapping[str, AgentDeclaration]) -> bool:
    if isinstance(node, HostExecutorNode):
        return not node.read_only
    agent = agents.get(node.agent)
    return agent is not None and not agent.repeatable
