"""`requirements:` of an agent step: checks on its answer, each by exactly one of the keys in CHECK_KEYS.

What one says is checked here as far as it shows without an answer: CEL and regular expressions compile, schemas are
schemas, programs and functions are there. Which agents there are to judge is known later (judges_check.py).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any

from hooks.definition.agents_section import read_target
from hooks.definition.cel_text import read_cel_over_output
from hooks.definition.fields import Fields, Keys, describe, did_you_mean, listed, read_fields
from hooks.definition.model import Judge, Requirement
from hooks.definition.named_files import check_program
from hooks.definition.output_schema import read_schema
from hooks.definition.requirement_values import CHECK_KEYS, OUTPUT_SCHEMA
from hooks.definition.shell_text import report_pasted_text
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source, to_value
from hooks.definition.values import item_of, read_number, read_text, read_texts
from hooks.entry_points import registered_names
from hooks.expressions.references import BadReferenceError
from hooks.expressions.templates import Placeholder, parse_template

GROUP = "hooks.requirements"
"""Where other distributions register kinds of requirements."""
MOST_REQUIREMENTS = 100

_MOST_NAME = 100
_MOST_WEIGHT = 1_000_000
_MOST_REGEX = 10_000
_OF_EVERY = ("name", "reason", "weight")
_COMMON = frozenset({*_OF_EVERY, "kind"})
_KEYS = Keys(
    "a requirement",
    _COMMON | frozenset(CHECK_KEYS),
    elsewhere={
        "threshold": "it belongs into `judge`",
        "agent": "it belongs into `judge`: {agent: critic, prompt: …}",
        "prompt": "it belongs into `judge`: {agent: critic, prompt: …}",
        "settings": "write the settings of a kind beside `kind`",
        "on_exhausted": "it belongs into `sampling` of the step",
        "output_schema": "it belongs to the step itself; the key of a requirement is `schema`",
        "callable": "the key of a requirement is `python`",
        "argv": "the key of a requirement is `command`",
        "pattern": "the key of a requirement is `regex`",
        "cel": "the key of a requirement is `check`",
        "condition": "the key of a requirement is `check`",
        "message": "the key of a requirement is `reason`",
    },
)
_JUDGE_KEYS = Keys("`judge`", frozenset({"agent", "prompt", "threshold"}), synonyms={"bot": "agent"})
_EXAMPLE = "size(output.title) <= 60"


def read_requirements(source: Source, node: Node) -> list[Requirement]:
    """The requirements that have no fault; every fault is reported."""
    if not isinstance(node, Sequence):
        source.report(
            node,
            f"`requirements` must be a list, but is {describe(node)}",
            f'write [{{name: short, check: "{_EXAMPLE}"}}]',
        )
        return []
    if len(node.items) > MOST_REQUIREMENTS:
        source.report(
            node, f"there are {len(node.items)} requirements", f"write at most {MOST_REQUIREMENTS}; join some in CEL"
        )
    seen: dict[str, int] = {}
    taken = _written_names(node)
    found = []
    for position, item in enumerate(node.items, 1):
        requirement = read_requirement(source, item, position, taken)
        _check_unique(source, item, seen)
        _check_templates(source, item)
        if requirement is not None:
            found.append(requirement)
    return found


def read_requirement(source: Source, node: Node, position: int = 1, taken: Collection[str] = ()) -> Requirement | None:
    """One requirement, the `position`th; without a name it gets one that is not `taken`."""
    label = _label(node, position)
    fields = read_fields(source, _without_settings(node), _KEYS, label)
    if fields is None:
        return None
    before = len(source.problems)
    key = _read_check_key(fields, label)
    found: dict[str, Any] = {"name": _read_name(fields) if "name" in fields else None}
    if found["name"] is None:
        found["name"] = _free_name(f"{key or 'requirement'}-{position}", taken)
    if (reason := fields.value("reason")) is not None:
        found["reason"] = read_text(source, reason, "`reason`")
    if (weight := fields.value("weight")) is not None:
        found["weight"] = _read_weight(source, weight)
    for given in CHECK_KEYS:
        if (check := fields.value(given)) is not None:
            found[given] = _READ[given](source, check)
    if key == "kind":
        assert isinstance(node, Mapping), "read_fields has seen a mapping"
        found["settings"] = {entry.key.text: to_value(entry.value) for entry in _settings(node)}
    return Requirement(**found) if len(source.problems) == before and key is not None else None


def judges_in(node: Node | None) -> Iterator[Mapping]:
    """The `judge` of each requirement of a step, as it is written."""
    for judge in _values(node, "judge"):
        if isinstance(judge, Mapping):
            yield judge


def judge_agents_in(node: Node | None) -> Iterator[Scalar]:
    """The names of the agents that judge."""
    for judge in judges_in(node):
        for entry in judge.entries:
            if _JUDGE_KEYS.canonical(entry.key.text) == "agent" and isinstance(entry.value, Scalar):
                yield entry.value


def requirement_templates(node: Node | None) -> Iterator[tuple[Node, str]]:
    """What is bound with the step, and what it is called."""
    for judge in judges_in(node):
        if (prompt := judge.get("prompt")) is not None:
            yield prompt, "the prompt of a judge"
    for command in _values(node, "command"):
        yield command, "`command` of a requirement"


def requirement_plain_texts(node: Node | None) -> Iterator[tuple[Node, str]]:
    """What is taken as it is written, though somebody may take it for a template."""
    for key in ("name", "reason", "python"):
        for value in _values(node, key):
            yield value, f"`{key}` of a requirement"
    for item in node.items if isinstance(node, Sequence) else ():
        if isinstance(item, Mapping) and item.get("kind") is not None:
            for entry in _settings(item):
                yield entry.value, f"`{entry.key.text}` of a requirement"


def _values(node: Node | None, key: str) -> Iterator[Node]:
    for item in node.items if isinstance(node, Sequence) else ():
        value = item.get(key) if isinstance(item, Mapping) else None
        if value is not None:
            yield value


# ---- names ---------------------------------------------------------------------------------------------------------


def _label(node: Node, position: int) -> str:
    name = node.get("name") if isinstance(node, Mapping) else None
    if isinstance(name, Scalar) and name.text.strip() and len(name.text) <= _MOST_NAME:
        return f"the requirement `{name.text}`"
    return f"`requirements[{position - 1}]`"


def _written_names(node: Sequence) -> frozenset[str]:
    return frozenset(name.text for name in _values(node, "name") if isinstance(name, Scalar))


def _free_name(name: str, taken: Collection[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"


def _read_name(fields: Fields) -> str | None:
    source, node = fields.source, fields.value("name")
    assert node is not None
    name = read_text(source, node, "`name`")
    if name == OUTPUT_SCHEMA:
        source.report(
            node,
            f"the name `{OUTPUT_SCHEMA}` is that of the requirement which `output_schema` of a step makes",
            "choose another name",
        )
    elif name is not None and (len(name) > _MOST_NAME or not name.isprintable()):
        source.report(
            node, f"{name[:40]!r} is no name for a requirement", f"use one line, at most {_MOST_NAME} characters"
        )
    else:
        return name
    return None


def _check_unique(source: Source, item: Node, seen: dict[str, int]) -> None:
    name = item.get("name") if isinstance(item, Mapping) else None
    if not isinstance(name, Scalar) or name.value is None:
        return
    first = seen.setdefault(name.text, name.start)
    if first != name.start:
        source.report(
            name,
            f"duplicate requirement `{name.text}`; the first one is at {source.place(first)}",
            "rename one of the two",
        )


# ---- keys ----------------------------------------------------------------------------------------------------------


def _without_settings(node: Node) -> Node:
    """The mapping without what only its kind understands."""
    if not isinstance(node, Mapping) or node.get("kind") is None:
        return node
    own = _settings(node)
    return Mapping(node.start, [entry for entry in node.entries if entry not in own])


def _settings(node: Mapping) -> list[Any]:
    return [
        entry for entry in node.entries if entry.key.text not in _KEYS.supported and not entry.key.text.startswith("x-")
    ]


def _read_check_key(fields: Fields, label: str) -> str | None:
    """The one key it checks by; none or several are reported."""
    given = [key for key in fields if key in CHECK_KEYS]
    if len(given) == 1:
        return given[0]
    names = ", ".join(f"`{key}`" for key in CHECK_KEYS)
    if given:
        both = " and ".join(f"`{key}`" for key in given)
        fields.source.report(
            fields.key_place(given[1]), f"{label} has {both}; it checks by exactly one", "make a requirement of each"
        )
    else:
        fields.source.report(
            fields.mapping, f"{label} checks nothing", f'add one of {names}, such as check: "{_EXAMPLE}"'
        )
    return None


def _read_weight(source: Source, node: Node) -> float | None:
    weight = read_number(source, node, "`weight`", least=0, most=_MOST_WEIGHT)
    if weight == 0:
        source.report(node, "`weight` is 0", "write a number above 0; a requirement counts, or is left out")
        return None
    return weight


def _read_check(source: Source, node: Node) -> str | None:
    return read_cel_over_output(source, node, "`check`", example=_EXAMPLE)


def _read_schema(source: Source, node: Node) -> Any:
    return read_schema(source, node, "`schema`")


def _read_regex(source: Source, node: Node) -> str | None:
    regex = read_text(source, node, "`regex`", blank=True)
    if regex is None:
        return None
    if len(regex) > _MOST_REGEX:
        source.report(node, f"`regex` has {len(regex)} characters", f"write at most {_MOST_REGEX}")
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(regex)
    except re.error as error:
        assert isinstance(node, Scalar), "read_text has seen a scalar"
        place = source.verbatim_offset(node, error.pos or 0)
        source.report(place, f"`regex`: {error.msg}", "correct the regular expression (Python's `re`)")
    except (RecursionError, OverflowError) as error:
        source.report(node, f"`regex` cannot be compiled: {error}", "make it simpler")
    else:
        return regex
    return None


def _read_command(source: Source, node: Node) -> list[str] | None:
    argv = read_texts(source, node, "`command`")
    if argv is None:
        return None
    assert isinstance(node, Sequence), "read_texts has seen a list"
    for index, (item, word) in enumerate(zip(node.items, argv, strict=True)):
        if "\0" in word:
            source.report(
                item, f"{item_of('`command`', index)} holds a NUL character, which no argument can", "remove it"
            )
    if not argv[0].strip():
        source.report(node.items[0], "`command[0]` is blank", "write the program: command: [./check.sh]")
        return None
    check_program(source, node.items[0], argv[0])
    return argv


def _read_python(source: Source, node: Node) -> str | None:
    return read_target(source, node, "`python`")


def _read_judge(source: Source, node: Node) -> Judge | None:
    fields = read_fields(source, node, _JUDGE_KEYS, "`judge`")
    if fields is None:
        return None
    found: dict[str, Any] = {}
    agent = fields.require("agent", "add `agent: NAME`: who judges")
    if agent is not None:
        found["agent"] = read_text(source, agent, "`judge.agent`")
    prompt = fields.require("prompt", "add `prompt:` with what to judge the answer by; the answer is shown below it")
    if prompt is not None:
        found["prompt"] = read_text(source, prompt, "`judge.prompt`")
    if (threshold := fields.value("threshold")) is not None:
        found["threshold"] = read_number(source, threshold, "`judge.threshold`", least=0, most=1)
    return Judge(**found) if len(found) >= 2 and None not in found.values() else None


def _read_kind(source: Source, node: Node) -> str | None:
    kind = read_text(source, node, "`kind`")
    if kind is None:
        return None
    if kind in CHECK_KEYS:
        source.report(
            node, f"`{kind}` is no kind of requirement but a key", f"write `{kind}: …` instead of `kind: {kind}`"
        )
        return None
    installed = registered_names(GROUP)
    if kind not in installed:
        fix = did_you_mean(kind, installed) or (
            f"install the distribution that registers it under `{GROUP}`; there is: {listed(installed)}"
        )
        source.report(node, f"there is no kind of requirement `{kind}`", fix)
        return None
    return kind


_READ: dict[str, Callable[[Source, Node], Any]] = {
    "check": _read_check,
    "schema": _read_schema,
    "regex": _read_regex,
    "command": _read_command,
    "python": _read_python,
    "judge": _read_judge,
    "kind": _read_kind,
}


def _check_templates(source: Source, item: Node) -> None:
    """That no value is pasted into the text of a script."""
    command = item.get("command") if isinstance(item, Mapping) else None
    if isinstance(command, Sequence):
        words = [word.text if isinstance(word, Scalar) else "" for word in command.items]
        report_pasted_text(source, command.items, words, "a reference", is_pasted=_has_reference)


def _has_reference(text: str) -> bool:
    try:
        return any(isinstance(piece, Placeholder) for piece in parse_template(text))
    except BadReferenceError:
        return False  # reported where references are checked
