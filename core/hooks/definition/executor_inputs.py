"""What the known executors take as `input`: checked as far as it is literal, and how its templates are bound.

A `script` is code and not a template: `${HOME}` in it is the shell's own, so it is kept escaped. The places that can
only hold text (a file's content, stdin) turn any value into text; everywhere else a lone reference keeps its type.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from typing import Any, TypeAlias

from hooks.definition.agents_section import read_target
from hooks.definition.fields import Fields, Keys, describe, read_fields
from hooks.definition.http_input import HTTP_KEYS, check_http
from hooks.definition.literals import BESIDE, check_durations, check_flags, is_computed, literal
from hooks.definition.model import HostExecutorNode, WorkNode
from hooks.definition.shell_text import find_reference, report_pasted_text
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source, to_value
from hooks.definition.values import is_text, item_of, read_choice, read_object, read_text, read_texts
from hooks.expressions.references import BadReferenceError
from hooks.expressions.secrets import BoundInput, bind_around_secrets, pointer_to
from hooks.expressions.templates import (
    Placeholder,
    Scope,
    bind_text,
    bind_word,
    escape,
    parse_template,
)

Json: TypeAlias = Any

EXECUTORS = ("shell", "file", "http", "python")
OUTPUT_KEYS: AbstractMapping[str, tuple[str, ...]] = {
    "shell": ("stdout", "exit_code", "stdout_bytes", "truncated", "truncated_fields", "decoded_with_replacement"),
    "file": ("path", "bytes", "sha256"),
    "http": ("status", "headers", "body", "json", "truncated", "truncated_fields"),
}
"""The keys of an executor's output, where they are fixed."""

_SCRIPT = "script"
_WORDS = frozenset({"argv", "lookup"})
_TEXT = {
    "shell": frozenset({"stdin"}),
    "file": frozenset({"path", "content"}),
    "http": frozenset({"url", "method", "body"}),
}
_RECORDED = {
    "shell": frozenset({*_WORDS, "shell"}),
    "file": frozenset({"path", "mode"}),
    "http": frozenset({"method"}),
    "python": frozenset({"callable"}),
}
"""What other processes, the log or messages see: no place for a secret."""
_DURATIONS = ("settle", "idempotency_ttl")
_REPEATING = frozenset({"idempotent", *_DURATIONS, *(f"{name}_ms" for name in _DURATIONS)})

INPUT_KEYS: AbstractMapping[str, Keys] = {
    "shell": Keys(
        "the input of `shell`",
        frozenset({"argv", "script", "stdin", "shell", "lookup"}) | _REPEATING,
        synonyms={"working_dir": "cwd"},
        elsewhere=BESIDE,
    ),
    "file": Keys("the input of `file`", frozenset({"path", "mode", "content"}), frozenset({"json"}), elsewhere=BESIDE),
    "http": HTTP_KEYS,
    "python": Keys("the input of `python`", frozenset({"callable", "args", "isolate"}) | _REPEATING, elsewhere=BESIDE),
}
"""What the `input` of each executor takes."""


def read_input(source: Source, node: Node, executor: str) -> dict[str, Json] | None:
    """The input of a call of `executor`, with every fault that shows without running it reported.

    What an executor that is not built in takes, only that executor knows.
    """
    if executor not in EXECUTORS:
        return read_object(source, node, "`input`")
    fields = read_fields(source, node, INPUT_KEYS[executor], f"the input of `{executor}`")
    if fields is None:
        return None
    _CHECKS[executor](fields)
    return _input_values(fields, executor)


def is_script(executor: str, key: str) -> bool:
    """Whether what stands there is code, in which nothing is a reference."""
    return executor == "shell" and key == _SCRIPT


def may_hold_secret(executor: str, key: str) -> bool:
    return key not in _RECORDED.get(executor, ())


def bind_input(node: HostExecutorNode, scope: Scope) -> BoundInput:
    """The input of an executor call with its references replaced, but for secrets. Raises UnresolvedReferenceError."""
    bound: dict[str, Json] = {}
    pointers: list[str] = []
    for key, value in node.input.items():
        part = _bind_key(node.executor, key, value, scope)
        bound[key] = part.input
        pointers += [pointer_to("", key) + inner for inner in part.secret_pointers]
    return BoundInput(bound, tuple(pointers))


def bind_env(node: WorkNode, scope: Scope) -> BoundInput:
    """What the node adds to the environment, as texts, but for secrets. Raises UnresolvedReferenceError."""
    return bind_around_secrets(node.env, scope, bind_text)


def _bind_key(executor: str, key: str, value: Json, scope: Scope) -> BoundInput:
    if key in _TEXT.get(executor, ()):
        return bind_around_secrets(value, scope, bind_text)
    if executor == "shell" and key in _WORDS and isinstance(value, list):
        return BoundInput([bind_word(word, scope) for word in value])
    return bind_around_secrets(value, scope)


def _input_values(fields: Fields, executor: str) -> dict[str, Json]:
    """The input as JSON, in the one form in which workflow.json and the executors know it."""
    values: dict[str, Json] = {}
    for key in fields:
        node = fields.value(key)
        assert node is not None
        if is_script(executor, key):
            values[key] = escape(str(to_value(node)))
        elif key in _TEXT.get(executor, ()) and isinstance(node, Scalar) and is_text(node):
            values[key] = node.text
        elif executor == "shell" and key in _WORDS and isinstance(node, Sequence):
            values[key] = [item.text if isinstance(item, Scalar) else to_value(item) for item in node.items]
        else:
            values[key.removesuffix("_ms")] = to_value(node)
    return values


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
        if (node := literal(fields, key)) is not None:
            _check_argv(source, node, f"`{key}`")
    if (node := fields.value("script")) is not None:
        _check_script(source, node)
    if (node := literal(fields, "stdin")) is not None:
        read_text(source, node, "`stdin`", blank=True)
    if (node := literal(fields, "shell")) is not None:
        if isinstance(node, Sequence):
            read_texts(source, node, "`shell`")
        else:
            read_text(source, node, "`shell`")
    check_flags(fields, ("idempotent",))
    check_durations(fields, _DURATIONS)


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
            'give it a name under `env:` of the node, and write "$NAME" here',
        )


def _check_file(fields: Fields) -> None:
    source = fields.source
    for key in ("path", "content"):
        node = fields.require(key, f"add `{key}:`")
        if node is not None and not is_computed(node):
            read_text(source, node, f"`{key}`", blank=key == "content")
    if (node := literal(fields, "mode")) is not None:
        read_choice(source, node, "`mode`", ("write", "replace", "append"))


def _check_python(fields: Fields) -> None:
    source = fields.source
    node = fields.require("callable", "add `callable: module:function` or `callable: file.py:function`")
    if node is not None and not is_computed(node):
        read_target(source, node, "`callable`")
    if (node := literal(fields, "args")) is not None and not isinstance(node, Mapping):
        source.report(
            node, f"`args` must be a mapping of names to values, but is {describe(node)}", "write {name: value}"
        )
    check_flags(fields, ("idempotent", "isolate"))
    check_durations(fields, _DURATIONS)


_CHECKS = {"shell": _check_shell, "file": _check_file, "http": check_http, "python": _check_python}
