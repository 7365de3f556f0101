"""Executors that a config declares: a command or a function behind the name a workflow uses.

The command gets the input as one JSON document on stdin and answers with one on stdout (nothing is null); the function
gets the input's keys as arguments. Relative programs and files are looked for from the directory of the config.

What is declared goes into the sidecar, under a key no input may have: a call is made, and looked up, as it was declared
when it was prepared. The input's own keys stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hooks import jsonio
from hooks.definition.model import ExecutorDeclaration
from hooks.errors import JsonBorderError
from hooks.executors.base import CannotTell, EffectCall, Executor, InputError, LookUp, Prepared, Settled
from hooks.executors.command_call import Command, adopt_command, execute_command, look_up_by_command
from hooks.executors.function_calls import FunctionCall, Functions
from hooks.executors.inputs import check_keys
from hooks.executors.settling import masked, masked_look_up, unsettled
from hooks.processes.outputs import CapturedText

_DECLARED = "$declared"


def make_declared(declaration: ExecutorDeclaration, workflow_directory: Path) -> Executor:
    base = Path(declaration.declared_in).parent if declaration.declared_in else workflow_directory
    if declaration.callable is not None:
        return DeclaredFunction(declaration, declaration.callable, base)
    return DeclaredCommand(declaration, base)


class _Declared(Executor):
    """What both kinds have in common; the provider is the declared name."""

    def __init__(self, declaration: ExecutorDeclaration, base: Path) -> None:
        self._declaration = declaration
        self._base = base

    def _prepared(self, resolved_input: dict[str, Any], declared: dict[str, Any]) -> Prepared:
        if _DECLARED in resolved_input:
            raise InputError(f"input.{_DECLARED}: this key is taken; choose another name.")
        ttl_ms = self._declaration.idempotency_ttl_ms if self._declaration.idempotent else None
        if ttl_ms is not None:
            declared = {**declared, "idempotent": True, "idempotency_ttl": ttl_ms}
        return Prepared({**resolved_input, _DECLARED: declared}, self._declaration.name, ttl_ms)

    def can_look_up(self, canonical_input: Mapping[str, Any]) -> bool:
        return "lookup" in canonical_input[_DECLARED]

    def is_idempotent(self, canonical_input: Mapping[str, Any]) -> bool:
        return "idempotent" in canonical_input[_DECLARED]

    def settle_ms(self, canonical_input: Mapping[str, Any], timeout_ms: int | None) -> int:
        return 0


class DeclaredCommand(_Declared):
    """Exit codes mean what they mean for `shell`; the look-up gets the input on stdin, too."""

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        check_keys(resolved_input, resolved_input)
        declaration = self._declaration
        declared: dict[str, Any] = {"argv": self._located(declaration.argv or [])}
        if declaration.lookup is not None:
            declared["lookup"] = self._located(declaration.lookup)
        if declaration.env:
            declared["env"] = declaration.env
        return self._prepared(resolved_input, declared)

    async def execute(self, call: EffectCall) -> Settled:
        return await execute_command(_command(call, "argv"), call, _output)

    async def adopt(self, call: EffectCall) -> Settled | None:
        return await adopt_command(call, _output)

    async def look_up(self, call: EffectCall) -> LookUp:
        if not self.can_look_up(call.input):
            return CannotTell("The executor is declared without `lookup`.")
        return await look_up_by_command(_command(call, "lookup"), call, _output)

    def _located(self, argv: list[str]) -> list[str]:
        program = str(self._base / argv[0]) if "/" in argv[0] else argv[0]
        return [program, *argv[1:]]


class DeclaredFunction(_Declared):
    """As `python`, with the input as the arguments."""

    def __init__(self, declaration: ExecutorDeclaration, reference: str, base: Path) -> None:
        super().__init__(declaration, base)
        self._reference = reference
        self._functions = Functions()

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        check_keys(resolved_input, resolved_input)
        call = FunctionCall(self._reference, resolved_input, self._base)
        args = self._functions.prepare(call)
        check_keys(args, args)
        declared: dict[str, Any] = {"callable": self._reference, "base": str(self._base)}
        if self._functions.has_look_up(call):
            declared["lookup"] = True
        return self._prepared(args, declared)

    async def execute(self, call: EffectCall) -> Settled:
        return masked(await self._functions.execute(_function_call(call)), call.masker)

    async def look_up(self, call: EffectCall) -> LookUp:
        return masked_look_up(await self._functions.look_up(_function_call(call)), call.masker)


def _input(call: EffectCall) -> dict[str, Any]:
    return {key: value for key, value in call.input.items() if key != _DECLARED}


def _command(call: EffectCall, which: str) -> Command:
    declared = call.input[_DECLARED]
    return Command(declared[which], jsonio.canonical(_input(call)), declared.get("env", {}))


def _function_call(call: EffectCall) -> FunctionCall:
    declared = call.input[_DECLARED]
    return FunctionCall(declared["callable"], _input(call), Path(declared["base"]), call.key)


def _output(captured: CapturedText) -> Settled:
    if captured.truncated:
        message = f"It answered with {captured.bytes_total} bytes, more than are taken; raise `max_output_bytes`."
        return unsettled("done", "OutputTooLarge", "userFault", message)
    if not captured.text.strip():
        return Settled("done")
    try:
        return Settled("done", jsonio.parse_strict(captured.text.encode()))
    except JsonBorderError as error:
        message = f"It did not answer with JSON ({error}): {captured.text[:200]!r}"
        return unsettled("done", "OutputNotJson", "fatal", message)
