"""The driver's side of an isolated call: a child Python under the launcher, whose answer is read from its directory."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import msgspec

from hooks.executors.base import EffectCall, Later, LookUp, Settled
from hooks.executors.command_call import Command, adopt_command, execute_command, look_up_by_command
from hooks.executors.function_calls import FunctionCall
from hooks.executors.isolated_answer import Action, IsolatedCall, read_answer
from hooks.executors.settling import unsettled
from hooks.ids import LOOK_UP_DIRECTORY

# -P: the working directory is not searched for modules, as it is not in the driver.
_ARGV = (sys.executable, "-P", "-m", "hooks.executors.isolated")


async def execute_isolated(function: FunctionCall, call: EffectCall) -> Settled:
    settled = await execute_command(_command("execute", function, call.directory), call, lambda _: Settled("done"))
    return _answered(settled, call)


async def adopt_isolated(call: EffectCall) -> Settled | None:
    settled = await adopt_command(call, lambda _: Settled("done"))
    return _answered(settled, call) if settled is not None else None


async def look_up_isolated(function: FunctionCall, call: EffectCall) -> LookUp:
    directory = call.directory / LOOK_UP_DIRECTORY
    found = await look_up_by_command(_command("look_up", function, directory), call, lambda _: Settled("done"))
    if isinstance(found, Later):
        return found
    answer = read_answer(directory)
    return Later("The look-up ended without an answer.") if answer is None or isinstance(answer, Settled) else answer


def _command(action: Action, function: FunctionCall, directory: Path) -> Command:
    told = IsolatedCall(
        action, function.reference, dict(function.args), str(function.base), function.key, str(directory.absolute())
    )
    return Command(_ARGV, msgspec.json.encode(told))


def _answered(settled: Settled, call: EffectCall) -> Settled:
    """What the function said, where it came to say anything; `settled` is how its process ended."""
    if settled.outcome in ("unknown", "not_done"):
        return settled
    answer = read_answer(call.directory)
    if settled.outcome == "done" and isinstance(answer, Settled):
        return replace(answer, leaked=settled.leaked)
    said = f" {settled.error.error_message}" if settled.error is not None else ""
    without = unsettled("unknown", "OutcomeUnknown", "retryable", f"The process ended without an answer.{said}")
    return replace(without, leaked=settled.leaked)
