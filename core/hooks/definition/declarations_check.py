"""The agents and executors that nodes name: each is declared, built in or registered, and takes what it is given."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hooks.definition.agent_fields import report_options
from hooks.definition.executor_inputs import EXECUTORS
from hooks.definition.fields import did_you_mean, listed
from hooks.definition.model import TOOLS_OPTION, AgentDeclaration, OpenAIAgent, PythonAgent
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.tree import Mapping as MappingNode
from hooks.definition.tree import Scalar, Source
from hooks.entry_points import registered_names

_CONFIG = ".hooks/config.yaml"
_WITHOUT_PROCESS = ("file", "http")


def check_agents(source: Source, nodes: Sequence[DeclaredNode], agents: Mapping[str, AgentDeclaration]) -> None:
    """`agents` are those of the workflow and of the config."""
    for node in nodes:
        named = node.value("agent") if node.type == "subagent" else None
        if not isinstance(named, Scalar) or not named.text:
            continue
        agent = agents.get(named.text)
        if agent is None:
            declare = f"declare it under `agents` here or as `agents.{named.text}` in {_CONFIG}"
            similar = did_you_mean(named.text, agents)
            source.report(
                named,
                f"`{node.id}` asks the agent `{named.text}`, which is not declared",
                f"{similar} Otherwise {declare}" if similar else f"{declare}; there is: {listed(agents)}",
            )
            continue
        report_options(source, node.value("model_options"), agent)
        _check_tools(source, node, agent)
        if node.fields is not None and "env" in node.fields and isinstance(agent, PythonAgent | OpenAIAgent):
            what = "a Python callable" if isinstance(agent, PythonAgent) else "an endpoint"
            _report_idle_environment(source, node, f"{what} (`{agent.name}`)")


def check_executors(source: Source, nodes: Sequence[DeclaredNode], declared: Collection[str]) -> None:
    """`declared` are the names of the config."""
    unknown: list[tuple[DeclaredNode, Scalar]] = []
    for node in nodes:
        named = node.value("executor") if node.type == "host_executor" else None
        if not isinstance(named, Scalar) or not named.text.strip():
            continue
        if named.text not in EXECUTORS and named.text not in declared:
            unknown.append((node, named))
        if node.fields is not None and "env" in node.fields and not _starts_a_process(node, named.text):
            _report_idle_environment(source, node, f"`{named.text}`")
    if not unknown:
        return
    registered = registered_names("hooks.executors")
    for node, named in unknown:
        if named.text not in registered:
            _report_unknown_executor(source, node, named, [*EXECUTORS, *declared, *registered])


def _starts_a_process(node: DeclaredNode, executor: str) -> bool:
    input_ = node.value("input")
    is_isolated = isinstance(input_, MappingNode) and input_.get("isolate") is not None
    return executor not in _WITHOUT_PROCESS and (executor != "python" or is_isolated)


def _report_unknown_executor(source: Source, node: DeclaredNode, named: Scalar, known: Collection[str]) -> None:
    declare = f"declare it as `executors.{named.text}` in {_CONFIG}"
    similar = did_you_mean(named.text, known)
    source.report(
        named,
        f"`{node.id}` calls the executor `{named.text}`, which is not declared",
        f"{similar} Otherwise {declare}" if similar else f"{declare}; there is: {listed(known)}",
    )


def _report_idle_environment(source: Source, node: DeclaredNode, what: str) -> None:
    assert node.fields is not None
    source.report(node.fields.key_place("env"), f"`env` does nothing for {what}, which starts no process", "remove it")


def _check_tools(source: Source, node: DeclaredNode, agent: AgentDeclaration) -> None:
    allowed = node.value(TOOLS_OPTION)
    if isinstance(allowed, Scalar) and allowed.value is True and not agent.knows_tools:
        source.report(
            allowed,
            f"the agent `{agent.name}` cannot be allowed tools: it has none that hooks knows of",
            f"remove `{TOOLS_OPTION}`, or say under `options` of the agent which arguments it becomes",
        )
