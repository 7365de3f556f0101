"""CEL, the language of conditions and checks: `size(output.title) <= 60`.

The only module that knows which library evaluates it. That library's package also imports a command line of its own
(rich, prompt_toolkit, asyncio: 130 ms), so its compiled part is loaded by itself, in 10 ms, when the first
expression is compiled.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, TypeAlias

from hooks.errors import JsonBorderError
from hooks.jsonio import check

Json: TypeAlias = Any

MAX_LENGTH = 10_000
"""Characters in an expression. The library refuses deep nesting itself, but panics over a longer error message."""

_COMPILED = "cel.cel"
_SYNTAX_ERROR = re.compile(r"ERROR: <input>:(?P<line>\d+):(?P<column>\d+): (?:Syntax error: )?(?P<message>[^\n]*)")
_EXPECTING = re.compile(r" expecting \{.*\}$")
_EVALUATION_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError)


class CelError(ValueError):
    """An expression that cannot be compiled (with its place, from 1, in the expression) or evaluated."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression."""

    text: str
    compiled: Any


def compile_expression(text: str) -> Program:
    """Compile `text`. Raises CelError with line and column."""
    if "${" in text:
        column = text.index("${")
        raise CelError(
            "`${…}` does not belong into CEL; name the value itself, as in `params.x`",
            line=text.count("\n", 0, column) + 1,
            column=column - (text.rfind("\n", 0, column) + 1) + 1,
        )
    if len(text) > MAX_LENGTH:
        raise CelError(f"the expression has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    try:
        return Program(text, _library().compile(text))
    except ValueError as error:
        raise _compile_error(str(error)) from error


def evaluate(program: Program, variables: Mapping[str, Json]) -> Json:
    """The value of the expression, as JSON. Raises CelError: what cannot be evaluated is never just false."""
    try:
        value = program.compiled.execute(dict(variables))
    except _EVALUATION_ERRORS as error:
        reason = f"there is no {error}" if isinstance(error, LookupError) else str(error)
        raise CelError(f"`{program.text}`: {reason}") from error
    try:
        check(value)
    except JsonBorderError as error:
        raise CelError(f"`{program.text}` gives no JSON value: {error}") from error
    return value


def _library() -> ModuleType:
    """The compiled module; loaded as `cel.cel` without the package around it."""
    loaded = sys.modules.get(_COMPILED)
    if loaded is not None:
        return loaded
    package = find_spec("cel")
    spec = PathFinder.find_spec(_COMPILED, package.submodule_search_locations) if package else None
    if spec is None or spec.loader is None:
        raise ImportError("the package common-expression-language is not installed")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[_COMPILED] = module
    return module


def _compile_error(message: str) -> CelError:
    found = _SYNTAX_ERROR.search(message)
    if found is None:
        return CelError(message)
    text = _EXPECTING.sub("", found["message"])
    return CelError(text, line=int(found["line"]), column=int(found["column"]))
