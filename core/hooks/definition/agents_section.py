"""The `agents:` section, of a workflow or a config: agents by name.

Each is a command (command_agent.py), an endpoint (openai_agent.py), a Python callable, or of a kind that another
distribution registers; what such a kind takes beside the keys of every agent, only it understands.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from hooks.definition import command_agent, openai_agent
from hooks.definition.agent_fields import COMMON, read_common
from hooks.definition.command_agent import read_command_agent
from hooks.definition.fields import Fields, Keys, describe, read_fields
from hooks.definition.model import AgentDeclaration, EntryPointAgent, PythonAgent
from hooks.definition.named_files import check_function
from hooks.definition.openai_agent import openai_keys, read_openai_agent
from hooks.definition.tree import Mapping, Node, Scalar, Source
from hooks.definition.values import read_choice, read_object, read_text, read_texts
from hooks.entry_points import registered_names
from hooks.ids import NODE_ID

_LATER = frozenset({"cwd", "secrets", "retry", "provider", "grace"})
_PYTHON = frozenset({"callable", "model_options"})
_OF_EVERY_KIND = frozenset({*COMMON, "model_options"})
_SYNONYMS = {"model_overrides": "model_options", "working_dir": "cwd"}
_OF_COMMAND = dict.fromkeys(command_agent.OWN, "it belongs to a command agent (`kind: command`)")
_OF_OPENAI = dict.fromkeys(openai_agent.OWN, "it belongs to an openai agent (`kind: openai`)")
_OF_PYTHON = dict.fromkeys(_PYTHON, "it belongs to a python agent (`kind: python`)")
_NO_KEY = {"api_key": openai_agent.API_KEY}


def _beside(own: frozenset[str], *others: dict[str, str]) -> dict[str, str]:
    """What to say of the keys of other kinds, apart from those that the kind has as well."""
    return {key: where for other in others for key, where in other.items() if key not in own}


_KEYS = {
    "command": Keys(
        "a command agent",
        COMMON | command_agent.OWN,
        _LATER,
        _SYNONYMS,
        _beside(command_agent.OWN, _OF_PYTHON, _OF_OPENAI, _NO_KEY),
    ),
    "openai": openai_keys(_LATER, _SYNONYMS, _beside(openai_agent.OWN, _OF_PYTHON, _OF_COMMAND)),
    "python": Keys(
        "a python agent", COMMON | _PYTHON, _LATER, _SYNONYMS, _beside(_PYTHON, _OF_OPENAI, _OF_COMMAND, _NO_KEY)
    ),
}
_TARGET = re.compile(r".+:[A-Za-z_][A-Za-z0-9_.]*\Z")


def read_agents(source: Source, node: Node) -> dict[str, AgentDeclaration]:
    """The agents that are declared without fault; every fault is reported."""
    if not isinstance(node, Mapping):
        source.report(node, f"`agents` must be a mapping of names to agents, but is {describe(node)}")
        return {}
    agents: dict[str, AgentDeclaration] = {}
    for entry in node.entries:
        if not NODE_ID.match(entry.key.text):
            source.report(
                entry.key,
                f"{entry.key.text!r} is no name for an agent",
                "use letters, digits, `_`, `-` and `.`, at most 64",
            )
        agent = _read_agent(source, entry.key, entry.value)
        if agent is not None:
            agents[entry.key.text] = agent
    return agents


def read_target(source: Source, node: Node, what: str) -> str | None:
    """A Python function by place: `module:function` or `file.py:function`."""
    target = read_text(source, node, what)
    if target is not None and not _TARGET.match(target):
        source.report(node, f"{what} is {target!r}", "write `module:function` or `file.py:function`")
        return None
    if target is not None:
        check_function(source, node, target)
    return target


def _read_agent(source: Source, key: Scalar, node: Node) -> AgentDeclaration | None:
    label = f"the agent `{key.text}`"
    kind = _read_kind(source, key, node, label)
    if kind is None:
        return None
    if kind not in _KEYS:
        return _entry_point_agent(source, key, node, kind)
    fields = read_fields(source, node, _KEYS[kind], label)
    if fields is None:
        return None
    match kind:
        case "command":
            return read_command_agent(fields, key)
        case "openai":
            return read_openai_agent(fields, key)
        case _:
            return _python_agent(fields, key)


def _read_kind(source: Source, key: Scalar, node: Node, label: str) -> str | None:
    if not isinstance(node, Mapping):
        source.report(node, f"{label} must be a mapping, but is {describe(node)}", "write {kind: command, argv: […]}")
        return None
    kind = node.get("kind")
    if kind is None:
        source.report(key, f"{label} has no `kind`", "add `kind: command`, `kind: openai` or `kind: python`")
        return None
    known: Collection[str] = _KEYS
    if isinstance(kind, Scalar) and kind.text not in known:
        known = [*known, *registered_names("hooks.agents")]
    return read_choice(source, kind, f"{label}: `kind`", known)


def _entry_point_agent(source: Source, key: Scalar, node: Node, kind: str) -> EntryPointAgent | None:
    """An agent whose further keys only its own kind understands."""
    if not isinstance(node, Mapping):
        return None
    keys = Keys(f"a {kind} agent", _OF_EVERY_KIND, synonyms=_SYNONYMS)
    common = [entry for entry in node.entries if keys.canonical(entry.key.text) in _OF_EVERY_KIND]
    own = Mapping(node.start, [entry for entry in node.entries if entry not in common])
    fields = read_fields(source, Mapping(node.start, common), keys, f"the agent `{key.text}`")
    if fields is None:
        return None
    options_node = fields.value("model_options")
    options = read_texts(source, options_node, "`model_options`", empty=True) if options_node is not None else []
    return EntryPointAgent(
        name=key.text,
        entry_point=kind,
        settings=read_object(source, own, "the agent") or {},
        model_options=options or [],
        **read_common(fields),
    )


def _python_agent(fields: Fields, key: Scalar) -> PythonAgent | None:
    source = fields.source
    node = fields.require("callable", "add `callable: module:function` or `callable: file.py:function`", at=key.start)
    target = read_target(source, node, "`callable`") if node is not None else None
    options_node = fields.value("model_options")
    options = read_texts(source, options_node, "`model_options`", empty=True) if options_node is not None else []
    common = read_common(fields)
    if target is None:
        return None
    return PythonAgent(name=key.text, callable=target, model_options=options or [], **common)
