"""Whether what a hook gives could stand in a file: the readers of files judge it, so that there is one set of rules.

What a hook gives is bound already, and no template: a `${` in it is what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from hooks.definition.json_reader import read_json
from hooks.definition.judges_check import undeclared_judge
from hooks.definition.requirement_values import requirement_from_json, sampling_from_json, without_nulls
from hooks.definition.requirements_section import judge_agents_in, read_requirement
from hooks.definition.sampling_section import read_sampling
from hooks.definition.tree import Node, Sequence, Source
from hooks.errors import DefinitionError, JsonBorderError, Problem
from hooks.jsonio import canonical, check

Json: TypeAlias = Any


def requirement_problem(
    requirement: Mapping[str, Json], agents: Collection[str], workflow_directory: Path | None = None
) -> str | None:
    """Why a hook's requirement cannot be used, with what to do about it; None if it can.

    `agents` are those that may judge. With a `workflow_directory` the files it names are looked for, from there.
    """
    given = without_nulls(requirement)
    if (problem := _json_problem(given)) is not None:
        return problem
    settings = given.pop("settings", {})
    given.pop("origin", None)
    if "name" not in given:
        return "it has no `name`"
    if not isinstance(settings, dict) or (settings and "kind" not in given):
        return "`settings` must be a mapping, and goes with `kind`"

    def read(source: Source, node: Node) -> None:
        source.base = workflow_directory
        read_requirement(source, node)
        for name in judge_agents_in(Sequence(0, [node])):
            if name.text not in agents:
                source.report(name, *undeclared_judge(name.text, agents))

    return _problem(given, read) or _type_problem(lambda: requirement_from_json(requirement))


def sampling_problem(sampling: Mapping[str, Json]) -> str | None:
    """Why a hook's `strategy` object cannot be used, with what to do about it; None if it can."""
    given = without_nulls(sampling)
    return (
        _json_problem(given)
        or _problem(given, lambda source, node: read_sampling(source, node))
        or _type_problem(lambda: sampling_from_json(given))
    )


def _problem(given: Mapping[str, Json], read: Callable[[Source, Node], object]) -> str | None:
    source = Source("", canonical(given).decode())
    try:
        read(source, read_json(source))
    except DefinitionError as error:
        return _told(error.problems[0])
    problems = source.sorted_problems()
    return _told(problems[0]) if problems else None


def _json_problem(value: Json) -> str | None:
    try:
        check(value)
    except JsonBorderError as error:
        return f"it is no JSON: {error}"
    return None


def _type_problem(convert: Callable[[], object]) -> str | None:
    """What a file may say in more than one way (a number for a text, camelCase), a hook says in one."""
    try:
        convert()
    except msgspec.ValidationError as error:
        return str(error)
    return None


def _told(problem: Problem) -> str:
    return f"{problem.message} ({problem.fix})" if problem.fix else problem.message
