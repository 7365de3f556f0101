"""The `agents:` section, of a workflow or a config: agents by name.

Each is a command, a Python callable, or of a kind that another distribution registers; what such a kind takes beside
the keys of every agent, only it understands.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from hooks.definition.environment import read_environment
from hooks.definition.fields import Fields, Keys, describe, read_fields
from hooks.definition.model import AgentDeclaration, CommandAgent, EntryPointAgent, PythonAgent
from hooks.definition.named_files import check_function, check_program
from hooks.definition.shell_text import report_pasted_text
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source
from hooks.definition.values import read_bool, read_choice, read_duration, read_object, read_text, read_texts
from hooks.entry_points import registered_names
from hooks.ids import NODE_ID

PROMPT_MARK = "${prompt}"

_LATER = frozenset({"preset", "base_url", "api_key", "cwd", "secrets", "retry", "tools", "provider", "grace"})
_COMMAND = {"argv", "output", "extract", "error_extract", "model", "options", "env"}
_PYTHON = {"callable", "model_options"}
_COMMON = {"kind", "timeout", "timeout_ms", "repeatable"}
_OF_EVERY_KIND = frozenset({*_COMMON, "model_options"})
_LATER_KINDS = ("openai",)
_SYNONYMS = {"model_overrides": "model_options", "working_dir": "cwd"}

_KEYS = {
    "command": Keys(
        "a command agent",
        frozenset(_COMMON | _COMMAND),
        _LATER,
        _SYNONYMS,
        dict.fromkeys(_PYTHON, "it belongs to a python agent; a command agent lists its model options under `options`"),
    ),
    "python": Keys(
        "a python agent",
        frozenset(_COMMON | _PYTHON),
        _LATER,
        _SYNONYMS,
        dict.fromkeys(_COMMAND, "it belongs to a command agent (`kind: command`)"),
    ),
}
_TARGET = re.compile(r".+:[A-Za-z_][A-Za-z0-9_.]*\Z")
_ANSWER_PATH = re.compile(r"(?:(?:\A|\.)[^.\[\]]+|\[[0-9]+\])+\Z")
_REFERENCE = re.compile(r"\$\{\s*(?:params\.|run\.|item\b|[A-Za-z0-9_.-]+\.(?:output|status|previous)\b)")


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
    return _command_agent(fields, key) if kind == "command" else _python_agent(fields, key)


def _read_kind(source: Source, key: Scalar, node: Node, label: str) -> str | None:
    if not isinstance(node, Mapping):
        source.report(node, f"{label} must be a mapping, but is {describe(node)}", "write {kind: command, argv: […]}")
        return None
    kind = node.get("kind")
    if kind is None:
        source.report(key, f"{label} has no `kind`", "add `kind: command` or `kind: python`")
        return None
    known: Collection[str] = _KEYS
    if isinstance(kind, Scalar) and kind.text not in (*known, *_LATER_KINDS):
        known = [*known, *registered_names("hooks.agents")]
    return read_choice(source, kind, f"{label}: `kind`", known, later=_LATER_KINDS)


def _read_common(fields: Fields) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if (timeout_ms := read_duration(fields, "timeout")) is not None:
        found["timeout_ms"] = timeout_ms
    node = fields.value("repeatable")
    if node is not None and (repeatable := read_bool(fields.source, node, "`repeatable`")) is not None:
        found["repeatable"] = repeatable
    return found


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
        **_read_common(fields),
    )


def _command_agent(fields: Fields, key: Scalar) -> CommandAgent | None:
    source = fields.source
    argv_node = fields.require("argv", "add the command: argv: [./agent.sh]", at=key.start)
    argv = read_texts(source, argv_node, "`argv`") if argv_node is not None else None
    if argv_node is not None and argv is not None:
        _check_argv(source, argv_node, argv)
    known: dict[str, Any] = {}
    if (node := fields.value("output")) is not None:
        known["output"] = read_choice(source, node, "`output`", ("text", "json"))
    if (node := fields.value("model")) is not None:
        known["model"] = read_text(source, node, "`model`")
    for name in ("extract", "error_extract"):
        if (node := fields.value(name)) is not None:
            known[name] = _read_answer_path(source, node, f"`{name}`")
    if (node := fields.value("options")) is not None:
        known["options"] = _read_options(source, node)
    if (node := fields.value("env")) is not None:
        known["env"] = read_environment(source, node)
    for name in ("extract", "error_extract"):
        if name in fields and known.get("output") != "json":
            source.report(fields.key_place(name), f"`{name}` needs a JSON answer", "add `output: json`")
    if argv and isinstance(argv_node, Sequence) and "PATH" not in (known.get("env") or {}):
        check_program(source, argv_node.items[0], argv[0])
    common = _read_common(fields)
    if argv is None:
        return None
    known = {name: value for name, value in known.items() if value is not None}
    return CommandAgent(name=key.text, argv=argv, **known, **common)


def _read_answer_path(source: Source, node: Node, what: str) -> str | None:
    path = read_text(source, node, what)
    if path is not None and not _ANSWER_PATH.match(path):
        source.report(node, f"{what}: {path!r} is no path into a JSON document", "write it like `choices[0].text`")
        return None
    return path


def _check_argv(source: Source, node: Node, argv: list[str]) -> None:
    items = node.items if isinstance(node, Sequence) else [node]
    for item, text in zip(items, argv, strict=True):
        if _REFERENCE.search(text.replace("$${", "")):
            source.report(
                item,
                "references do not work in an agent's `argv`",
                f"put the value into the prompt; `{PROMPT_MARK}` is the prompt",
            )
    report_pasted_text(source, items, argv, f"`{PROMPT_MARK}`", is_pasted=lambda text: PROMPT_MARK in text)


def _read_options(source: Source, node: Node) -> dict[str, list[str]] | None:
    if not isinstance(node, Mapping):
        source.report(
            node,
            f"`options` must map model options to argv, but is {describe(node)}",
            'write {temperature: [--temperature, "{value}"]}',
        )
        return None
    options = {}
    for entry in node.entries:
        what = f"`options.{entry.key.text}`"
        if isinstance(entry.value, Scalar) and not isinstance(entry.value.value, str):
            source.report(
                entry.value,
                f"{what} must be the arguments the option becomes, but is {describe(entry.value)}",
                f'write [--{entry.key.text}, "{{value}}"] here; the value goes under `model_options` of a step',
            )
            continue
        argv = read_texts(source, entry.value, what, one=True)
        if argv is not None:
            options[entry.key.text] = argv
    return options


def _python_agent(fields: Fields, key: Scalar) -> PythonAgent | None:
    source = fields.source
    node = fields.require("callable", "add `callable: module:function` or `callable: file.py:function`", at=key.start)
    target = read_target(source, node, "`callable`") if node is not None else None
    options_node = fields.value("model_options")
    options = read_texts(source, options_node, "`model_options`", empty=True) if options_node is not None else []
    common = _read_common(fields)
    if target is None:
        return None
    return PythonAgent(name=key.text, callable=target, model_options=options or [], **common)
