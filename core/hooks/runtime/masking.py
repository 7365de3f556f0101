"""What of a workflow's environment is secret, and what masks it wherever it turns up."""

from __future__ import annotations

import os

from hooks.definition.model import HostExecutorNode, OpenAIAgent, SubagentNode, Workflow, every_node
from hooks.secrets import Masker


def named_secrets(definition: Workflow) -> frozenset[str]:
    """The variables that steps list as their secrets, and those that hold the keys of agents."""
    agents = [agent for agent in definition.agents if isinstance(agent, OpenAIAgent)]
    return secret_names_of(definition) | {agent.api_key_env for agent in agents if agent.api_key_env is not None}


def secret_names_of(definition: Workflow) -> frozenset[str]:
    """The variables that steps list as their secrets."""
    steps = [node for node in every_node(definition) if isinstance(node, SubagentNode | HostExecutorNode)]
    return frozenset(name for step in steps for name in step.secrets)


def masker_of(definition: Workflow) -> Masker | None:
    """Masks those of them that are set, and the keys of agents; None where there is nothing to mask.

    Steps are not denied the keys: a command may need the same one.
    """
    values = {name: os.environ[name] for name in named_secrets(definition) if name in os.environ}
    return Masker(values) if values else None
