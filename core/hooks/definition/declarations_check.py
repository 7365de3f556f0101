"""The agents and executors that nodes name: each is declared, built in or registered, and takes what it is given."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hooks.definition.executor_inputs import EXECUTORS
from hooks.definition.fields import did_you_mean, listed
from hooks.definition.model import AgentDeclaration, CommandAgent, PythonAgent
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.tree import Mapping as MappingNode
from hooks.definition.tree import Node, Scalar, Source
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
        if (options := node.value("model_options")) is not None:
            _check_options(source, options, agent)
        if node.fields is not None and "env" in node.fields and isinstance(agent, PythonAgent):
            _report_idle_environment(source, node, f"a Python callable (`{agent.name}`)")


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


def _check_options(source: Source, options: Node, agent: AgentDeclaration) -> None:
    if not isinstance(options, MappingNode):
        return
    honoured = agent.honoured_options
    for entry in options.entries:
        name = entry.key.text
        if name not in honoured:
            fix = did_you_mean(name, honoured) or f"it honours: {listed(honoured)}; see `options` of the agent"
            source.report(entry.key, f"the agent `{agent.name}` does not honour the option `{name}`", fix)
        elif isinstance(agent, CommandAgent) and _loses_its_value(agent.options[name], entry.value):
            source.report(
                entry.value,
                f'the agent `{agent.name}` would not hear this value: its option `{name}` has no "{{value}}"',
                f'write `{name}: [{agent.options[name][0]}, "{{value}}"]` under `options` of the agent',
            )


def _loses_its_value(argv: Sequence[str], value: Node) -> bool:
    """Whether an option that is a mere flag is given more than yes, no or nothing."""
    is_switch = isinstance(value, Scalar) and (value.value is None or isinstance(value.value, bool))
    return not is_switch and not any("{value}" in word for word in argv)
