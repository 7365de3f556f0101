"""Asks the hooks of one dispatch, in order, and settles what they came to.

Consecutive synchronous functions share one thread; everything else is asked from the loop. A decision that the log
holds already, made by the same hooks about the same payload, is taken from there, and nobody is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeAlias

from hooks.definition.hook_points import RULES, HookType
from hooks.events.payloads import ErrorInfo, HookDecided
from hooks.kernel.state import DecidedHook
from hooks.pipeline.command_hooks import CommandHook
from hooks.pipeline.deliberation import Deliberation
from hooks.pipeline.dispatch import Dispatch, Json, PayloadDocument, RunSetting, Verdict
from hooks.pipeline.effective import logged_changes, payload_digest
from hooks.pipeline.listeners import Listener
from hooks.pipeline.python_hooks import PythonHook, ask_in_thread
from hooks.pipeline.verdicts import PluginViolationError, ViolationClass

Hook: TypeAlias = PythonHook | CommandHook


class Chain:
    """The hooks of a run, ready to be asked."""

    def __init__(self, setting: RunSetting, *, record_all: bool, resolve: Callable[[Json], Json]) -> None:
        self._setting = setting
        self._record_all = record_all
        self._resolve = resolve
        self._hooks: dict[int, Hook] = {}

    async def ask(self, dispatch: Dispatch, listeners: Sequence[Listener]) -> Verdict:
        """What `listeners` say. Cancelled, it ends the command that is being asked and abandons the thread."""
        document = dispatch.payload()
        last = _last_logged(dispatch)
        if last is not None and _answers(last.decided, listeners, document):
            return self._reused(last)
        deliberation = Deliberation(dispatch, document)
        await self._ask_in_order(deliberation, [self._hook(listener) for listener in listeners])
        return deliberation.verdict(record_all=self._record_all, supersedes=last.seq if last else None)

    async def _ask_in_order(self, deliberation: Deliberation, hooks: Sequence[Hook]) -> None:
        for hook in hooks:
            if isinstance(hook, PythonHook):
                await hook.load()
        for is_sync, turn in groupby(hooks, key=lambda hook: isinstance(hook, PythonHook) and hook.is_sync):
            if is_sync:
                await ask_in_thread([hook for hook in turn if isinstance(hook, PythonHook)], deliberation)
                continue
            for hook in turn:
                if not deliberation.is_over:
                    await hook.ask(deliberation)
        for hook in hooks[len(deliberation.decisions) :]:
            deliberation.skip(hook.listener)

    def _hook(self, listener: Listener) -> Hook:
        hook = self._hooks.get(id(listener))
        if hook is None:
            kind = PythonHook if listener.entry.python is not None else CommandHook
            hook = self._hooks[id(listener)] = kind(listener, self._setting)
        return hook

    def _reused(self, logged: DecidedHook) -> Verdict:
        decided = logged.decided
        changes = logged_changes([logged], decided.hook, self._resolve)
        return Verdict(outcome=decided.verdict, changes=changes, violation=self._violation(decided))

    def _violation(self, decided: HookDecided) -> ErrorInfo | None:
        if not RULES[HookType(decided.hook)].can_block:
            return None
        for decision in decided.decisions:
            error_class = _VIOLATIONS.get(decision.outcome)
            if error_class is not None:
                return PluginViolationError(
                    hook=decided.hook,
                    plugin=decision.plugin,
                    reason=decision.reason or "",
                    error_class=error_class,
                    code=decision.code,
                    details={name: self._resolve(value) for name, value in decision.details.items()},
                ).as_error_info()
        return None


_VIOLATIONS: dict[str, ViolationClass] = {"block": "policy", "error": "hook_error"}


def _last_logged(dispatch: Dispatch) -> DecidedHook | None:
    """The decision in force of the same dispatch, if the log has one."""
    for logged in reversed(dispatch.logged):
        if (logged.decided.hook, logged.decided.ordinal) == (dispatch.hook, dispatch.ordinal):
            return logged
    return None


def _answers(decided: HookDecided, listeners: Sequence[Listener], document: PayloadDocument) -> bool:
    """Whether a logged decision was made by these hooks about this payload."""
    asked = [(decision.plugin, decision.origin, decision.digest) for decision in decided.decisions]
    present = [(listener.name, listener.member.origin, listener.digest) for listener in listeners]
    return asked == present and decided.payload_digest == payload_digest(document)
