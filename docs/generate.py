"""Writes docs/reference/ from the classes: `python docs/generate.py`. A test holds that what is committed is this.

What a page says of a class is its docstring, of a field the text below it; the rest (types, what may be changed, who
may block) is computed. So whoever wants to say more says it in the class.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from pydantic import BaseModel

from hooks import definition
from hooks.definition.executor_inputs import INPUT_KEYS, OUTPUT_KEYS
from hooks.definition.fields import Keys
from hooks.definition.hook_points import RULES, HookType, alias_of
from hooks.definition.node_keys import EVERY_KEY, NODE_KEYS, NODE_TYPES
from hooks.events import envelope, payloads
from hooks.events.payloads import EVENT_TYPES, Payload
from hooks.executors.file import FileExecutor
from hooks.executors.http import HttpExecutor
from hooks.executors.python import PythonExecutor
from hooks.executors.shell import ShellExecutor
from hooks.kernel.status import EXIT_CODES as STATUS_CODES
from hooks.pipeline.history import OCCASIONS
from hooks.pipeline.hook_points import HOOK_POINTS
from hooks.pipeline.payload_base import HookPayload
from hooks_cli.failures import ACCEPTABLE, EXIT_CODES, WORST_FIRST

COMMAND = "python docs/generate.py"
REFERENCE = Path(__file__).parent / "reference"
_HEAD = f"<!-- Written by `{COMMAND}` from the classes; edit those. -->\n\n"
_EXECUTORS = {"shell": ShellExecutor, "file": FileExecutor, "http": HttpExecutor, "python": PythonExecutor}
_WORDS = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
    Any: "any JSON",
    NoneType: "null",
}


class Row(NamedTuple):
    """A field, and what there is to say of it."""

    name: str
    type: str
    meaning: str


def pages() -> dict[str, str]:
    """The files of docs/reference/, by name."""
    made = {
        "hook-points.md": hook_points(),
        "events.md": events(),
        "exit-codes.md": exit_codes(),
        "workflow-files.md": workflow_files(),
    }
    return {name: _HEAD + text for name, text in made.items()}


# ---- hook points ---------------------------------------------------------------------------------------------------


def hook_points() -> str:
    in_short = [[f"[`{point}`](#{point})", _first_sentence(_text(HOOK_POINTS[point]))] for point in HookType]
    return _joined(
        [
            _paragraphs(_ABOUT_HOOK_POINTS),
            _table(["point", "in short"], in_short),
            "## Fields of all points",
            _rows_table(_rows(HookPayload)),
            *(_hook_point(point) for point in HookType),
            "## Values",
            *Values(HOOK_POINTS.values()).sections(),
        ]
    )


_ABOUT_HOOK_POINTS = """\
# Hook points

A hook is asked at one of these points, with a payload of these fields. Every field is always there, null where it does
not apply. `hooks policy sample POINT` prints a payload, `hooks schema payload POINT` its JSON Schema. How hooks are
written is told in [Writing policies](../policies.md).

What may be changed is **bold**. A hook that looks on is asked when it has happened, in mode audit. The occasion is the
event at which `hooks policy test NAME --run RUN --seq N` finds the payload.
"""


def _hook_point(point: HookType) -> str:
    payload, rules = HOOK_POINTS[point], RULES[point]
    writable = payload.writable_fields()
    may = [word for word, is_so in (("block", rules.can_block), ("ask", rules.can_ask)) if is_so]
    if writable:
        may.append(f"change {_listed(writable)}")
    facts = [
        f"May {', '.join(may)}." if may else "Looks on." if rules.observe_only else "May say no, which is recorded.",
        f"`match` by {_listed(sorted(rules.match))}.",
        f"Default mode {rules.default_mode}.",
        *([f"Also `on: {alias}`."] if (alias := alias_of(point)) else []),
        f"Occasion: {_listed(OCCASIONS[point])}.",
    ]
    own = [row for row in _rows(payload) if row.name not in HookPayload.model_fields]
    bold = [row._replace(name=f"**{row.name}**") if row.name in writable else row for row in own]
    return _joined([f"## {point}", _text(payload), " ".join(facts), *([_rows_table(bold)] if bold else [])])


# ---- events --------------------------------------------------------------------------------------------------------


def events() -> str:
    return _joined(
        [
            "# Events",
            _text(envelope),
            _paragraphs(_ABOUT_EVENTS),
            *(part for title, types in _event_sections() for part in [f"## {title}", *map(_event, types)]),
            "## Values",
            *Values(EVENT_TYPES.values()).sections(),
        ]
    )


_ABOUT_EVENTS = """\
Events are written by the one process that drives the run; `actor` says on whose behalf. A *decision* is made by the
kernel from the events before it, and made again by `hooks replay`. An *input* is a fact from outside: an answer, an
outcome, what was bound, permitted or evaluated.

A field that has its default is left out. A value over 8 KiB stands as `{outputHash, outputPath, outputBytes,
contentType}`, and its bytes in `blobs/`.
"""


def _event_sections() -> Iterator[tuple[str, list[type[Payload]]]]:
    """The event types under the headings that their module has."""
    title, types = "", list[type[Payload]]()
    names = {event.__name__: event for event in EVENT_TYPES.values()}
    for line in inspect.getsource(payloads).splitlines():
        heading = re.match(r"# -{4} (?:the )?(.*?) -+$", line)
        declared = re.match(r"class (\w+)\(", line)
        if heading:
            if types:
                yield title.capitalize(), types
            title, types = heading[1], []
        elif declared and declared[1] in names:
            types.append(names[declared[1]])
    yield title.capitalize(), types


def _event(event: type[Payload]) -> str:
    rows = _rows(event)
    return _joined([f"### {event.type}", f"*{event.kind}* {_text(event)}", *([_rows_table(rows)] if rows else [])])


# ---- exit codes ----------------------------------------------------------------------------------------------------


def exit_codes() -> str:
    accepted = {code: word for word, code in ACCEPTABLE.items()}
    statuses = {code: _listed(status for status in STATUS_CODES if STATUS_CODES[status] == code) for code in EXIT_CODES}
    return _joined(
        [
            "# Exit codes",
            _table(
                ["exit", "meaning", "status of the run", "`--accept`"],
                [
                    [str(code), meaning, statuses[code], f"`{accepted[code]}`" if code in accepted else ""]
                    for code, meaning in EXIT_CODES.items()
                ],
            ),
            "A command that dies by a signal ends with 128 and its number; the run is recoverable. `--accept` makes "
            "these codes 0. A cancelled run with an effect in doubt is 10.",
            f"Of several runs, the code is the first of these: {', '.join(map(str, WORST_FIRST))}.",
        ]
    )


# ---- workflow files ------------------------------------------------------------------------------------------------


def workflow_files() -> str:
    every = sorted({key for keys in NODE_KEYS.values() for key in _spellings(keys.supported)})
    types = list(NODE_TYPES)
    matrix = [
        [f"`{key}`", *("yes" if key in NODE_KEYS[kind].supported else "" for kind in types), EVERY_KEY.meaning(key)]
        for key in every
    ]
    return _joined(
        [
            "# Workflow files",
            "## Keys of a node",
            "The type is told by " + ", ".join(f"`{key}` ({kind})" for kind, key in NODE_TYPES.items() if key) + ", "
            "else by `type`. A duration is written `90s`, `15m` or `2h`, or in milliseconds under the key with `_ms`.",
            _table(["key", *types, "meaning"], matrix),
            "## Keys of what a workflow and a config are made of",
            _table(["of", "keys"], [[keys.what, _listed(_spellings(keys.supported))] for keys in _other_keys()]),
            *(_meanings(keys) for keys in _other_keys() if isinstance(keys.supported, Mapping)),
            "## Executors",
            "What their outcomes mean is told in [Effects and recovery](../effects.md#the-outcome-of-an-effect).",
            *(_executor(name) for name in _EXECUTORS),
        ]
    )


def _other_keys() -> list[Keys]:
    """The keys of every kind of mapping that is no node and no input, wherever they are declared."""
    told = {keys.what for keys in (*NODE_KEYS.values(), EVERY_KEY, *INPUT_KEYS.values())}
    modules = [import_module(f"{definition.__name__}.{module.name}") for module in iter_modules(definition.__path__)]
    declared = [value for module in modules for value in vars(module).values()]
    mappings = [each for value in declared if isinstance(value, dict) for each in value.values()]
    found = {each.what: each for each in (*declared, *mappings) if isinstance(each, Keys)}
    return [found[what] for what in sorted(found.keys() - told, key=lambda what: what.replace("`", ""))]


def _meanings(keys: Keys) -> str:
    rows = [[f"`{key}`", keys.meaning(key)] for key in _spellings(keys.supported)]
    return _joined([f"### The keys of {keys.what}", _table(["key", "meaning"], rows)])


def _executor(name: str) -> str:
    taken = _listed(_spellings(INPUT_KEYS[name].supported))
    given = _listed(OUTPUT_KEYS[name]) if name in OUTPUT_KEYS else "what the function returns"
    return _joined([f"### {name}", _text(_EXECUTORS[name]), f"`input`: {taken}.", f"`output`: {given}."])


def _spellings(keys: Iterable[str]) -> list[str]:
    """The keys without the `_ms` form of a duration that has another."""
    known = set(keys)
    return sorted(key for key in known if key.removesuffix("_ms") not in known - {key})


# ---- classes -------------------------------------------------------------------------------------------------------


class Values:
    """The classes that fields are made of, each told once."""

    def __init__(self, classes: Iterable[type]) -> None:
        self._found: dict[str, type] = {}
        for each in classes:
            self._collect(each)

    def _collect(self, owner: type) -> None:
        for hint in get_type_hints(owner).values():
            for inner in _classes_in(hint):
                if inner.__name__ not in self._found:
                    self._found[inner.__name__] = inner
                    self._collect(inner)

    def sections(self) -> Iterator[str]:
        for name, each in sorted(self._found.items()):
            yield _joined([f"### {name}", _text(each), _rows_table(_rows(each))])


def _classes_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and issubclass(hint, BaseModel | msgspec.Struct):
        yield hint
    for inner in get_args(hint):
        yield from _classes_in(inner)


def _rows(owner: type) -> list[Row]:
    hints, said = get_type_hints(owner), _said_of_fields(owner)
    if issubclass(owner, msgspec.Struct):
        return [
            Row(field.encode_name, _type(hints[field.name]), _meaning(said.get(field.name, ""), field))
            for field in msgspec.structs.fields(owner)
        ]
    assert issubclass(owner, BaseModel)
    return [
        Row(field.alias or name, _type(hints[name]), said.get(name, "")) for name, field in owner.model_fields.items()
    ]


def _meaning(said: str, field: msgspec.structs.FieldInfo) -> str:
    """What is said of a field, and its default unless that is none at all."""
    default = field.default
    return said if default is msgspec.NODEFAULT or not default else f"{said} Default `{default}`.".strip()


def _type(hint: Any) -> str:
    """A type as a person reads it; a class of ours is a link to where it is told."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(map(_type, inner))
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in inner)
    if origin is list:
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return "object" if inner[1] is Any else f"object of {_type(inner[1])}"
    if hint in _WORDS:
        return _WORDS[hint]
    return f"[{hint.__name__}](#{hint.__name__.lower()})"


@cache
def _said_in(module: ModuleType) -> dict[tuple[str, str], str]:
    """The text below each field of each class of a module."""
    said = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            for field, below in zip(node.body, node.body[1:], strict=False):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(value=ast.Constant(text)):
                        said[node.name, name] = _one_line(str(text))
    return said


def _said_of_fields(owner: type) -> dict[str, str]:
    said: dict[str, str] = {}
    for each in reversed(owner.__mro__):
        module = sys.modules[each.__module__]
        if each.__module__.startswith("hooks."):
            said |= {field: text for (name, field), text in _said_in(module).items() if name == each.__name__}
    return said


# ---- Markdown ------------------------------------------------------------------------------------------------------


def _text(documented: Any) -> str:
    """The docstring."""
    return _paragraphs(inspect.getdoc(documented) or "")


def _paragraphs(text: str) -> str:
    return "\n\n".join(part if part.startswith("    ") else _one_line(part) for part in text.split("\n\n"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def _rows_table(rows: Sequence[Row]) -> str:
    return _table(["field", "type", "meaning"], [[row.name, row.type, row.meaning] for row in rows])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


if __name__ == "__main__":
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
