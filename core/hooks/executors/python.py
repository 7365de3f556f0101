"""Calls Python with keyword arguments; what it returns is the output. `function_calls.py` says what can be called.

Without `isolate` the function has no process of its own: cancelled, a sync one is abandoned, and after a crash nothing
is left to adopt, so that the call's own `lookup` must tell, or nobody can. With `isolate: true` it runs in a child, as
a command does: a timeout ends it, and it outlives its driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hooks.executors.base import EffectCall, Executor, InputError, LookUp, Prepared, Settled
from hooks.executors.function_calls import FunctionCall, Functions
from hooks.executors.inputs import TERMS, check_keys, flag_at, object_at, terms_at, word_at
from hooks.executors.isolation import adopt_isolated, execute_isolated, look_up_isolated
from hooks.executors.settling import masked, masked_look_up

_KEYS = ("callable", "args", "isolate", *TERMS)


class PythonExecutor(Executor):
    """Provider `python`; a relative file is looked for from the workflow's directory."""

    def __init__(self) -> None:
        self._functions = Functions()

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        check_keys(resolved_input, _KEYS)
        if "callable" not in resolved_input:
            raise InputError('input.callable is missing; write "module:function" or "file.py:function".')
        reference = word_at("input.callable", resolved_input["callable"])
        args = object_at("input.args", resolved_input.get("args", {}))
        canonical = {"callable": reference, "args": args, **terms_at(resolved_input)}
        if flag_at("input.isolate", resolved_input.get("isolate", False)):
            # Its module must not be loaded in this process; whether it has a `lookup` is seen when one is wanted.
            canonical |= {"isolate": True, "lookup": True}
        else:
            call = FunctionCall(reference, args, workflow_directory)
            canonical["args"] = self._functions.prepare(call)
            if self._functions.has_look_up(call):
                canonical["lookup"] = True
        check_keys(canonical, canonical)
        return Prepared(canonical, provider="python", idempotency_ttl_ms=canonical.get("idempotency_ttl"))

    async def execute(self, call: EffectCall) -> Settled:
        if "isolate" in call.input:
            return await execute_isolated(_function_call(call), call)
        return masked(await self._functions.execute(_function_call(call)), call.masker)

    async def adopt(self, call: EffectCall) -> Settled | None:
        """Nothing, unless it is isolated: a function dies with its driver."""
        return await adopt_isolated(call) if "isolate" in call.input else None

    def can_look_up(self, canonical_input: Mapping[str, Any]) -> bool:
        return "lookup" in canonical_input

    def may_retry(self, canonical_input: Mapping[str, Any]) -> bool:
        # Whether what is isolated has a `lookup` is not known before one is wanted, which is too late here.
        is_known = self.can_look_up(canonical_input) and "isolate" not in canonical_input
        return is_known or self.is_idempotent(canonical_input)

    async def look_up(self, call: EffectCall) -> LookUp:
        if "isolate" in call.input:
            return await look_up_isolated(_function_call(call), call)
        return masked_look_up(await self._functions.look_up(_function_call(call)), call.masker)


def _function_call(call: EffectCall) -> FunctionCall:
    return FunctionCall(call.input["callable"], call.input["args"], call.workflow_directory, call.key)
