"""A call that is a command: run to its end, adopted after a crash, looked up by another command.

Exit 0 is done, another code failed; killed by a signal is unknown, since nobody can say how far it came. A look-up ends
with 0 (it happened, and stdout is the output), 1 (it did not), or anything else (not known just now; 75 says so).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from hooks.errors import StorageError
from hooks.executors.base import Absent, EffectCall, Found, Later, LookUp, Settled
from hooks.executors.settling import unsettled
from hooks.ids import LOOK_UP_DIRECTORY
from hooks.processes.exits import Exit
from hooks.processes.launch import STDERR, STDOUT, Child, CouldNotStartError
from hooks.processes.outputs import CapturedText, CaptureLostError, read_tail, read_text
from hooks.processes.running import adopt_child, run_child
from hooks.secrets import environment_without

KEPT_OUTPUT_BYTES = 1024 * 1024
LOOK_UP_SECONDS = 30
_LOOK_UP_GRACE_MS = 1_000
_MESSAGE_LIMIT = 2_000


@dataclass(frozen=True, slots=True)
class Command:
    """What is run; `environment` comes between the driver's own and the node's."""

    argv: Sequence[str]
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)


ReadOutput: TypeAlias = Callable[[CapturedText], Settled]
"""What the stdout of a command that ended with 0 comes to."""


async def execute_command(command: Command, call: EffectCall, read_output: ReadOutput) -> Settled:
    child = _child(command, call, call.directory)
    try:
        ended = await run_child(child, grace_ms=call.grace_ms, on_kill=call.on_kill)
    except CouldNotStartError as error:
        return unsettled("not_done", "CouldNotStart", "userFault", f"{error}{_beside(command, call)}")
    return _settle(ended, call, read_output)


def _beside(command: Command, call: EffectCall) -> str:
    """Where the program is if it was looked for in the wrong directory."""
    program = command.argv[0]
    beside = call.workflow_directory / program
    if "/" not in program or (call.working_directory / program).exists() or not beside.is_file():
        return ""
    return f" There is {beside}, but the paths of a step resolve from where the run was started."


async def adopt_command(call: EffectCall, read_output: ReadOutput) -> Settled | None:
    ended = await adopt_child(
        call.directory, call.marker, grace_ms=call.grace_ms, masker=call.masker, on_kill=call.on_kill
    )
    return _settle(ended, call, read_output) if ended is not None else None


async def look_up_by_command(command: Command, call: EffectCall, read_output: ReadOutput) -> LookUp:
    """Ask the look-up command, in a directory of its own. Whatever keeps it from answering may pass: Later."""
    directory = call.directory / LOOK_UP_DIRECTORY
    child = _child(command, call, directory)
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        async with asyncio.timeout(LOOK_UP_SECONDS):
            ended = await run_child(child, grace_ms=_LOOK_UP_GRACE_MS)
    except TimeoutError:
        return Later(f"The look-up took longer than {LOOK_UP_SECONDS} s and was ended.")
    except (CouldNotStartError, StorageError, OSError) as error:
        return Later(f"The look-up could not be made: {error}")
    if ended.code == 0:
        try:
            captured = _stdout(directory, call)
        except CaptureLostError as error:
            return Later(f"The look-up {_told(ended)}. {error}")
        return Found(read_output(captured), {"exit_code": 0, "stdout": captured.text[:_MESSAGE_LIMIT]})
    if ended.code == 1:
        return Absent()
    return Later(f"The look-up {_told(ended)}.{_said(directory)}")


def _child(command: Command, call: EffectCall, directory: Path) -> Child:
    return Child(
        argv=command.argv,
        working_directory=call.working_directory,
        environment={
            **environment_without(call.hidden),
            **command.environment,
            **call.environment,
            "HOOKS_IDEMPOTENCY_KEY": call.key,
            "HOOKS_WORKFLOW_DIRECTORY": str(call.workflow_directory),
        },
        directory=directory,
        marker=call.marker,
        stdin=command.stdin,
        masker=call.masker,
    )


def _settle(ended: Exit, call: EffectCall, read_output: ReadOutput) -> Settled:
    """The outcome, from what the command left in the attempt's directory."""
    settled = _done(call, read_output) if ended.code == 0 else _not_done(ended, call)
    return replace(settled, leaked=len(ended.leaked))


def _done(call: EffectCall, read_output: ReadOutput) -> Settled:
    try:
        return read_output(_stdout(call.directory, call))
    except CaptureLostError as error:
        return unsettled("done", "OutputLost", "userFault", f"The command ended with exit code 0. {error}")


def _not_done(ended: Exit, call: EffectCall) -> Settled:
    said, details = _said(call.directory), _details(ended)
    if ended.code is not None:
        return unsettled("failed", "ExitStatus", "retryable", f"The command {_told(ended)}.{said}", **details)
    code = "OutcomeUnknown" if ended.signal is None else "Signalled"
    message = f"The command {_told(ended)}; how far it came is not known.{said}"
    return unsettled("unknown", code, "retryable", message, **details)


def _stdout(directory: Path, call: EffectCall) -> CapturedText:
    limit = KEPT_OUTPUT_BYTES if call.max_output_bytes is None else call.max_output_bytes
    return read_text(directory / STDOUT, limit)


def _told(ended: Exit) -> str:
    if ended.code is not None:
        return f"ended with exit code {ended.code}"
    return f"was ended by signal {ended.signal}" if ended.signal is not None else "ended, and nobody saw how"


def _details(ended: Exit) -> dict[str, Any]:
    if ended.code is not None:
        return {"exitCode": ended.code}
    return {"signal": ended.signal} if ended.signal is not None else {}


def _said(directory: Path) -> str:
    try:
        stderr = read_tail(directory / STDERR, _MESSAGE_LIMIT).strip()
    except CaptureLostError as error:
        return f" {error}"
    return f" It said: {stderr}" if stderr else ""
