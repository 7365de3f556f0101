"""What the known executors take as `input`: checked as far as it is literal, and how its templates are bound.

A `script` is code and not a template: `${HOME}` in it is the shell's own, so it is kept escaped. The places that can
only hold text (a file's content, stdin) turn any value into text; everywhere else a lone reference keeps its type.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from typing import Any, TypeAlias

from hooks.definition.agents_section import read_target
from hooks.definition.fields import Fields, Keys, describe, read_fields
from hooks.definition.model import HostExecutorNode
from hooks.definition.named_files import check_step_program
from hooks.definition.shell_text import find_reference, report_pasted_text
from hooks.definition.tree import Entry, Mapping, Node, Scalar, Sequence, Source, to_value
from hooks.definition.values import is_text, item_of, read_bool, read_choice, read_duration, read_text, read_texts
from hooks.expressions.references import BadReferenceError
from hooks.expressions.templates import (
    Placeholder,
    Scope,
    bind,
    bind_text,
    escape,
    is_one_reference,
    parse_template,
)

Json: TypeAlias = Any

EXECUTORS = ("shell", "file", "python")
LATER_EXECUTORS = ("http",)
OUTPUT_KEYS: AbstractMapping[str, tuple[str, ...]] = {
    "shell": ("stdout", "exit_code", "stdout_bytes", "truncated", "decoded_with_replacement"),
    "file": ("path", "bytes", "sha256"),
}
"""The keys of an executor's output, where they are fixed."""

_SCRIPT = "script"
_WORDS = frozenset({"argv", "lookup"})
_TEXT = {"shell": frozenset({"stdin"}), "file": frozenset({"path", "content"})}
_DURATIONS = frozenset({"settle", "idempotency_ttl"})

_SHELL_KEYS = Keys(
    "the input of `shell`",
    frozenset(
        {"argv", "script", "stdin", "shell", "lookup", "idempotent"}
        | _DURATIONS
        | {f"{name}_ms" for name in _DURATIONS}
    ),
    frozenset({"env", "cwd", "secrets", "isolate"}),
    {"working_dir": "cwd"},
)
_FILE_KEYS = Keys("the input of `file`", frozenset({"path", "mode", "content"}), frozenset({"json"}))
_PYTHON_KEYS = Keys("the input of `python`", frozenset({"callable", "args"}), frozenset({"isolate"}))


def read_input(source: Source, node: Node, executor: str) -> dict[str, Json] | None:
    """The input of a call of `executor`, with every fault that shows without running it reported."""
    keys = {"shell": _SHELL_KEYS, "file": _FILE_KEYS, "python": _PYTHON_KEYS}[executor]
    fields = read_fields(source, node, keys, f"the input of `{executor}`")
    if fields is None:
        return None
    check = {"shell": _check_shell, "file": _check_file, "python": _check_python}[executor]
    check(fields)
    return _input_values(fields, executor)


def template_entries(input_node: Mapping) -> list[Entry]:
    """The entries of an input that a person may write references in."""
    return [entry for entry in input_node.entries if entry.key.text != _SCRIPT]


def bind_input(node: HostExecutorNode, scope: Scope) -> dict[str, Json]:
    """The input of an executor call with its references replaced. Raises UnresolvedReferenceError."""
    text = _TEXT.get(node.executor, frozenset())
    return {key: bind_text(value, scope) if key in text else bind(value, scope) for key, value in node.input.items()}


def _input_values(fields: Fields, executor: str) -> dict[str, Json]:
    """The input as JSON, in the one form in which workflow.json and the executors know it."""
    values: dict[str, Json] = {}
    for key in fields:
        node = fields.value(key)
        assert node is not None
        if key == _SCRIPT:
            values[key] = escape(str(to_value(node)))
        elif key in _TEXT.get(executor, ()) and isinstance(node, Scalar) and is_text(node):
            values[key] = node.text
        elif key in _WORDS and isinstance(node, Sequence):
            values[key] = [item.text if isinstance(item, Scalar) else to_value(item) for item in node.items]
        else:
            values[key.removesuffix("_ms")] = to_value(node)
    return values


def is_computed(node: Node | None) -> bool:
    """Whether the value is only known when the step runs."""
    if isinstance(node, Scalar):
        return isinstance(node.value, str) and is_one_reference(node.value)
    return isinstance(node, Mapping) and node.get("$ref") is not None


def _literal(fields: Fields, key: str) -> Node | None:
    node = fields.value(key)
    return None if node is None or is_computed(node) else node


def _check_shell(fields: Fields) -> None:
    source = fields.source
    if ("argv" in fields) == ("script" in fields):
        what = "both `argv` and `script`" if "argv" in fields else "neither `argv` nor `script`"
        source.report(
            fields.key_place("script"), f"the input of `shell` has {what}", "give exactly one: argv: [echo, hello]"
        )
    if "shell" in fields and "argv" in fields:
        source.report(fields.key_place("shell"), "`shell` goes with `script`, not with `argv`", "write argv: [bash, …]")
    for key in sorted(_WORDS):
        if (node := _literal(fields, key)) is not None:
            _check_argv(source, node, f"`{key}`")
    if (node := fields.value("script")) is not None:
        _check_script(source, node)
    if (node := _literal(fields, "stdin")) is not None:
        read_text(source, node, "`stdin`", blank=True)
    if (node := _literal(fields, "shell")) is not None:
        if isinstance(node, Sequence):
            read_texts(source, node, "`shell`")
        else:
            read_text(source, node, "`shell`")
    if (node := _literal(fields, "idempotent")) is not None:
        read_bool(source, node, "`idempotent`")
    for key in sorted(_DURATIONS):
        if not any(is_computed(fields.value(name)) for name in (key, f"{key}_ms")):
            read_duration(fields, key)


def _check_argv(source: Source, node: Node, what: str) -> None:
    if not isinstance(node, Sequence):
        read_texts(source, node, what)
        return
    if not node.items:
        read_texts(source, node, what)
    words = []
    for index, item in enumerate(node.items):
        word = "" if is_computed(item) else read_text(source, item, item_of(what, index), blank=index > 0)
        if word is not None and "\0" in word:
            source.report(item, f"{item_of(what, index)} holds a NUL character, which no argument can", "remove it")
        words.append(item.text if isinstance(item, Scalar) else "")
    if words and words[0]:
        check_step_program(source, node.items[0], words[0])
    report_pasted_text(source, node.items, words, "a reference", is_pasted=_has_reference)


def _has_reference(text: str) -> bool:
    try:
        return any(isinstance(piece, Placeholder) for piece in parse_template(text))
    except BadReferenceError:
        return False  # reported where references are checked


def _check_script(source: Source, node: Node) -> None:
    script = read_text(source, node, "`script`")
    found = find_reference(script) if script is not None else None
    if script is not None and found is not None:
        end = script.find("}", found) + 1
        source.report(
            source.offset_in(node, script, found),
            f"`{script[found:end]}` in `script` would be run as code",
            "pass the value through `stdin`, or use `argv`: its elements may hold references",
        )


def _check_file(fields: Fields) -> None:
    source = fields.source
    for key in ("path", "content"):
        node = fields.require(key, f"add `{key}:`")
        if node is not None and not is_computed(node):
            read_text(source, node, f"`{key}`", blank=key == "content")
    if (node := _literal(fields, "mode")) is not None:
        read_choice(source, node, "`mode`", ("write", "replace", "append"))


def _check_python(fields: Fields) -> None:
    source = fields.source
    node = fields.require("callable", "add `callable: module:function` or `callable: file.py:function`")
    if node is not None and not is_computed(node):
        read_target(source, node, "`callable`")
    if (node := _literal(fields, "args")) is not None and not isinstance(node, Mapping):
        source.report(
            node, f"`args` must be a mapping of names to values, but is {describe(node)}", "write {name: value}"
        )
