"""An agent of kind `command` in a file: written out, or as a preset with what is to be different about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hooks.definition.agent_fields import REFERENCE, read_common, read_own_options, report_options
from hooks.definition.agent_presets import PRESETS, Preset
from hooks.definition.environment import read_environment
from hooks.definition.fields import Fields, describe, did_you_mean, listed
from hooks.definition.model import CommandAgent
from hooks.definition.named_files import check_program
from hooks.definition.shell_text import report_pasted_text
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source
from hooks.definition.values import read_bool, read_choice, read_text, read_texts

OWN = frozenset(
    {
        *("preset", "argv", "tools", "output", "extract", "error_extract", "usage_extract", "model_extract"),
        *("error_classes", "model", "options", "model_options", "env"),
    }
)
PROMPT_MARK = "${prompt}"
_ANSWER_PATH = re.compile(r"(?:(?:\A|\.)[^.\[\]]+|\[[0-9]+\]|\[[^.\[\]=]+=[^\[\]]*\])+\Z")
_PATHS = ("extract", "error_extract", "usage_extract", "model_extract")
_SEVERAL = frozenset({"error_extract", "usage_extract"})
_CLASSES = ("retryable", "userFault", "fatal")


@dataclass(frozen=True, slots=True)
class _Chosen:
    preset: Preset
    tools: bool


def read_command_agent(fields: Fields, key: Scalar) -> CommandAgent | None:
    source = fields.source
    chosen = _read_preset(fields)
    argv = _read_argv(fields, key)
    known = _read_own(fields)
    common = read_common(fields)
    if chosen is not None:
        argv = chosen.preset.argv(argv, tools=chosen.tools)
        known, common = _with_preset(fields, chosen, known, common)
    _check_form(fields, known)
    _check_program_of(fields, argv, known)
    if argv is None:
        return None
    agent = CommandAgent(name=key.text, argv=argv, **known, **common)
    report_options(source, fields.value("model_options"), agent)
    return agent


def _read_preset(fields: Fields) -> _Chosen | None:
    source, node, tools_node = fields.source, fields.value("preset"), fields.value("tools")
    if node is None:
        if tools_node is not None:
            source.report(
                fields.key_place("tools"), "`tools` goes with `preset`", "say it with the arguments in `argv`"
            )
        return None
    name = read_choice(source, node, "`preset`", PRESETS)
    if name is None:
        return None
    tools = read_bool(source, tools_node, "`tools`") if tools_node is not None else None
    preset = PRESETS[name]
    if tools_node is not None and preset.without_tools is None:
        source.report(
            fields.key_place("tools"),
            f"the preset `{name}` has no switch for its tools",
            "remove `tools`; `repeatable: true` says that its answers may be drawn again"
            if preset.acts
            else "remove `tools`: it uses none",
        )
    return _Chosen(preset, tools is not False)


def _with_preset(
    fields: Fields, chosen: _Chosen, known: dict[str, Any], common: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was read from the file, over what the preset stands for."""
    preset = chosen.preset
    told: dict[str, Any] = {"error_classes": preset.error_classes()}
    if known.get("output", preset.output) == preset.output:
        # Of another form of output the preset's paths know nothing.
        told |= {"output": preset.output, **{name: getattr(preset, name) for name in _PATHS}}
    whole = {name: value for name, value in {**told, **known}.items() if value is not None}
    whole["options"] = {**preset.options_with(tools=chosen.tools), **known.get("options", {})}
    if (model := known.get("model")) is not None:
        if "model" in known["model_options"]:
            fields.source.report(
                fields.key_place("model"), "`model` and `model_options.model` say the same thing twice", "remove one"
            )
        whole["model_options"] = {"model": model, **known["model_options"]}
    acts = preset.acts and chosen.tools
    return whole, {"timeout_ms": preset.timeout_ms, "repeatable": not acts, **common}


def _read_argv(fields: Fields, key: Scalar) -> list[str] | None:
    source = fields.source
    if "preset" in fields:
        node = fields.value("argv")
    else:
        fix = f"add the command: argv: [./agent.sh]; or one of {listed(PRESETS)} as `preset`"
        node = fields.require("argv", fix, at=key.start)
    argv = read_texts(source, node, "`argv`") if node is not None else None
    if node is not None and argv is not None:
        _check_argv(source, node, argv)
    return argv


def _read_own(fields: Fields) -> dict[str, Any]:
    """The fields that are given, apart from argv."""
    source = fields.source
    known: dict[str, Any] = {}
    if (node := fields.value("output")) is not None:
        known["output"] = read_choice(source, node, "`output`", ("text", "json", "jsonl"))
    if (node := fields.value("model")) is not None:
        known["model"] = read_text(source, node, "`model`")
    for name in _PATHS:
        if (node := fields.value(name)) is not None:
            known[name] = _read_paths(source, node, f"`{name}`", several=name in _SEVERAL)
    if (node := fields.value("error_classes")) is not None:
        known["error_classes"] = _read_error_classes(source, node)
    if (node := fields.value("options")) is not None:
        known["options"] = _read_options(source, node)
    if (node := fields.value("env")) is not None:
        known["env"] = read_environment(source, node)
    known["model_options"] = read_own_options(fields)
    return {name: value for name, value in known.items() if value is not None}


def _check_form(fields: Fields, known: dict[str, Any]) -> None:
    source = fields.source
    if known.get("output", "text") == "text":
        for name in _PATHS:
            if name in fields:
                source.report(fields.key_place(name), f"`{name}` needs a JSON answer", "add `output: json`")
    elif known.get("output") == "jsonl" and "extract" not in known and "extract" not in fields:
        source.report(
            fields.key_place("output"),
            "`output: jsonl` does not say which line has the answer",
            "add `extract`, such as `[type=message].text`; the last line that has it counts",
        )


def _check_program_of(fields: Fields, argv: list[str] | None, known: dict[str, Any]) -> None:
    """Look for the program, where it is the environment of the file that says where."""
    node = fields.value("argv") or fields.value("preset")
    if argv and node is not None and "PATH" not in (known.get("env") or {}):
        check_program(fields.source, node.items[0] if isinstance(node, Sequence) else node, argv[0])


def _read_paths(source: Source, node: Node, what: str, *, several: bool) -> str | list[str] | None:
    if several and isinstance(node, Sequence):
        paths = [_read_answer_path(source, item, f"{what[:-1]}[{at}]`") for at, item in enumerate(node.items)]
        found = [path for path in paths if path is not None]
        return found if len(found) == len(paths) else None
    return _read_answer_path(source, node, what)


def _read_error_classes(source: Source, node: Node) -> dict[str, list[str]] | None:
    if not isinstance(node, Mapping):
        source.report(
            node,
            f"`error_classes` must map classes to regular expressions, but is {describe(node)}",
            "write {retryable: ['rate limit'], userFault: ['api key']}",
        )
        return None
    classes: dict[str, list[str]] = {}
    for entry in node.entries:
        name = entry.key.text
        if name not in _CLASSES:
            fix = did_you_mean(name, _CLASSES) or f"there is: {listed(_CLASSES)}"
            source.report(entry.key, f"`error_classes`: `{name}` is no class that an agent's error can have", fix)
            continue
        patterns = read_texts(source, entry.value, f"`error_classes.{name}`", one=True)
        for pattern in patterns or ():
            try:
                re.compile(pattern)
            except re.error as error:
                source.report(
                    entry.value, f"`error_classes.{name}`: {pattern!r} is no regular expression ({error})", "correct it"
                )
        classes[name] = patterns or []
    return classes


def _read_answer_path(source: Source, node: Node, what: str) -> str | None:
    path = read_text(source, node, what)
    if path is not None and not _ANSWER_PATH.match(path):
        source.report(node, f"{what}: {path!r} is no path into a JSON document", "write it like `choices[0].text`")
        return None
    return path


def _check_argv(source: Source, node: Node, argv: list[str]) -> None:
    items = node.items if isinstance(node, Sequence) else [node]
    for item, text in zip(items, argv, strict=True):
        if REFERENCE.search(text.replace("$${", "")):
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
