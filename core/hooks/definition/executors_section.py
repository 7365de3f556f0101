"""The `executors:` section of a config: a command or a callable behind the name a workflow uses."""

from __future__ import annotations

from typing import Any

from hooks.definition.agents_section import read_target
from hooks.definition.environment import read_environment
from hooks.definition.executor_inputs import EXECUTORS
from hooks.definition.fields import Fields, Keys, describe, listed, read_fields
from hooks.definition.model import ExecutorDeclaration
from hooks.definition.named_files import check_program
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source
from hooks.definition.values import read_bool, read_duration, read_texts
from hooks.ids import NODE_ID

_KEYS = Keys(
    "an executor",
    frozenset({"argv", "callable", "lookup", "idempotent", "idempotency_ttl", "idempotency_ttl_ms", "env"}),
    synonyms={"python": "callable"},
)


def read_executors(source: Source, node: Node, *, declared_in: str) -> dict[str, ExecutorDeclaration]:
    """The executors that are declared without fault; every fault is reported."""
    if not isinstance(node, Mapping):
        source.report(node, f"`executors` must be a mapping of names to executors, but is {describe(node)}")
        return {}
    executors: dict[str, ExecutorDeclaration] = {}
    for entry in node.entries:
        _check_name(source, entry.key)
        fields = read_fields(source, entry.value, _KEYS, f"the executor `{entry.key.text}`")
        executor = _read_executor(fields, entry.key, declared_in) if fields is not None else None
        if executor is not None:
            executors[executor.name] = executor
    return executors


def _check_name(source: Source, key: Scalar) -> None:
    if key.text in EXECUTORS:
        source.report(key, f"the executor `{key.text}` is built in", f"choose a name other than {listed(EXECUTORS)}")
    elif not NODE_ID.match(key.text):
        source.report(
            key, f"{key.text!r} is no name for an executor", "use letters, digits, `_`, `-` and `.`, at most 64"
        )


def _refuse_what_only_commands_take(fields: Fields) -> None:
    for key, fix in (
        ("lookup", "remove it: what is called may be a class with a method `lookup`"),
        ("env", "remove it: a function has no environment of its own"),
    ):
        if key in fields:
            fields.source.report(fields.key_place(key), f"`{key}` goes with `argv`, not with a callable", fix)


def _read_executor(fields: Fields, key: Scalar, declared_in: str) -> ExecutorDeclaration | None:
    source = fields.source
    argv, target = fields.value("argv"), fields.value("callable")
    if (argv is None) == (target is None):
        what = "both `argv` and a callable" if argv is not None else "neither `argv` nor a callable"
        source.report(
            key, f"{fields.label} has {what}", "give exactly one: `argv: [./send]` or `python: file.py:function`"
        )
        return None
    found: dict[str, Any] = {"idempotency_ttl_ms": read_duration(fields, "idempotency_ttl")}
    if argv is not None:
        found["argv"] = _read_command(fields, argv, "`argv`")
    if target is not None:
        found["callable"] = read_target(source, target, "`callable`")
        _refuse_what_only_commands_take(fields)
    if (node := fields.value("lookup")) is not None:
        found["lookup"] = _read_command(fields, node, "`lookup`")
    if (node := fields.value("idempotent")) is not None:
        found["idempotent"] = read_bool(source, node, "`idempotent`")
    if (node := fields.value("env")) is not None:
        found["env"] = read_environment(source, node)
    known = {name: value for name, value in found.items() if value is not None}
    return ExecutorDeclaration(name=key.text, declared_in=declared_in, **known)


def _read_command(fields: Fields, node: Node, what: str) -> list[str] | None:
    words = read_texts(fields.source, node, what)
    env = fields.value("env")
    if words and isinstance(node, Sequence) and not (isinstance(env, Mapping) and env.get("PATH")):
        check_program(fields.source, node.items[0], words[0])
    return words
