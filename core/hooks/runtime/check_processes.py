"""Requirements that are judged by a process: a `command`, or a check that may take long and has to be ended then.

Nothing is adopted after a crash: a check changes nothing, so it is made again.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from hooks.definition.model import Requirement
from hooks.jsonio import canonical
from hooks.processes.exits import Exit
from hooks.processes.launch import STDERR, STDOUT, Child, CouldNotStartError
from hooks.processes.outputs import CaptureLostError, read_tail, read_text
from hooks.processes.running import run_child
from hooks.runtime.execution_hooks import DispatchContext
from hooks.sampling.answers import Answer
from hooks.sampling.standalone import Question, Reply
from hooks.sampling.verdicts import MOST_REASON, CannotEvaluateError, RawVerdict, failed
from hooks.secrets import Masker, environment_without

# -P: the working directory is not searched for modules, as it is not in the driver.
_STANDALONE = (sys.executable, "-P", "-m", "hooks.sampling.standalone")
_MOST_REPLY = 1024 * 1024
_NO_GRACE_MS = 100
_STDERR_LIMIT = 16 * 1024


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Where requirements of one draw are evaluated. `directory` is for one of them: it takes stdout, stderr, exit.json.

    `pure_seconds` bounds a check that needs nothing but the answer, `seconds` one that runs others' code; a step's own
    timeout, which cancels, comes beside them.
    """

    directory: Path
    working_directory: Path
    workflow_directory: Path
    marker: str
    grace_ms: int
    environment: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    masker: Masker | None = None
    on_kill: Callable[[], None] | None = None
    seconds: float = 600
    pure_seconds: float = 10


def check_context(ctx: DispatchContext, place: str) -> CheckContext:
    """Where one requirement of an attempt is evaluated; `place` is a directory below the attempt's own."""
    return CheckContext(
        directory=ctx.directory / place,
        working_directory=ctx.working_directory,
        workflow_directory=ctx.workflow_directory,
        marker=ctx.marker,
        grace_ms=ctx.grace_ms,
        environment=ctx.environment,
        hidden=ctx.hidden,
        masker=ctx.masker,
        on_kill=ctx.on_kill,
    )


async def check_by_command(
    requirement: Requirement, command: Sequence[str], answer: Answer, ctx: CheckContext
) -> RawVerdict:
    """Exit 0 passes, 1 fails with what was printed as the reason. Raises CannotEvaluateError for any other ending."""
    argv = list(command)
    if "/" in argv[0]:
        argv[0] = str(ctx.workflow_directory / argv[0])
    is_text = answer.value is None and not answer.is_null
    stdin = answer.text.encode("utf-8", "surrogateescape") if is_text else canonical(answer.value)
    child = Child(
        argv=argv,
        working_directory=ctx.working_directory,
        environment={
            **environment_without(ctx.hidden),
            **ctx.environment,
            "HOOKS_WORKFLOW_DIRECTORY": str(ctx.workflow_directory),
        },
        directory=ctx.directory,
        marker=ctx.marker,
        stdin=stdin,
        masker=ctx.masker,
    )
    try:
        async with asyncio.timeout(ctx.seconds):
            ended = await run_child(child, grace_ms=ctx.grace_ms, on_kill=ctx.on_kill)
    except TimeoutError as error:
        message = f"`{command[0]}` took longer than {ctx.seconds:g} s and was ended"
        raise CannotEvaluateError(requirement.name, message) from error
    except CouldNotStartError as error:
        raise CannotEvaluateError(requirement.name, str(error)) from error
    try:
        return _verdict(requirement, command[0], ended, ctx.directory)
    except CaptureLostError as error:
        raise CannotEvaluateError(requirement.name, f"`{command[0]}` ended. {error}") from error


async def check_apart(requirement: Requirement, answer: Answer, ctx: CheckContext) -> RawVerdict:
    """A `check`, `schema` or `regex` in a Python of its own. Raises CannotEvaluateError, also if it takes too long."""
    child = Child(
        argv=_STANDALONE,
        working_directory=ctx.working_directory,
        environment=environment_without(ctx.hidden),
        directory=ctx.directory,
        marker=ctx.marker,
        stdin=msgspec.json.encode(Question(requirement, answer.text, answer.value, answer.is_null)),
        masker=ctx.masker,
    )
    try:
        async with asyncio.timeout(ctx.pure_seconds):
            ended = await run_child(child, grace_ms=_NO_GRACE_MS)
    except TimeoutError as error:
        message = f"it took longer than {ctx.pure_seconds:g} s and was ended; {_mend(requirement)}"
        raise CannotEvaluateError(requirement.name, message) from error
    except CouldNotStartError as error:
        raise CannotEvaluateError(requirement.name, str(error)) from error
    try:
        reply = msgspec.json.decode(read_text(ctx.directory / STDOUT, _MOST_REPLY).text, type=Reply)
    except (msgspec.DecodeError, CaptureLostError) as error:
        stderr = _stderr(ctx.directory)
        message = f"its process {_told(ended)} and gave no verdict; {_mend(requirement)}"
        raise CannotEvaluateError(requirement.name, message, stack_trace=stderr) from error
    if reply.verdict is None:
        raise CannotEvaluateError(requirement.name, reply.problem or "its process gave no verdict")
    return reply.verdict


def _verdict(requirement: Requirement, program: str, ended: Exit, directory: Path) -> RawVerdict:
    if ended.code == 0:
        return RawVerdict(True)
    if ended.code == 1:
        said = read_tail(directory / STDOUT, MOST_REASON).strip() or read_tail(directory / STDERR, MOST_REASON).strip()
        return failed(requirement.reason, said or f"`{program}` ended with exit code 1 and said nothing")
    stderr = read_tail(directory / STDERR, _STDERR_LIMIT)
    said = f"; it said: {stderr.strip()[-MOST_REASON:]}" if stderr.strip() else ""
    message = f"`{program}` {_told(ended)} (0 passes, 1 fails){said}"
    raise CannotEvaluateError(requirement.name, message, stack_trace=stderr)


def _mend(requirement: Requirement) -> str:
    """What to do about a check that takes more time, or memory, than it gets."""
    if requirement.regex is not None:
        return f"make {requirement.regex!r} simpler: a repeat within a repeat may try more ways than can be counted"
    if requirement.check is not None:
        return f"make `{requirement.check}` simpler, or write it as `python`"
    return "let its schema refer to itself in one place alone, or write it as `python`"


def _told(ended: Exit) -> str:
    if ended.code is not None:
        return f"ended with exit code {ended.code}"
    return f"was ended by signal {ended.signal}" if ended.signal is not None else "ended, and nobody saw how"


def _stderr(directory: Path) -> str:
    try:
        return read_tail(directory / STDERR, _STDERR_LIMIT)
    except CaptureLostError:
        return ""
