"""Asks the hooks of one dispatch, in order, and settles what they came to.

First those that decide: sequential and transform one after another, then all concurrent ones at once, then the final
ones. Then those that look on (audit), also when one before them said no; and those in the background are begun.
Consecutive synchronous functions share one thread; everything else is asked from the loop.

A decision that the log holds already, made by the same hook about the same payload, is taken from there, and that hook
is not asked again. So a chain goes on after the last decision that still holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TypeAlias

from hooks.events.payloads import HookDecided, HookDecision
from hooks.kernel.state import DecidedHook
from hooks.pipeline.background import Background
from hooks.pipeline.command_hooks import CommandHook
from hooks.pipeline.deliberation import Deliberation
from hooks.pipeline.dispatch import Dispatch, Json, PayloadDocument, RunSetting, Verdict
from hooks.pipeline.effective import is_of_background, payload_digest
from hooks.pipeline.floor import Floor, Sealed
from hooks.pipeline.listeners import Listener
from hooks.pipeline.plugin_loading import LoadedMember
from hooks.pipeline.python_hooks import FailedHook, PythonHook
from hooks.pipeline.thread_turns import ask_in_thread

Hook: TypeAlias = PythonHook | CommandHook | FailedHook


class Chain:
    """The hooks of a run, ready to be asked."""

    def __init__(
        self,
        setting: RunSetting,
        loaded: Sequence[LoadedMember],
        *,
        record_all: bool,
        resolve: Callable[[Json], Json],
    ) -> None:
        self._setting = setting
        self._loaded = {id(member.member): member for member in loaded}
        self._record_all = record_all
        self._resolve = resolve
        self._hooks: dict[int, Hook] = {}
        self.background = Background(record_all=record_all)

    async def ask(self, dispatch: Dispatch, listeners: Sequence[Listener]) -> Verdict:
        """What `listeners`, in order, say. Cancelled, it ends the commands being asked and abandons the thread."""
        document: PayloadDocument = dispatch.mask(dispatch.payload())
        awaited = [listener for listener in listeners if listener.mode != "fire_and_forget"]
        last = _last_logged(dispatch)
        deliberation = Deliberation(dispatch, document)
        repeated = _repeatable(last.decided, awaited, document) if last is not None else []
        is_settled = last is not None and len(repeated) == len(last.decided.decisions) == len(awaited)
        await self._ask_in_order(deliberation, awaited, repeated)
        verdict = deliberation.verdict(record_all=self._record_all, supersedes=last.seq if last is not None else None)
        if len(awaited) < len(listeners):
            self._ask_in_background(deliberation, listeners[len(awaited) :], payload_digest(document), verdict)
        return _without_record(verdict) if is_settled else verdict

    async def _ask_in_order(
        self, deliberation: Deliberation, listeners: Sequence[Listener], repeated: Sequence[HookDecision]
    ) -> None:
        for listener, logged in zip(listeners, repeated, strict=False):
            if listener.mode == "audit":
                break
            deliberation.repeat(listener, logged, self._resolve)
        deciding = [listener for listener in listeners if listener.mode != "audit"]
        while deliberation.heard < len(deciding) and not deliberation.is_over:
            await self._ask_next(deliberation, deciding[deliberation.heard :])
        for listener in deciding[deliberation.heard :]:
            deliberation.skip(listener)
        if len(deciding) < len(listeners):
            deliberation.begin_looking_on()
            for listener, logged in zip(listeners[len(deciding) :], repeated[len(deciding) :], strict=False):
                deliberation.repeat(listener, logged, self._resolve)
            while deliberation.heard < len(listeners):
                await self._ask_next(deliberation, listeners[deliberation.heard :])

    async def _ask_next(self, deliberation: Deliberation, waiting: Sequence[Listener]) -> None:
        """Ask the next hook, or as many as are asked together with it."""
        first = self.hook_of(waiting[0])
        if _is_concurrent(waiting[0]):
            await self._ask_together(deliberation, list(takewhile(_is_concurrent, waiting)))
        elif isinstance(first, PythonHook) and first.is_sync:
            await ask_in_thread(self._sharing_a_thread(waiting), deliberation)
        else:
            await first.ask(deliberation)

    def _sharing_a_thread(self, waiting: Sequence[Listener]) -> list[PythonHook]:
        hooks = []
        for listener in waiting:
            hook = self.hook_of(listener)
            if not isinstance(hook, PythonHook) or not hook.is_sync or _is_concurrent(listener):
                break
            hooks.append(hook)
        return hooks

    async def _ask_together(self, deliberation: Deliberation, listeners: Sequence[Listener]) -> None:
        """Ask them all at once, to their end, and hear them in order."""
        floors = [Sealed(deliberation.dispatch, deliberation.document, deliberation.payload) for _ in listeners]
        async with asyncio.TaskGroup() as group:
            for listener, floor in zip(listeners, floors, strict=True):
                group.create_task(self.ask_alone(listener, floor))
        for listener, floor in zip(listeners, floors, strict=True):
            assert floor.heard is not None, "whoever is asked is heard"
            if floor.was_asked:
                deliberation.hear(listener, floor.heard.answer, floor.heard.duration_ms)
            else:
                deliberation.pass_over(listener)

    def _ask_in_background(
        self, deliberation: Deliberation, listeners: Sequence[Listener], digest: str, verdict: Verdict
    ) -> None:
        document = deliberation.final_document()
        for listener in listeners:

            async def ask_hook(floor: Sealed, listener: Listener = listener) -> None:
                await self.ask_alone(listener, floor)

            self.background.ask(
                ask_hook, listener, deliberation.dispatch, document, digest=digest, outcome=verdict.outcome
            )

    async def ask_alone(self, listener: Listener, floor: Floor) -> None:
        """Ask one hook, outside the chain."""
        hook = self.hook_of(listener)
        if isinstance(hook, PythonHook) and hook.is_sync:
            await ask_in_thread([hook], floor)
        else:
            await hook.ask(floor)

    def hook_of(self, listener: Listener) -> Hook:
        """The hook behind a listener, ready to be asked."""
        hook = self._hooks.get(id(listener))
        if hook is None:
            hook = self._hooks[id(listener)] = self._made(listener)
        return hook

    def _made(self, listener: Listener) -> Hook:
        loaded = self._loaded.get(id(listener.member))
        if loaded is None:
            return CommandHook(listener, self._setting)
        if loaded.fault is not None:
            return FailedHook(listener, loaded.fault)
        of_plugin, of_hook = listener.hook_key
        return PythonHook(listener, loaded.plugins[of_plugin].hooks[of_hook], loaded.memories[of_plugin], self._setting)


def _is_concurrent(listener: Listener) -> bool:
    return listener.mode == "concurrent"


def _last_logged(dispatch: Dispatch) -> DecidedHook | None:
    """The decision in force of the same dispatch, if the log has one."""
    for logged in reversed(dispatch.logged):
        decided = logged.decided
        if (decided.hook, decided.ordinal) == (dispatch.hook, dispatch.ordinal) and not is_of_background(decided):
            return logged
    return None


def _repeatable(
    decided: HookDecided, listeners: Sequence[Listener], document: PayloadDocument
) -> Sequence[HookDecision]:
    """The logged decisions that still hold: up to the first hook that is another now, if the payload is the same."""
    if decided.payload_digest != payload_digest(document):
        return []
    pairs = zip(decided.decisions, listeners, strict=False)
    same = [logged for logged, _ in takewhile(lambda pair: _is_of(*pair), pairs)]
    if len(same) == len(decided.decisions) == len(listeners):
        return same
    return list(takewhile(lambda logged: logged.outcome != "not_run", same))


def _is_of(logged: HookDecision, listener: Listener) -> bool:
    return (logged.plugin, logged.origin, logged.digest, logged.mode) == (
        listener.name,
        listener.member.origin,
        listener.digest,
        listener.mode,
    )


def _without_record(verdict: Verdict) -> Verdict:
    """The same verdict, which stands in the log already and was told when it was made."""
    return Verdict(
        outcome=verdict.outcome,
        changes=verdict.changes,
        violation=verdict.violation,
        asks=verdict.asks,
        payload_digest=verdict.payload_digest,
    )
