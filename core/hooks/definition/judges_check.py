"""Agents of agent steps with what they sample: judges are declared, and what must not be repeated is not.

An agent whose draws have consequences (`repeatable: false`) is drawn once: every further draw would have them again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from hooks.definition.fields import did_you_mean, listed
from hooks.definition.model import AgentDeclaration
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.requirements_section import judge_agents_in
from hooks.definition.sampling_section import budget_in
from hooks.definition.tree import Source

_CONFIG = ".hooks/config.yaml"


class Fault(NamedTuple):
    """What is wrong, and how to mend it."""

    message: str
    fix: str


def check_sampled_agents(source: Source, nodes: Sequence[DeclaredNode], agents: Mapping[str, AgentDeclaration]) -> None:
    """`agents` are those of the workflow and of the config; that a step's own is declared is checked elsewhere."""
    for node in nodes:
        if node.type != "subagent":
            continue
        for name in judge_agents_in(node.value("requirements")):
            judge = agents.get(name.text)
            if judge is None:
                source.report(name, *undeclared_judge(name.text, agents))
            elif not judge.repeatable:
                source.report(name, *_unrepeatable_judge(name.text))
        agent = agents.get(node.word("agent") or "")
        budget = budget_in(node.value("sampling"))
        draws = budget.value if budget is not None else 1
        if budget is not None and isinstance(draws, int) and draws > 1 and agent is not None and not agent.repeatable:
            source.report(
                budget,
                f"`{node.id}` draws up to {draws} answers of the agent `{agent.name}`, which is not repeatable: "
                "each draw would have its consequences again",
                f"write `loop_budget: 1`, or `repeatable: true` for `{agent.name}` if asking it again does no harm",
            )


def judge_agents(nodes: Sequence[DeclaredNode]) -> frozenset[str]:
    """The agents that the nodes name as judges."""
    return frozenset(name.text for node in nodes for name in judge_agents_in(node.value("requirements")))


def undeclared_judge(name: str, agents: Collection[str]) -> Fault:
    declare = f"declare it under `agents` here or as `agents.{name}` in {_CONFIG}"
    similar = did_you_mean(name, agents)
    return Fault(
        f"the judge `{name}` is not declared as an agent",
        f"{similar} Otherwise {declare}" if similar else f"{declare}; there is: {listed(agents)}",
    )


def _unrepeatable_judge(name: str) -> Fault:
    return Fault(
        f"the judge `{name}` is not repeatable, but a judge is asked about every draw, and again after a crash",
        f"name another agent, or write `repeatable: true` for `{name}` if asking it again does no harm",
    )
