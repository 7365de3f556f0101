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
from functools import partial
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
from hooks.pipeline.hook_threads import HookThreads
from hooks.pipeline.listeners import Audience, Listener
from hooks.pipeline.plugin_loading import LoadedMember
from hooks.pipeline.python_hooks import FailedHook, PythonHook
from hooks.pipeline.thread_turns import ask_in_thread

Hook: TypeAlias = PythonHook | CommandHook | FailedHook

_IN_REPLAY_S = 0.05
"""How long a loop in which nothing else goes on stands still for a hook in a thread."""


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
        self._threads = HookThreads(_IN_REPLAY_S) if setting.is_replay else HookThreads()
        self.background = Background(record_all=record_all)

    async def close(self) -> None:
        """Give up what runs in the background, and let go of the threads."""
        await self.background.drain(0)
        self._threads.close()

    async def ask(self, dispatch: Dispatch, audience: Audience) -> Verdict:
        """What the hooks say. Cancelled, it ends the commands being asked and abandons the thread."""
        deliberation = Deliberation(dispatch)
        last = _last_logged(dispatch)
        repeated = _repeatable(last.decided, audience.awaited, deliberation.document) if last is not None else ()
        await self._hear(deliberation, audience.deciding, repeated)
        if audience.looking_on:
            deliberation.begin_looking_on()
            await self._hear(deliberation, audience.looking_on, repeated[len(audience.deciding) :])
        verdict = deliberation.verdict(record_all=self._record_all, supersedes=last.seq if last is not None else None)
        if audience.in_background and not self._setting.is_replay:
            self._ask_in_background(deliberation, audience.in_background, verdict)
        is_settled = last is not None and len(repeated) == len(last.decided.decisions) == len(audience.awaited)
        return _without_record(verdict) if is_settled else verdict

    async def _hear(
        self, deliberation: Deliberation, listeners: Sequence[Listener], repeated: Sequence[HookDecision]
    ) -> None:
        """Hear these hooks in order: the first of them from the log, as far as it goes, the others in person."""
        before = deliberation.heard
        for listener, logged in zip(listeners, repeated, strict=False):
            deliberation.repeat(listener, logged, self._resolve)
        while (done := deliberation.heard - before) < len(listeners):
            if deliberation.is_over:
                for listener in listeners[done:]:
                    deliberation.skip(listener)
            else:
                await self._ask_next(deliberation, listeners, done)

    async def _ask_next(self, deliberation: Deliberation, listeners: Sequence[Listener], done: int) -> None:
        """Ask the next hook, or as many as are asked together with it."""
        first = listeners[done]
        hook = self.hook_of(first)
        if isinstance(hook, PythonHook) and not _is_concurrent(first):
            if hook.is_sync:
                await ask_in_thread(self._sharing_a_thread(listeners[done:]), deliberation, self._threads)
            else:
                await hook.ask(deliberation)
            return
        # From here on the run goes on while we wait.
        deliberation.fix()
        if _is_concurrent(first):
            await self._ask_together(deliberation, list(takewhile(_is_concurrent, listeners[done:])))
        else:
            await hook.ask(deliberation)

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

    def _ask_in_background(self, deliberation: Deliberation, listeners: Sequence[Listener], verdict: Verdict) -> None:
        document, digest = deliberation.final_document(), payload_digest(deliberation.first_document)
        logged = [each.decided for each in deliberation.dispatch.logged]
        for listener in listeners:
            if any(_has_been_told(decided, listener, deliberation.dispatch, digest, verdict) for decided in logged):
                continue
            ask_hook = partial(self.ask_alone, listener)
            self.background.ask(
                ask_hook, listener, deliberation.dispatch, document, digest=digest, outcome=verdict.outcome
            )

    async def ask_alone(self, listener: Listener, floor: Floor) -> None:
        """Ask one hook, outside the chain."""
        hook = self.hook_of(listener)
        if isinstance(hook, PythonHook) and hook.is_sync:
            await ask_in_thread([hook], floor, self._threads)
        else:
            await hook.ask(floor)

    def hook_of(self, listener: Listener) -> Hook:
        """The hook behind a listener, ready to be asked."""
        hook = self._hooks.get(id(listener))
        if hook is None:
            hook = self._hooks[id(listener)] = self._made(listener)
        return hook

    def fault_of(self, listener: Listener) -> str | None:
        """Why the hook can only fail, if it could not be loaded."""
        loaded = self._loaded.get(id(listener.member))
        return None if loaded is None or loaded.fault is None else loaded.fault.reason

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


def _has_been_told(decided: HookDecided, listener: Listener, dispatch: Dispatch, digest: str, verdict: Verdict) -> bool:
    """Whether `decided` has what this hook in the background said of the same payload and verdict."""
    return (
        is_of_background(decided)
        and (decided.hook, decided.ordinal, decided.payload_digest) == (dispatch.hook, dispatch.ordinal, digest)
        and decided.verdict == verdict.outcome
        and any(
            (decision.plugin, decision.digest) == (listener.name, listener.digest) and decision.outcome != "lost"
            for decision in decided.decisions
        )
    )


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
