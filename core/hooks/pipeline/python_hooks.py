"""Hooks that are Python functions: `(payload)` or `(payload, ctx)`, sync or async.

An asynchronous function runs in the loop and is cancelled at its timeout. A synchronous one runs in a daemon thread,
since it may block (thread_turns.py). What a function raises or returns is its answer; nothing of it passes.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hooks.definition.durations import spelt
from hooks.errors import describe_exception
from hooks.pipeline.context import HookContext
from hooks.pipeline.dispatch import Dispatch, RunSetting
from hooks.pipeline.eager import OutOfTimeError, finish, start
from hooks.pipeline.floor import Answer, Floor
from hooks.pipeline.listeners import Listener
from hooks.pipeline.memory import Memory
from hooks.pipeline.plugin_loading import DEFAULT_TIMEOUT_MS
from hooks.pipeline.plugins import PluginHook, wanted_arguments
from hooks.pipeline.verdicts import AskPerson, Block, HookFault, Modify


class PythonHook:
    """One function of the hook set, ready to be asked."""

    def __init__(self, listener: Listener, hook: PluginHook, memory: Memory, setting: RunSetting) -> None:
        self.listener = listener
        self.is_sync = not _is_async(hook.function)
        self.timeout_ms = listener.entry.timeout_ms or DEFAULT_TIMEOUT_MS
        self._function = hook.function
        self._takes_context = (wanted_arguments(hook.function) or 1) >= 2
        self._memory = memory
        self._setting = setting

    async def ask(self, floor: Floor) -> None:
        """Ask an async function, in the loop."""
        if not floor.invites(self.listener):
            return
        started = time.perf_counter()
        answer = await self._answer(floor)
        duration_ms = milliseconds_since(started)
        floor.hear(self.listener, self.taken(answer, duration_ms), duration_ms)

    def ask_sync(self, floor: Floor) -> Answer | HookFault:
        """Ask a sync function, in the thread this is called in."""
        try:
            return _as_answer(self._call(floor))
        except HookFault as fault:
            return fault
        except BaseException as error:  # noqa: BLE001 - whatever a hook raises is a failure of that hook
            return _raised(error)

    async def _answer(self, floor: Floor) -> Answer | HookFault:
        try:
            step = start(self._call(floor))
            if step.is_done:
                return _as_answer(step.result)
            floor.fix()
            return _as_answer(await finish(step, self.timeout_ms / 1000))
        except HookFault as fault:
            return fault
        except OutOfTimeError:
            return self.too_late()
        except Exception as error:  # noqa: BLE001 - as above
            return _raised(error)

    def taken(self, answer: Answer | HookFault, duration_ms: float) -> Answer | HookFault:
        """The answer with what the plugin keeps from now on; or what is said instead if it took too long.

        To be called when the answer is about to be heard, and only then: what is taken counts as saved. A hook that
        blocks the loop (an async one that sleeps, a sync one that never lets go of the interpreter) cannot be ended at
        its timeout; it is seen to have overrun when it is done.
        """
        if duration_ms > self.timeout_ms:
            return self.too_late()
        if not self._takes_context or isinstance(answer, HookFault):
            return answer
        try:
            state = self._memory.taken()
        except HookFault as fault:
            return fault
        return answer if state is None else replace(answer, state=state)

    def too_late(self) -> HookFault:
        """What an overrun timeout is answered with."""
        return HookFault(f"no answer within its timeout of {spelt(self.timeout_ms)}")

    def _call(self, floor: Floor) -> Any:
        if self._takes_context:
            return self._function(floor.payload, self._context(floor.dispatch))
        return self._function(floor.payload)

    def _context(self, dispatch: Dispatch) -> HookContext:
        setting = self._setting
        return HookContext(
            plugin=self.listener.name,
            hook=self.listener.point,
            ordinal=dispatch.ordinal,
            run_id=setting.run_id,
            workflow_id=setting.workflow_id,
            node_id=dispatch.node_id,
            activity_id=dispatch.activity_id,
            attempt_id=dispatch.attempt_id,
            run_directory=setting.run_directory,
            working_directory=setting.working_directory,
            state=self._memory.state,
            is_replay=setting.is_replay,
        )


class FailedHook:
    """A hook that could not be loaded: its failure is its answer, wherever it is asked."""

    is_sync = False

    def __init__(self, listener: Listener, fault: HookFault) -> None:
        self.listener = listener
        self._fault = fault

    async def ask(self, floor: Floor) -> None:
        if floor.invites(self.listener):
            floor.hear(self.listener, self._fault, 0.0)


_NO_OPINION = Answer()


def _raised(error: BaseException) -> HookFault:
    return HookFault(f"raised {describe_exception(error)}")


def _as_answer(returned: Any) -> Answer:
    if returned is None:
        return _NO_OPINION
    if isinstance(returned, Modify | Block | AskPerson):
        return Answer(returned)
    if inspect.iscoroutine(returned):
        returned.close()
        raise HookFault("it returned a coroutine; write it as `async def`")
    kind = type(returned).__name__
    raise HookFault(f"it returned a {kind}; return None, modify(...), block(...) or ask(...)")


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
