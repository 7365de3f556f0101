"""Conditions (`if`): bare CEL over what is known when the turn of a node comes.

A condition reads `params.x`, `run.id`, the nodes upstream by their id (`rounds.output`, `rounds.status`; in a loop
`ok.previous.comment`), and by `nodes["my-node"]` those whose id is no CEL name. `always()` is true: a condition that
calls it, or reads a status, is asked even though something upstream was skipped or failed. The output of a node that
has none is null.

Which names a condition reads is told from its text alone, without the library that evaluates it: the graph of every
run needs to know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from hooks.expressions.cel import CelError, compile_expression, evaluate
from hooks.expressions.references import PreviousReference
from hooks.expressions.scope import RunScope

Json: TypeAlias = Any

ALWAYS = "always"
NODES = "nodes"
FUNCTIONS = frozenset(
    {
        *("size", "has", "int", "uint", "double", "string", "bytes", "bool", "type", "dyn", "timestamp", "duration"),
        *("min", "max", "matches", "contains", "startsWith", "endsWith"),
        ALWAYS,
    }
)
"""What may be called without a value in front."""

MACROS = ("all", "exists", "exists_one", "existsOne", "map", "filter")
"""What goes through a list, with a name for its elements."""

_KEYWORDS = frozenset({"true", "false", "null", "in"})
_NOT_NODES = frozenset({"params", "run", NODES})
_STRING = r"""[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
# A member is no part of a path when it is called: in `a.output.size()` the path is `a.output`.
_MEMBERS = r"(?:\s*\.\s*[A-Za-z_]\w*\b(?!\s*\())*"
_TOKEN = re.compile(
    rf"""
      //[^\n]*
    | \b{NODES}\s*\[\s*(?P<quoted>{_STRING})\s*\](?P<quoted_members>{_MEMBERS})
    | {_STRING}
    | \.\s*[A-Za-z_]\w*
    | (?P<function>[A-Za-z_]\w*\b)(?=\s*\()
    | (?P<name>[A-Za-z_]\w*)(?P<members>{_MEMBERS})
    """,
    re.VERBOSE | re.DOTALL,
)
_BOUND_BY_MACRO = re.compile(rf"\.\s*(?:{'|'.join(MACROS)})\s*\(\s*([A-Za-z_]\w*)\s*,")
_MEMBER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class NameUse:
    """A value that a condition names: `a.output.k` or, quoted, `nodes["a"].output.k`; `offset` is where in the text."""

    name: str
    members: tuple[str, ...]
    offset: int
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class CallUse:
    """A function that a condition calls."""

    name: str
    offset: int


def uses_in(text: str) -> Iterator[NameUse | CallUse]:
    """The values and functions a condition names, in order; what a macro such as `exists` binds is none of them."""
    bound = set(_BOUND_BY_MACRO.findall(text))
    for token in _TOKEN.finditer(text):
        if token["quoted"] is not None:
            members = tuple(_MEMBER.findall(token["quoted_members"]))
            yield NameUse(token["quoted"].strip("\"'"), members, token.start(), is_quoted=True)
        elif token["function"] is not None:
            yield CallUse(token["function"], token.start())
        elif token["name"] is not None and token["name"] not in _KEYWORDS | bound:
            yield NameUse(token["name"], tuple(_MEMBER.findall(token["members"])), token.start())


def tolerates_failure(condition: str | bool | None) -> bool:
    """Whether a node with this condition may run though something upstream did not: it asks how that ended."""
    if not isinstance(condition, str):
        return False
    return any(
        use.name == ALWAYS if isinstance(use, CallUse) else is_node(use) and use.members[:1] == ("status",)
        for use in uses_in(condition)
    )


def is_node(use: NameUse) -> bool:
    """Whether the use is one of a node, if it is one of anything."""
    return use.is_quoted or use.name not in _NOT_NODES


def evaluate_condition(condition: str | bool, scope: RunScope) -> bool:
    """Whether the node is to run. Loads only the outputs the condition reads.

    Raises CelError for what cannot be evaluated or is neither true nor false, UnresolvedReferenceError for an output
    that was cut.
    """
    if isinstance(condition, bool):
        return condition
    value = evaluate(compile_expression(condition), _variables(condition, scope))
    if not isinstance(value, bool):
        raise CelError(f"`{condition}` is neither true nor false, but {value!r}")
    return value


def _variables(condition: str, scope: RunScope) -> dict[str, Any]:
    nodes: dict[str, dict[str, Json]] = {}
    variables: dict[str, Any] = {"params": dict(scope.params), "run": {"id": scope.run_id}, ALWAYS: lambda: True}
    for use in uses_in(condition):
        if isinstance(use, NameUse) and is_node(use) and use.name in scope.node_ids and use.members:
            node = nodes.setdefault(use.name, {})
            node[use.members[0]] = _field(use, scope)
            if not use.is_quoted:
                variables[use.name] = node
    return {**variables, NODES: nodes}


def _field(use: NameUse, scope: RunScope) -> Json:
    match use.members:
        case ["output", *parts]:
            return _output(use.name, parts, scope)
        case ["status", *_]:
            return scope.status_of(use.name)
        case ["previous", *_]:
            return {
                "output": scope.lookup(PreviousReference(use.name, "output")),
                "status": scope.lookup(PreviousReference(use.name, "status")),
                "comment": scope.lookup(PreviousReference(use.name, "comment")),
            }
        case _:
            return None


def _output(node_id: str, parts: list[str], scope: RunScope) -> Json:
    try:
        output = scope.output_of(node_id)
    except KeyError:
        return None
    if parts and isinstance(output, dict) and parts[0] in output:
        # The library takes a mapping's items without asking; a part that was cut says so only when it is asked for.
        output[parts[0]]
    return output
