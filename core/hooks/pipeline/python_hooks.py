"""Hooks that are Python functions: `(payload)` or `(payload, ctx)`, sync or async.

A synchronous function runs in a daemon thread, since it may block; consecutive ones of a dispatch share one. Python
cannot end a thread: a function that overruns its timeout is abandoned, whatever it still returns is not heard, and
the hooks after it go on in another thread. An asynchronous function is cancelled at its timeout.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks.callables import CallableError, in_thread, load_callable
from hooks.definition.durations import spelt
from hooks.errors import describe_exception
from hooks.pipeline.deliberation import Answer, Deliberation
from hooks.pipeline.dispatch import RunSetting
from hooks.pipeline.hook_points import HookPayload
from hooks.pipeline.listeners import Listener
from hooks.pipeline.verdicts import Block, HookFault, Modify, declared_points

DEFAULT_TIMEOUT_MS = 5_000


@dataclass(frozen=True, slots=True)
class HookContext:
    """The second argument of a hook that takes one: who it is, and where its run is. The directory is for reading."""

    plugin: str
    run_id: str
    workflow_id: str
    run_directory: Path
    working_directory: Path


class PythonHook:
    """One function of the hook set. Loaded before it is first asked; if that fails, the failure is its answer."""

    def __init__(self, listener: Listener, setting: RunSetting) -> None:
        self.listener = listener
        self.is_sync = False
        self.timeout_ms = listener.entry.timeout_ms or DEFAULT_TIMEOUT_MS
        self._context = HookContext(
            plugin=listener.name,
            run_id=setting.run_id,
            workflow_id=setting.workflow_id,
            run_directory=setting.run_directory,
            working_directory=setting.working_directory,
        )
        self._function: Callable[[HookPayload], Any] | None = None
        self._fault: HookFault | None = None

    async def load(self) -> None:
        """Load the function, once; in a thread, since a module may do anything while it is executed."""
        if self._function is not None or self._fault is not None:
            return
        try:
            async with asyncio.timeout(self.timeout_ms / 1000):
                function = await in_thread(self._loaded)
        except TimeoutError:
            self._fault = HookFault(f"{self._reference} was not loaded within {spelt(self.timeout_ms)}")
        except CallableError as error:
            self._fault = HookFault(str(error))
        except HookFault as fault:
            self._fault = fault
        else:
            self.is_sync = not _is_async(function)
            self._function = self._with_context(function)

    async def ask(self, deliberation: Deliberation) -> None:
        """Ask an async function, or tell why there is none."""
        started = time.perf_counter()
        answer = await self._answer(deliberation.payload)
        duration_ms = _milliseconds_since(started)
        deliberation.hear(self.listener, self.in_time(answer, duration_ms), duration_ms)

    def ask_sync(self, payload: HookPayload) -> Answer | HookFault:
        """Ask a sync function, in the thread this is called in."""
        assert self._function is not None
        try:
            return _as_answer(self._function(payload))
        except HookFault as fault:
            return fault
        except BaseException as error:  # noqa: BLE001 - whatever a hook raises is a failure of that hook
            return _raised(error)

    async def _answer(self, payload: HookPayload) -> Answer | HookFault:
        if self._function is None:
            assert self._fault is not None, "a hook is loaded before it is asked"
            return self._fault
        try:
            async with asyncio.timeout(self.timeout_ms / 1000) as limit:
                answer = _as_answer(await self._function(payload))
        except HookFault as fault:
            return fault
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            return _raised(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            return self.too_late() if limit.expired() else _raised(error)
        # It may have caught its cancellation and returned all the same.
        return self.too_late() if limit.expired() else answer

    def in_time(self, answer: Answer | HookFault, duration_ms: float) -> Answer | HookFault:
        """The answer, or what is said instead if it took too long.

        A hook that blocks the loop (an async one that sleeps, a sync one that never lets go of the interpreter) cannot
        be ended at its timeout; it is seen to have overrun when it is done.
        """
        return answer if duration_ms <= self.timeout_ms or self._function is None else self.too_late()

    def too_late(self) -> HookFault:
        """What an overrun timeout is answered with."""
        return HookFault(f"no answer within its timeout of {spelt(self.timeout_ms)}")

    @property
    def _reference(self) -> str:
        assert self.listener.entry.python is not None
        return self.listener.entry.python

    def _loaded(self) -> Callable[..., Any]:
        function = load_callable(self._reference, self.listener.directory)
        declared = declared_points(function)
        strange = [point for point in self.listener.entry.on if declared and point not in declared]
        if strange:
            raise HookFault(f"{self._reference} is declared for {', '.join(sorted(declared))}, not for {strange[0]}")
        return function

    def _with_context(self, function: Callable[..., Any]) -> Callable[[HookPayload], Any]:
        if not _takes_context(function):
            return function
        context = self._context
        return lambda payload: function(payload, context)


async def ask_in_thread(hooks: Sequence[PythonHook], deliberation: Deliberation) -> None:
    """Ask these synchronous hooks one after another in one thread, and in another one after each that overruns."""
    waiting = list(hooks)
    while waiting and not deliberation.is_over:
        turn = _Turn(waiting, deliberation)
        await turn.take()
        waiting = waiting[turn.heard :]


class _Turn:
    """Hooks being asked in a thread, and the loop that watches their time.

    The lock decides between the two for each answer: it is heard, or the turn was given up before.
    """

    def __init__(self, hooks: Sequence[PythonHook], deliberation: Deliberation) -> None:
        self.heard = 0
        self._hooks = hooks
        self._deliberation = deliberation
        self._lock = threading.Lock()
        self._is_given_up = False
        self._asked_at = time.perf_counter()

    async def take(self) -> None:
        """Return when every hook has been heard, one has overrun, or the deliberation is over."""
        thread = in_thread(self._run)
        try:
            while not thread.done() and not self._is_given_up:
                await asyncio.wait({thread}, timeout=self._time_left())
                if not thread.done():
                    self._give_up_if_overdue()
        except asyncio.CancelledError:
            with self._lock:
                self._is_given_up = True
            raise
        if thread.done():
            thread.result()
        else:
            thread.cancel()

    def _run(self) -> None:
        for hook in self._hooks:
            with self._lock:
                if self._is_given_up or self._deliberation.is_over:
                    return
                payload = self._deliberation.payload
                self._asked_at = time.perf_counter()
            answer = hook.ask_sync(payload)
            with self._lock:
                if self._is_given_up:
                    return
                self._hear(hook.in_time(answer, _milliseconds_since(self._asked_at)))

    def _give_up_if_overdue(self) -> None:
        with self._lock:
            if self.heard < len(self._hooks) and self._time_left() <= 0:
                self._is_given_up = True
                self._hear(self._hooks[self.heard].too_late())

    def _hear(self, answer: Answer | HookFault) -> None:
        self._deliberation.hear(self._hooks[self.heard].listener, answer, _milliseconds_since(self._asked_at))
        self.heard += 1

    def _time_left(self) -> float:
        hook = self._hooks[min(self.heard, len(self._hooks) - 1)]
        return self._asked_at + hook.timeout_ms / 1000 - time.perf_counter()


def _as_answer(returned: Any) -> Answer:
    if returned is None:
        return _NO_OPINION
    if isinstance(returned, Modify | Block):
        return Answer(returned)
    if inspect.iscoroutine(returned):
        returned.close()
        raise HookFault("it returned a coroutine; write it as `async def`")
    raise HookFault(f"it returned a {type(returned).__name__}; return None, modify(...) or block(...)")


_NO_OPINION = Answer()


def _raised(error: BaseException) -> HookFault:
    return HookFault(f"raised {describe_exception(error)}")


def _is_cancelled() -> bool:
    """Whether somebody wants this task to end; a hook may also raise CancelledError on its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _takes_context(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # some built-in without a signature
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return len(wanted) >= 2


def _milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
