"""From a workflow file to a checked `Workflow`: every problem at once, each with its place and its fix.

The sections are read one by one (params_section.py, agents_section.py, hooks_section.py, nodes_section.py); here
stand the order in which that happens and the checks across them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from hooks.definition.agents_section import honoured_options, read_agents
from hooks.definition.argument_types import check_argument_types
from hooks.definition.config import Config
from hooks.definition.defaults_section import read_defaults
from hooks.definition.fields import Fields, Keys, did_you_mean, listed, read_fields
from hooks.definition.graph import find_cycle
from hooks.definition.hooks_section import DeclaredHook, read_hooks, report_idle_globs
from hooks.definition.model import AgentDeclaration, CommandAgent, Param, SubagentNode, Workflow
from hooks.definition.nodes_section import DeclaredNode, read_nodes
from hooks.definition.params_section import read_params
from hooks.definition.references_check import check_references
from hooks.definition.source import read_file, read_source
from hooks.definition.tree import Mapping, Node, Scalar, Source
from hooks.definition.values import read_int, read_object, read_text
from hooks.errors import Problem
from hooks.ids import NODE_ID

_KEYS = Keys(
    "a workflow",
    frozenset({"workflow_id", "version", "description", "params", "agents", "defaults", "hooks", "metadata", "nodes"}),
    frozenset({"require_gates", "on_failure", "tool_policy", "unsafe_allow_ungated"}),
    {"bots": "agents"},
    {
        "max_concurrency": "write `defaults: {max_concurrency: 8}`, or give `-j 8` to `hooks run`",
        "timeout": "write `defaults: {timeout: 10m}`, or give each node its own",
        "timeout_ms": "write `defaults: {timeout_ms: 600000}`, or give each node its own",
        "retry": "it belongs under `defaults` or to a node, where it is not supported yet",
        "grace": "it belongs under `defaults`, where it is not supported yet; `hooks run --grace 30s` is",
    },
)
_MOST_VERSION = 2**53
_SHOWN_CYCLE = 8


def load_workflow(
    source: Path,
    *,
    text: bytes | None = None,
    config: Config | None = None,
    name: str | None = None,
    check_files: bool = False,
    warn: Callable[[Problem], None] | None = None,
) -> Workflow:
    """Read and check a workflow file; agents and defaults that it takes from `config` become part of the result.

    `text` stands for the file's content where that is known already (stdin), `name` for the file in messages. With
    `check_files` the programs and functions it names are looked for, too. `warn` is told what is allowed and hardly
    meant. Raises DefinitionError with every problem found, in order of place.
    """
    data = read_file(source) if text is None else text
    origin, root = read_source(data, name or str(source))
    origin.base = source.absolute().parent if check_files else None
    fields = read_fields(origin, root, _KEYS, "the workflow")
    loader = _Loader(origin, fields, config or Config(), str(source.absolute())) if fields is not None else None
    workflow = loader.load() if loader is not None else None
    if warn is not None:
        for warning in origin.sorted_warnings():
            warn(warning)
    origin.raise_problems()
    assert workflow is not None, "a workflow that cannot be built has problems"
    return workflow


class _Loader:
    """Reads the sections in an order in which each finds what it needs of the others."""

    def __init__(self, source: Source, fields: Fields, config: Config, declared_in: str) -> None:
        self._source = source
        self._fields = fields
        self._config = config
        self._declared_in = declared_in

    def load(self) -> Workflow | None:
        workflow_id = self._workflow_id()
        head = self._head()
        params = self._params()
        agents = self._agents()
        nodes = self._nodes()
        hooks = self._hooks() + [hook for node in nodes for hook in node.hooks]
        _check_depends(self._source, nodes)
        _check_agents(self._source, nodes, agents, self._config.agents)
        declared = {param.name: param for param in params}
        check_references(self._source, nodes, declared)
        check_argument_types(self._source, nodes, declared)
        report_idle_globs(self._source, hooks, _present(workflow_id, nodes))
        if self._source.problems:
            return None
        assert workflow_id is not None
        whole = [node.node for node in nodes if node.node is not None]
        used = {node.agent for node in whole if isinstance(node, SubagentNode)}
        from_config = [agent for agent in self._config.agents.values() if agent.name in used - agents.keys()]
        return Workflow(
            workflow_id=workflow_id,
            params=params,
            agents=[*agents.values(), *from_config],
            hooks=[hook.entry for hook in hooks],
            nodes=whole,
            **head,
        )

    def _workflow_id(self) -> str | None:
        node = self._fields.require("workflow_id", "add `workflow_id: my-workflow`")
        if node is None:
            return None
        workflow_id = read_text(self._source, node, "`workflow_id`")
        if workflow_id is not None and not NODE_ID.match(workflow_id):
            self._source.report(
                node,
                f"the workflow id {workflow_id!r} cannot stand in the name of a run directory",
                "use up to 64 letters, digits, `_`, `-` and `.`, not beginning with a dot",
            )
        elif workflow_id is not None and workflow_id.startswith("-"):
            self._source.report(
                node, f"the ids of runs of {workflow_id!r} would look like options of a command", "begin with a letter"
            )
        return workflow_id

    def _head(self) -> dict[str, Any]:
        found: dict[str, Any] = {"version": 1}
        if (node := self._fields.value("version")) is not None:
            found["version"] = read_int(self._source, node, "`version`", least=0, most=_MOST_VERSION)
        if (node := self._fields.value("description")) is not None:
            found["description"] = read_text(self._source, node, "`description`", blank=True)
        if (node := self._fields.value("metadata")) is not None:
            found["metadata"] = read_object(self._source, node, "`metadata`")
        defaults = self._config.defaults
        if (node := self._fields.value("defaults")) is not None:
            defaults = read_defaults(self._source, node).over(defaults)
        if defaults.max_concurrency is not None:
            found["max_concurrency"] = defaults.max_concurrency
        found["timeout_ms"] = defaults.timeout_ms
        return found

    def _params(self) -> list[Param]:
        node = self._fields.value("params")
        return read_params(self._source, node) if node is not None else []

    def _agents(self) -> dict[str, AgentDeclaration]:
        node = self._fields.value("agents")
        return read_agents(self._source, node) if node is not None else {}

    def _hooks(self) -> list[DeclaredHook]:
        node = self._fields.value("hooks")
        if node is None:
            return []
        return read_hooks(self._source, node, origin="workflow", declared_in=self._declared_in)

    def _nodes(self) -> list[DeclaredNode]:
        node = self._fields.require("nodes", "add `nodes:` with at least one node")
        if node is None:
            return []
        nodes = read_nodes(self._source, node, declared_in=self._declared_in)
        if not nodes and not isinstance(node, Scalar):
            self._source.report(node, "the workflow has no nodes", "add at least one node")
        return nodes


def _check_depends(source: Source, nodes: list[DeclaredNode]) -> None:
    known = {node.id: node for node in nodes}
    for node in nodes:
        for dependency in node.depends:
            if dependency.text == node.id:
                source.report(dependency, f"the node `{node.id}` depends on itself", "remove it from depends")
            elif dependency.text not in known:
                fix = did_you_mean(dependency.text, known) or f"the nodes of this workflow: {listed(known)}"
                source.report(dependency, f"`{node.id}` depends on `{dependency.text}`, which is no node", fix)
    cycle = find_cycle({node.id: [d.text for d in node.depends if d.text != node.id] for node in nodes})
    if cycle is not None:
        shown = cycle if len(cycle) <= _SHOWN_CYCLE else [*cycle[: _SHOWN_CYCLE - 2], "…", *cycle[-2:]]
        source.report(
            known[cycle[0]].place,
            f"the nodes depend on one another in a cycle of {len(cycle) - 1}: {' -> '.join(shown)}",
            f"remove `{cycle[1]}` from depends of `{cycle[0]}`, or break the cycle elsewhere",
        )


def _check_agents(
    source: Source,
    nodes: list[DeclaredNode],
    agents: dict[str, AgentDeclaration],
    from_config: dict[str, AgentDeclaration],
) -> None:
    declared = _declared_names(agents, from_config)
    for node in nodes:
        name_node = node.fields.value("agent") if node.fields is not None else None
        if node.fields is None or not isinstance(name_node, Scalar) or not name_node.text:
            continue
        name = name_node.text
        agent = agents.get(name) or from_config.get(name)
        if agent is None:
            fix = did_you_mean(name, declared) or f"declare it under `agents`; there is: {listed(declared)}"
            source.report(name_node, f"`{node.id}` asks the agent `{name}`, which is not declared", fix)
        elif (options := node.fields.value("model_options")) is not None:
            _check_options(source, options, agent)


def _declared_names(agents: Collection[str], from_config: Collection[str]) -> list[str]:
    return list(dict.fromkeys([*agents, *from_config]))


def _check_options(source: Source, options: Node, agent: AgentDeclaration) -> None:
    if not isinstance(options, Mapping):
        return
    honoured = honoured_options(agent)
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


def _loses_its_value(argv: list[str], value: Node) -> bool:
    """Whether an option that is a mere flag is given more than yes, no or nothing."""
    is_switch = isinstance(value, Scalar) and (value.value is None or isinstance(value.value, bool))
    return not is_switch and not any("{value}" in word for word in argv)


def _present(workflow_id: str | None, nodes: list[DeclaredNode]) -> dict[str, Collection[str]]:
    """The names that the globs of a hook's `match` can meet in this workflow, by key; those of faulty nodes count."""
    executors = _written(nodes, "executor")
    agents = _written(nodes, "agent")
    types = [name for name, used in (("HostExecutorCall", executors), ("AgentStep", agents)) if used]
    return {
        "node": [node.id for node in nodes],
        "executor": executors,
        "agent": agents,
        "component_type": types,
        "workflow": [workflow_id or ""],
    }


def _written(nodes: list[DeclaredNode], key: str) -> list[str]:
    values = (node.fields.value(key) for node in nodes if node.fields is not None)
    return list(dict.fromkeys(value.text for value in values if isinstance(value, Scalar)))
