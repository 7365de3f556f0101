"""The checks that need nothing but the answer: CEL, a JSON Schema, a regular expression.

They run where they are called, and take as long as they take: runtime/requirements.py bounds those that may run away.
"""

from __future__ import annotations

import re
import warnings
from typing import Any, TypeAlias

from hooks.definition.model import Requirement
from hooks.expressions.cel import CelError, Program, compile_expression, evaluate
from hooks.jsonio import canonical
from hooks.sampling.answers import Answer, parse_answer
from hooks.sampling.verdicts import CannotEvaluateError, RawVerdict, failed

Json: TypeAlias = Any


def check_answer(requirement: Requirement, answer: Answer) -> RawVerdict:
    """The verdict of a `check`, `schema` or `regex`. Raises CannotEvaluateError."""
    if requirement.check is not None:
        return _check_expression(requirement, requirement.check, answer)
    if requirement.schema is not None:
        return _check_schema(requirement, requirement.schema, answer)
    if requirement.regex is not None:
        return _check_regex(requirement, requirement.regex, answer)
    raise TypeError(f"{requirement.name}: no check that needs nothing but the answer")


def schema_problem(schema: Json, value: Json) -> str | None:
    """The first thing in `value` that `schema` does not allow, with the path to it, or None."""
    import jsonschema_rs  # 20 ms that a run without schemas need not pay

    error = next(jsonschema_rs.Draft202012Validator(schema).iter_errors(value), None)
    if error is None:
        return None
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
    return f"at {path or 'the top'}: {error.message}"


def vote_key(key: str | None, answer: Answer, *, whose: str = "sampling.key") -> bytes:
    """What an answer is counted by in a vote: canonical JSON of what `key` (CEL over `output`) gives, or of the answer.

    Raises CannotEvaluateError.
    """
    if key is None:
        return canonical(answer.output)
    return canonical(_evaluate(whose, key, answer))


def _check_expression(requirement: Requirement, expression: str, answer: Answer) -> RawVerdict:
    value = _evaluate(requirement.name, expression, answer)
    if not isinstance(value, bool):
        raise CannotEvaluateError(requirement.name, f"`{expression}` is neither true nor false, but {value!r:.200}")
    return RawVerdict(True) if value else failed(requirement.reason, f"`{expression}` is false")


def _evaluate(name: str, expression: str, answer: Answer) -> Json:
    try:
        program = _compiled(expression)
        return evaluate(program, {"output": answer.output})
    except CelError as error:
        raise CannotEvaluateError(name, error.message) from error


def _compiled(expression: str) -> Program:
    try:
        return compile_expression(expression)
    except CelError as error:
        # Those of a file compile; this one a hook brought.
        raise CelError(f"`{expression}`, line {error.line}, column {error.column}: {error.message}") from error


def _check_schema(requirement: Requirement, schema: Json, answer: Answer) -> RawVerdict:
    value = answer.value
    if value is None:
        parsed = parse_answer(answer.text)
        if parsed.problem is not None:
            return failed(requirement.reason, parsed.problem)
        value = parsed.value
    try:
        problem = schema_problem(schema, value)
    except Exception as error:
        raise CannotEvaluateError(requirement.name, f"its schema: {error}") from error
    return RawVerdict(True) if problem is None else failed(requirement.reason, problem)


def _check_regex(requirement: Requirement, regex: str, answer: Answer) -> RawVerdict:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise CannotEvaluateError(requirement.name, f"its regex {regex!r}: {error}") from error
    if pattern.search(answer.text):
        return RawVerdict(True)
    return failed(requirement.reason, f"the answer does not match {regex!r}")
