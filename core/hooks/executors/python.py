"""Calls a Python function with keyword arguments; what it returns is the output.

A function has no process of its own here: cancelled, a sync one is abandoned, and after a crash nothing is left to
adopt. The runtime records such a call as unknown.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hooks import callables, jsonio
from hooks.callables import CallableError, in_thread, load_callable
from hooks.errors import JsonBorderError
from hooks.executors.base import EffectCall, Executor, InputError, Prepared, Settled
from hooks.executors.inputs import check_keys, word_at
from hooks.executors.settling import unsettled


class PythonExecutor(Executor):
    """Provider `python`; a relative file is looked for from the workflow's directory."""

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        check_keys(resolved_input, ("callable", "args"))
        if "callable" not in resolved_input:
            raise InputError('input.callable is missing; write "module:function" or "file.py:function".')
        reference = word_at("input.callable", resolved_input["callable"])
        args = resolved_input.get("args", {})
        if not isinstance(args, dict):
            raise InputError("input.args: an object of keyword arguments is expected.")
        return Prepared({"callable": reference, "args": args}, provider="python")

    async def execute(self, call: EffectCall) -> Settled:
        reference, args = call.input["callable"], call.input["args"]
        try:
            # In a thread: what the module imports may take seconds, and others are being waited for.
            function = await in_thread(partial(load_callable, reference, call.workflow_directory))
        except CallableError as error:
            return unsettled("not_done", "CallableNotFound", "userFault", str(error))
        if mismatch := _mismatch(function, args):
            return unsettled("not_done", "ArgumentsMismatch", "userFault", f"{reference}: {mismatch}.")
        try:
            output = await callables.call(function, **args)
        except Exception as error:  # noqa: BLE001  a user's function may raise anything; it becomes the outcome
            trace = "".join(traceback.format_exception(error))
            message = f"{reference} raised {type(error).__name__}: {error}"
            return unsettled("failed", type(error).__name__, "retryable", message, traceback=trace)
        return _done(reference, output)

    async def adopt(self, call: EffectCall) -> Settled | None:
        """Nothing: a function dies with its driver."""
        return None


def _mismatch(function: Callable[..., Any], args: Mapping[str, Any]) -> str | None:
    try:
        signature = inspect.signature(function)
    except ValueError:
        return None  # built in, and does not say: the call will tell
    try:
        signature.bind(**args)
    except TypeError as error:
        return str(error)
    return None


def _done(reference: str, output: Any) -> Settled:
    try:
        jsonio.check(output)
    except JsonBorderError as error:
        return unsettled("done", "OutputNotJson", "fatal", f"{reference} returned what JSON cannot carry ({error}).")
    return Settled("done", output)
