"""What of a workflow's environment is secret, and what masks it wherever it turns up."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hooks.definition.model import HostExecutorNode, OpenAIAgent, SubagentNode, Workflow, every_node
from hooks.errors import UsageError
from hooks.secrets import Masker, short_names


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


@dataclass(frozen=True, slots=True)
class Sought:
    """The values that must not leave, by name, and the names of those that cannot be looked for."""

    values: dict[str, str]
    unset: tuple[str, ...]
    short: tuple[str, ...]


def values_to_mask(definition: Workflow, also: Sequence[str], environ: Mapping[str, str]) -> Sought:
    """The secrets that the steps of a workflow name, the keys of its agents, and the variables named in `also`.

    Raises UsageError for one of `also` that is not set, or empty: it was named to be found.
    """
    for name in also:
        if not environ.get(name):
            wrong = "that variable is empty" if name in environ else "there is no such variable"
            raise UsageError(f"--mask {name}: {wrong}.", fix=f"Set {name} for this command.")
    names = sorted({*named_secrets(definition), *also})
    values = {name: environ[name] for name in names if environ.get(name)}
    return Sought(values, tuple(name for name in names if name not in values), short_names(values))
