"""The params of one run: `-p name=value` before a params file before HOOKS_PARAM_<NAME> before the default.

Whichever way a value comes, it is converted by the declared type, and every problem is told at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from hooks.definition import tree
from hooks.definition.fields import did_you_mean, listed
from hooks.definition.model import Param, Workflow
from hooks.definition.param_values import ParamValueError, checked, value_from_node, value_from_text
from hooks.definition.params_section import environment_name
from hooks.definition.source import read_file, read_source
from hooks.errors import DefinitionError, Problem

Json: TypeAlias = Any


class FileValue(msgspec.Struct, frozen=True):
    """A value of a params file with its place, so that its text counts where a string is wanted."""

    node: tree.Node
    source: tree.Source


def load_params_file(path: Path) -> dict[str, FileValue]:
    """The values of a params file (YAML or JSON), for `resolve_params`. Raises DefinitionError."""
    fix = "write `name: value` lines"
    source, root = read_source(read_file(path), str(path), fix)
    if not isinstance(root, tree.Mapping):
        raise source.fail(root.start, "a params file must be a mapping of names to values", fix)
    source.raise_problems()
    return {entry.key.text: FileValue(entry.value, source) for entry in root.entries}


def resolve_params(
    workflow: Workflow,
    *,
    flags: Sequence[str] = (),
    file_values: Mapping[str, Json] | None = None,
    environ: Mapping[str, str],
    warn: Callable[[Problem], None] | None = None,
) -> dict[str, Json]:
    """The typed params of a run, in the order of declaration; one that was not given and has no default is absent.

    `flags` are `name=value`; `file_values` come from `load_params_file`, or are plain values already typed. `warn` is
    told of variables that look like a misspelt param; any other is taken for that of another workflow.
    Raises DefinitionError with every problem.
    """
    problems: list[Problem] = []
    declared = {param.name: param for param in workflow.params}
    given = _split_flags(flags, problems)
    from_file = dict(file_values or {})
    _report_unknown(declared, given, from_file, problems)
    resolved = {}
    for param in workflow.params:
        try:
            value = _resolve(param, given, from_file, environ)
        except _BadValue as bad:
            problems.append(bad.problem)
        else:
            if value is not msgspec.UNSET:
                resolved[param.name] = value
    if problems:
        raise DefinitionError(problems)
    if warn is not None:
        for warning in _misspelt_variables(declared, environ):
            warn(warning)
    return resolved


def _misspelt_variables(declared: Iterable[str], environ: Mapping[str, str]) -> Iterator[Problem]:
    prefix = environment_name("")
    known = [environment_name(name).removeprefix(prefix) for name in declared]
    for variable in sorted(environ):
        word = variable.removeprefix(prefix)
        if word == variable or word in known:
            continue
        # The names alone are compared: the prefix would make any two of them alike.
        if similar := difflib.get_close_matches(word, known, n=1):
            fix = f"did you mean `{prefix}{similar[0]}`?"
            yield Problem(f"{variable} is set, but this workflow has no such param", fix=fix)


class _BadValue(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def _split_flags(flags: Sequence[str], problems: list[Problem]) -> dict[str, str]:
    given: dict[str, str] = {}
    for flag in flags:
        name, equals, text = flag.partition("=")
        if not equals:
            problems.append(Problem(f"`-p {flag}` has no value", fix=f"write `-p {flag}=VALUE`"))
        elif name in given:
            problems.append(Problem(f"`-p {name}=…` is given twice", fix="remove one of the two"))
        else:
            given[name] = text
    return given


def _report_unknown(
    declared: Mapping[str, Param], given: Mapping[str, str], from_file: Mapping[str, Json], problems: list[Problem]
) -> None:
    for name in [*given, *(name for name in from_file if name not in given)]:
        if name not in declared:
            value = from_file.get(name)
            place = value.source.place(value.node.start) if isinstance(value, FileValue) and name not in given else None
            fix = did_you_mean(name, declared) or f"the params of this workflow: {listed(declared)}"
            problems.append(Problem(f"unknown param `{name}`", place, fix))


def _resolve(param: Param, given: Mapping[str, str], from_file: Mapping[str, Json], environ: Mapping[str, str]) -> Json:
    variable = environment_name(param.name)
    if param.name in given:
        value = _converted(param, f"`-p {param.name}`", given[param.name])
    elif param.name in from_file:
        value = _from_file(param, from_file[param.name])
    elif variable in environ:
        value = _converted(param, variable, environ[variable])
    else:
        value = param.default
    if param.required and (value is msgspec.UNSET or (isinstance(value, str) and not value.strip())):
        give = f"give it: `-p {param.name}=VALUE`, a params file, or {variable}"
        what = f"the param `{param.name}` ({param.type}) is required"
        if value is msgspec.UNSET:
            raise _BadValue(Problem(f"{what} and is missing", fix=give))
        raise _BadValue(
            Problem(f"{what}, so it may not be empty or blank", fix=f"{give}; one that may be empty is not `required`")
        )
    return value


def _converted(param: Param, what: str, text: str) -> Json:
    if param.required and not text.strip():
        return ""  # counts as missing, whatever the type
    try:
        return value_from_text(param, text)
    except ParamValueError as error:
        raise _BadValue(Problem(f"{what} {error.message}", fix=error.fix)) from error


def _from_file(param: Param, value: Json) -> Json:
    place = None
    try:
        if isinstance(value, FileValue):
            place = value.source.place(value.node.start)
            return value_from_node(param, value.node)
        return checked(param, value)
    except ParamValueError as error:
        raise _BadValue(Problem(f"the param `{param.name}` {error.message}", place, error.fix)) from error
