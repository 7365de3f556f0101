"""From a workflow file to a checked `Workflow`: every problem at once, each with its place and its fix.

The sections are read one by one (params_section.py, agents_section.py, hooks_section.py, nodes_section.py); what
concerns nodes together is checked when all are known (loops_check.py, dependencies_check.py, references_check.py, …).
Here stands the order in which that happens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from hooks.definition.agents_section import read_agents
from hooks.definition.argument_types import check_argument_types
from hooks.definition.config import Config
from hooks.definition.conversations_check import check_conversations
from hooks.definition.declarations_check import check_agents, check_executors
from hooks.definition.defaults_section import Defaults, read_defaults
from hooks.definition.dependencies_check import check_dependencies
from hooks.definition.effective_options import report_idle_defaults, with_options
from hooks.definition.fields import Fields, Keys, read_fields
from hooks.definition.gates_check import check_gates
from hooks.definition.hooks_section import DeclaredHook, read_hooks, report_idle_globs
from hooks.definition.judges_check import check_sampled_agents, judge_agents
from hooks.definition.loops_check import check_loops, with_bodies
from hooks.definition.model import AgentDeclaration, EntryPointAgent, Param, Retry, Workflow
from hooks.definition.nodes_section import DeclaredNode, read_nodes
from hooks.definition.params_section import read_params
from hooks.definition.references_check import check_references
from hooks.definition.source import read_file, read_source
from hooks.definition.tree import Scalar, Source
from hooks.definition.values import read_bool, read_choice, read_int, read_text
from hooks.definition.work_fields import read_metadata
from hooks.errors import Problem
from hooks.ids import NODE_ID

_KEYS = Keys(
    "a workflow",
    {
        "workflow_id": "The name of the workflow; required.",
        "version": "A whole number of whoever writes it; kept with each run; 1 if left out.",
        "description": "A text for people.",
        "params": "What a run is given, by name.",
        "agents": "Agents by name, beside those of the config.",
        "defaults": "What holds where a node says nothing.",
        "hooks": "A list of hooks, beside those of the config.",
        "nodes": "The steps by id, or a list of them; required.",
        "on_failure": "`stop` (if left out: nothing new starts) or `continue` (what does not depend on it goes on).",
        "require_gates": "`true`: every effect needs a `human_gate` before it, or `unsafe_allow_ungated`.",
        "metadata": "A mapping that hooks are shown.",
        "tool_policy": "A mapping that is kept in `metadata` under this name, for hooks; nothing else reads it.",
    },
    synonyms={"bots": "agents", "retry_policy": "retry"},
    elsewhere={
        "executors": "it belongs into .hooks/config.yaml",
        "unsafe_allow_ungated": "it belongs to the node that may go without a gate",
        "max_concurrency": "write `defaults: {max_concurrency: 8}`, or give `-j 8` to `hooks run`",
        "timeout": "write `defaults: {timeout: 10m}`, or give each node its own",
        "timeout_ms": "write `defaults: {timeout_ms: 600000}`, or give each node its own",
        "retry": "write `defaults: {retry: {max_attempts: 3}}`, or give each node its own",
        "grace": "write `defaults: {grace: 30s}`, or give `--grace 30s` to `hooks run`",
        "grace_ms": "write `defaults: {grace_ms: 30000}`, or give `--grace 30s` to `hooks run`",
    },
)
_MOST_VERSION = 2**53
_BEGINNING = "write it: a workflow begins with `workflow_id:` and has `nodes:`"

OF_THE_PROGRAM = "program"
"""The kind of an agent that whoever drives the run performs."""


def load_workflow(
    source: Path,
    *,
    text: bytes | None = None,
    config: Config | None = None,
    name: str | None = None,
    check_files: bool = False,
    agents: Collection[str] = (),
    executors: Collection[str] = (),
    warn: Callable[[Problem], None] | None = None,
) -> Workflow:
    """Read and check a workflow file; what it takes from `config` (agents, executors, defaults) becomes part of it.

    `text` stands for the file's content where that is known already (stdin), `name` for the file in messages. With
    `check_files` the programs and functions it names are looked for, too. `agents` and `executors` are names that the
    program which drives the run performs itself (`WorkflowExecutionHooks`), beside those that are declared or
    installed. `warn` is told what is allowed and hardly meant. Raises DefinitionError with every problem found, in
    order of place.
    """
    data = read_file(source) if text is None else text
    origin, root = read_source(data, name or str(source), _BEGINNING)
    origin.base = source.absolute().parent if check_files else None
    fields = read_fields(origin, root, _KEYS, "the workflow")
    loader = None
    if fields is not None:
        own = Config(agents={name: EntryPointAgent(name=name, entry_point=OF_THE_PROGRAM) for name in agents})
        loader = _Loader(origin, fields, own.over(config or Config()), str(source.absolute()), executors)
    workflow = loader.load() if loader is not None else None
    if warn is not None:
        for warning in origin.sorted_warnings():
            warn(warning)
    origin.raise_problems()
    assert workflow is not None, "a workflow that cannot be built has problems"
    return workflow


class _Loader:
    """Reads the sections in an order in which each finds what it needs of the others."""

    def __init__(
        self, source: Source, fields: Fields, config: Config, declared_in: str, own_executors: Collection[str]
    ) -> None:
        self._source = source
        self._fields = fields
        self._config = config
        self._declared_in = declared_in
        self._own_executors = own_executors

    def load(self) -> Workflow | None:
        source, config = self._source, self._config
        workflow_id = self._workflow_id()
        defaults = self._defaults()
        head = {**self._head(), **_settings(defaults)}
        params = self._params()
        agents = self._agents()
        nodes = self._nodes(defaults)
        of_workflow = self._hooks()
        hooks = of_workflow + [hook for node in nodes for hook in node.hooks]
        declared = {param.name: param for param in params}
        report_idle_defaults(source, self._fields.value("defaults"), [*config.agents.values(), *agents.values()])
        loop_of = check_loops(source, nodes)
        check_dependencies(source, nodes, loop_of)
        check_agents(source, nodes, {**config.agents, **agents})
        check_sampled_agents(source, nodes, {**config.agents, **agents})
        check_conversations(source, nodes, loop_of)
        check_executors(source, nodes, [*config.executors, *self._own_executors])
        if head.get("require_gates"):
            check_gates(source, nodes, {**config.agents, **agents})
        check_references(source, nodes, declared, loop_of)
        check_argument_types(source, nodes, declared)
        report_idle_globs(source, of_workflow, _present(workflow_id, nodes))
        for node in nodes:
            report_idle_globs(source, node.hooks, _present(workflow_id, [node]), f"the node `{node.id}`")
        if source.problems:
            return None
        assert workflow_id is not None
        used = {name for node in nodes for name in (node.word("agent"), node.word("executor"))}
        used |= judge_agents(nodes)
        return Workflow(
            workflow_id=workflow_id,
            params=params,
            agents=[*agents.values(), *(a for a in config.agents.values() if a.name in used - agents.keys())],
            executors=[executor for executor in config.executors.values() if executor.name in used],
            hooks=[hook.entry for hook in hooks],
            nodes=with_options(with_bodies(nodes, loop_of), {**config.agents, **agents}, defaults.model_options),
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
        if (node := self._fields.value("on_failure")) is not None:
            found["on_failure"] = read_choice(self._source, node, "`on_failure`", ("stop", "continue"))
        if (node := self._fields.value("require_gates")) is not None:
            found["require_gates"] = read_bool(self._source, node, "`require_gates`")
        found["metadata"] = read_metadata(self._fields)
        return found

    def _defaults(self) -> Defaults:
        node = self._fields.value("defaults")
        given = read_defaults(self._source, node) if node is not None else Defaults()
        return given.over(self._config.defaults)

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

    def _nodes(self, defaults: Defaults) -> list[DeclaredNode]:
        node = self._fields.require("nodes", "add `nodes:` with at least one node")
        if node is None:
            return []
        nodes = read_nodes(self._source, node, declared_in=self._declared_in, defaults=defaults)
        if not nodes and not isinstance(node, Scalar):
            self._source.report(node, "the workflow has no nodes", "add at least one node")
        return nodes


def _settings(defaults: Defaults) -> dict[str, Any]:
    """The defaults as fields of the workflow."""
    found: dict[str, Any] = {"timeout_ms": defaults.timeout_ms, "grace_ms": defaults.grace_ms}
    if defaults.max_concurrency is not None:
        found["max_concurrency"] = defaults.max_concurrency
    if defaults.retry:
        found["retry"] = Retry(**defaults.retry)
    return found


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
    return list(dict.fromkeys(word for node in nodes if (word := node.word(key)) is not None))
