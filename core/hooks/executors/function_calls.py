"""Calls of Python: a plain function, or a class with `execute` that may also have `prepare` and `lookup`.

    class Publish:
        def execute(self, title, idempotency_key): ...      # what it returns is the output
        def lookup(self, key, title): ...                   # the output if it happened, None if not; raises: not known
        def prepare(self, title): ...                       # other arguments, or None; raises ValueError

A class is instantiated once. A parameter `idempotency_key` is given the call's key; a function that takes none just has
its arguments. Every method but `prepare` may be async.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hooks import callables, jsonio
from hooks.callables import CallableError, in_thread, load_callable
from hooks.errors import JsonBorderError, describe_exception
from hooks.executors.base import Absent, CannotTell, Found, InputError, Later, LookUp, Settled
from hooks.executors.settling import unsettled

LOOK_UP_SECONDS = 30
_KEY = "idempotency_key"


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """What is called; `base` is where a relative file is looked for."""

    reference: str
    args: Mapping[str, Any]
    base: Path
    key: str = ""


class Functions:
    """The functions and classes that calls name."""

    def __init__(self) -> None:
        self._instances: dict[type, Any] = {}
        self._instantiating = threading.Lock()

    def prepare(self, call: FunctionCall) -> dict[str, Any]:
        """The arguments as the class's own `prepare` would have them. Raises InputError.

        Loads the module here and now: what stands in the sidecar depends on it.
        """
        target = self._load_for_prepare(call)
        if not hasattr(target, "prepare"):
            return dict(call.args)
        try:
            prepared = target.prepare(**call.args)
        except Exception as error:
            raise InputError(f"{call.reference}: prepare raised {describe_exception(error)}") from error
        if prepared is None:
            return dict(call.args)
        if not isinstance(prepared, dict):
            kind = type(prepared).__name__
            raise InputError(f"{call.reference}: prepare returned a {kind}; a dict of arguments or None is expected.")
        return prepared

    def has_look_up(self, call: FunctionCall) -> bool:
        """Raises InputError."""
        return hasattr(self._load_for_prepare(call), "lookup")

    async def execute(self, call: FunctionCall) -> Settled:
        try:
            # In a thread: what the module imports may take seconds, and others are being waited for.
            target = await in_thread(partial(self._load, call))
        except CallableError as error:
            return unsettled("not_done", "CallableNotFound", "userFault", str(error))
        function = getattr(target, "execute", target)
        args = _with_key(function, call)
        if mismatch := _mismatch(function, args):
            return unsettled("not_done", "ArgumentsMismatch", "userFault", f"{call.reference}: {mismatch}.")
        try:
            output = await callables.call(function, **args)
        except Exception as error:  # noqa: BLE001  a user's function may raise anything; it becomes the outcome
            trace = jsonio.carried_text("".join(traceback.format_exception(error)))
            message = f"{call.reference} raised {describe_exception(error)}"
            return unsettled("failed", type(error).__name__, "retryable", message, traceback=trace)
        return _done(call, output)

    async def look_up(self, call: FunctionCall) -> LookUp:
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                target = await in_thread(partial(self._load, call))
                if not hasattr(target, "lookup"):
                    return CannotTell(f"{call.reference} has no `lookup`.")
                output = await callables.call(target.lookup, call.key, **call.args)
        except TimeoutError:
            return Later(f"{call.reference}: lookup took longer than {LOOK_UP_SECONDS} s, or timed out itself.")
        except Exception as error:  # noqa: BLE001  whatever keeps it from answering may pass
            return Later(f"{call.reference}: lookup raised {describe_exception(error)}")
        return Absent() if output is None else Found(_done(call, output))

    def _load_for_prepare(self, call: FunctionCall) -> Any:
        try:
            return self._load(call)
        except CallableError as error:
            raise InputError(str(error)) from error

    def _load(self, call: FunctionCall) -> Any:
        """The function, or the one instance of the class. Raises CallableError."""
        found = load_callable(call.reference, call.base)
        if not (isinstance(found, type) and hasattr(found, "execute")):
            return found
        with self._instantiating:
            if found not in self._instances:
                try:
                    self._instances[found] = found()
                except Exception as error:
                    raise CallableError(f"{call.reference}: making one raised {describe_exception(error)}") from error
            return self._instances[found]


def _with_key(function: Callable[..., Any], call: FunctionCall) -> dict[str, Any]:
    args = dict(call.args)
    if _KEY not in args and _KEY in _parameters(function):
        args[_KEY] = call.key
    return args


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return {}  # built in, and does not say


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


def _done(call: FunctionCall, output: Any) -> Settled:
    try:
        jsonio.check(output)
    except JsonBorderError as error:
        message = f"{call.reference} returned what JSON cannot carry ({error})."
        return unsettled("done", "OutputNotJson", "fatal", message)
    return Settled("done", output)
