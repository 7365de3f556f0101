"""The model options a step goes with: its own, over those of its agent, over those of `defaults`.

They are put together when the file is read, so that hooks see, and workflow.json holds, what an agent will be asked
with. Of `defaults` an agent gets what it honours; for a value that is taken back, a step writes null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from hooks.definition.fields import did_you_mean, listed
from hooks.definition.model import AgentDeclaration, CommandAgent, Json, LoopNode, Node, OpenAIAgent, SubagentNode
from hooks.definition.tree import Mapping as MappingNode
from hooks.definition.tree import Node as TreeNode
from hooks.definition.tree import Source


def report_idle_defaults(source: Source, defaults: TreeNode | None, agents: Sequence[AgentDeclaration]) -> None:
    """Report the options of `defaults` that no agent honours."""
    options = defaults.get("model_options") if isinstance(defaults, MappingNode) else None
    if not isinstance(options, MappingNode):
        return
    honoured = frozenset[str]().union(*(agent.honoured_options for agent in agents))
    for entry in options.entries:
        if entry.key.text not in honoured:
            fix = did_you_mean(entry.key.text, honoured) or f"they honour: {listed(honoured)}"
            source.report(entry.key, f"no agent here honours the option `{entry.key.text}`", fix)


def with_options(
    nodes: Sequence[Node], agents: Mapping[str, AgentDeclaration], defaults: Mapping[str, Json]
) -> list[Node]:
    """The nodes, those in bodies too, with all the options their agents are asked with."""
    return [_completed(node, agents, defaults) for node in nodes]


def _completed(node: Node, agents: Mapping[str, AgentDeclaration], defaults: Mapping[str, Json]) -> Node:
    if isinstance(node, LoopNode):
        return msgspec.structs.replace(node, body=with_options(node.body, agents, defaults))
    if not isinstance(node, SubagentNode):
        return node
    agent = agents[node.agent]
    own = agent.model_options if isinstance(agent, CommandAgent | OpenAIAgent) else {}
    heard = {name: value for name, value in defaults.items() if name in agent.honoured_options}
    return msgspec.structs.replace(node, model_options={**heard, **own, **node.model_options})
