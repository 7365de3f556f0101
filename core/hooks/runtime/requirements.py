"""Evaluating a requirement: in place, by a process, by a function, by an installed kind.

What comes out is a verdict or CannotEvaluateError, which is an error of the step: a check that is broken says nothing
of the answer. A `judge` is an agent that is asked and logged like any other, and belongs to the sampling loop.
"""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from hooks import jsonio
from hooks.callables import CallableError, call, in_thread, load_callable
from hooks.definition.model import Requirement
from hooks.definition.requirements_section import GROUP
from hooks.entry_points import load_entry_point
from hooks.errors import UsageError, describe_exception
from hooks.jsonio import carried_text
from hooks.runtime.check_processes import CheckContext, check_apart, check_by_command
from hooks.sampling.answers import Answer
from hooks.sampling.checks import check_answer
from hooks.sampling.effort import may_take_long
from hooks.sampling.verdicts import CannotEvaluateError, RawVerdict, RequirementCheck, bounded, failed

Json: TypeAlias = Any


async def evaluate(requirement: Requirement, answer: Answer, ctx: CheckContext) -> RawVerdict:
    """The verdict of any requirement but a judge. Raises CannotEvaluateError.

    A sync function that is cancelled, or takes longer than `ctx.seconds`, is left behind in its thread; a process is
    gone when this returns.
    """
    if requirement.command is not None:
        return await check_by_command(requirement, requirement.command, answer, ctx)
    if requirement.python is not None:
        return await _bounded(requirement, _check_by_function(requirement, requirement.python, answer, ctx), ctx)
    if requirement.kind is not None:
        return await _bounded(requirement, _check_by_kind(requirement, requirement.kind, answer, ctx), ctx)
    if may_take_long(requirement, answer):
        return await check_apart(requirement, answer, ctx)
    return check_answer(requirement, answer)


async def _bounded(requirement: Requirement, checking: Awaitable[RawVerdict], ctx: CheckContext) -> RawVerdict:
    """The verdict of others' code: bounded in time, its words masked, whatever it raises turned into an error."""
    try:
        async with asyncio.timeout(ctx.seconds) as limit:
            verdict = await checking
    except Exception as error:
        if isinstance(error, TimeoutError) and limit.expired():
            message, trace = f"it took longer than {ctx.seconds:g} s", ""
        elif isinstance(error, CannotEvaluateError):
            message, trace = error.problem, error.stack_trace
        elif isinstance(error, CallableError | UsageError):
            message, trace = str(error), _trace(error)
        else:
            message, trace = f"it raised {describe_exception(error)}", _trace(error)
        raise CannotEvaluateError(
            requirement.name, _masked(bounded(message), ctx), stack_trace=_masked(trace, ctx)
        ) from error
    return verdict if verdict.reason is None else replace(verdict, reason=carried_text(_masked(verdict.reason, ctx)))


async def _check_by_function(requirement: Requirement, place: str, answer: Answer, ctx: CheckContext) -> RawVerdict:
    # In a thread: what the module imports may take seconds, and others are being waited for.
    function = await in_thread(partial(load_callable, place, ctx.workflow_directory))
    # A value of its own: the function may change what it is given.
    output = jsonio.parse(jsonio.canonical(answer.output))
    arguments = [output, answer.text] if _takes_text(function) else [output]
    return _verdict(requirement, await call(function, *arguments))


async def _check_by_kind(requirement: Requirement, kind: str, answer: Answer, ctx: CheckContext) -> RawVerdict:
    make = await in_thread(partial(load_entry_point, GROUP, kind))
    if make is None:
        raise CannotEvaluateError(requirement.name, f"there is no kind {kind!r}: what registers it is not installed")
    check: RequirementCheck = make(dict(requirement.settings), ctx.workflow_directory)
    value = None if answer.value is None else jsonio.parse(jsonio.canonical(answer.value))
    verdict = await check.check(answer.text, value)
    if not isinstance(verdict, RawVerdict):
        raise _no_verdict(requirement, verdict, "a RawVerdict")
    return verdict if verdict.passed else failed(requirement.reason, verdict.reason or "it says no", verdict.score)


def _takes_text(function: Callable[..., Any]) -> bool:
    """Whether it wants the text of the answer beside the output; another second argument with a default is its own."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # built in, and does not say
    taken = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(taken) > 1 and (taken[1].default is inspect.Parameter.empty or taken[1].name == "text")


def _verdict(requirement: Requirement, said: Any) -> RawVerdict:
    """What a function says: true or false, (passed, reason), or {passed, score, reason}."""
    score: Any
    reason: Any
    match said:
        case bool():
            passed, score, reason = said, None, None
        case (bool() as passed, (str() | None) as reason):
            score = None
        case {"passed": bool() as passed, **rest} if rest.keys() <= {"score", "reason"}:
            score, reason = rest.get("score"), rest.get("reason")
        case _:
            raise _no_verdict(requirement, said, "true, false, (passed, reason) or {passed, score, reason}")
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    if score is not None and not (is_number and 0 <= score <= 1):
        raise _no_verdict(requirement, said, "a score from 0 to 1")
    if reason is not None and not isinstance(reason, str):
        raise _no_verdict(requirement, said, "a reason that is text")
    score = None if score is None else float(score)
    if passed:
        return RawVerdict(True, score, bounded(reason) if reason else None)
    return failed(requirement.reason, reason or f"`{requirement.python}` says no", score)


def _no_verdict(requirement: Requirement, said: Any, expected: str) -> CannotEvaluateError:
    return CannotEvaluateError(requirement.name, f"it gave {said!r:.200} where {expected} is expected")


def _trace(error: Exception) -> str:
    return "".join(traceback.format_exception(error))


def _masked(text: str, ctx: CheckContext) -> str:
    return text if ctx.masker is None else ctx.masker.mask(text)
