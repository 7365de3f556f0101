"""One hook, tried on one payload: what it printed, what was understood, and what that would come to.

Nothing is recorded and nothing follows from it; the hook itself does whatever it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hooks.definition.hook_points import HookType
from hooks.pipeline.chain import Chain
from hooks.pipeline.command_answers import read_answer
from hooks.pipeline.command_hooks import CommandHook
from hooks.pipeline.command_process import Ended
from hooks.pipeline.dispatch import Dispatch, Json, PayloadDocument, Subject
from hooks.pipeline.floor import Answer, Sealed, said_in
from hooks.pipeline.judging import Decision, decision_on, shown
from hooks.pipeline.listeners import Listener
from hooks.pipeline.verdicts import HookFault


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it. `ended` is None for a Python hook, and for a command that could not be started."""

    listener: Listener
    decision: Decision
    was_asked: bool = True
    ended: Ended | None = None
    messages: list[str] = field(default_factory=list)
    before: PayloadDocument = field(default_factory=dict)

    @property
    def changed(self) -> dict[str, tuple[Json, Json]]:
        """The fields it would change: before and after."""
        return {name: (self.before[name], value) for name, value in self.decision.changes.items()}


async def try_hook(
    chain: Chain,
    listener: Listener,
    document: PayloadDocument,
    accepts: Callable[[str, Json], str | None] = lambda name, value: None,
) -> Trial:
    """Ask the hook about this payload, whether its `match` chooses it or not."""
    hook = chain.hook_of(listener)
    question = Dispatch(
        hook=HookType(document["hook"]),
        ordinal=1,
        subject=Subject(document["workflow_id"]),
        payload=lambda: document,
        activity_id=document["activity_id"],
        attempt_id=document["attempt_id"],
        node_id=document["node_id"],
        accepts=accepts,
    )
    floor, ended = Sealed(question, document), None
    if isinstance(hook, CommandHook):
        answer, ended = await _run(hook, floor)
    else:
        await chain.ask_alone(listener, floor)
        assert floor.heard is not None, "whoever is asked is heard"
        answer = floor.heard.answer
    return Trial(
        listener=listener,
        decision=decision_on(said_in(answer), listener, document, question),
        was_asked=floor.was_asked,
        ended=ended,
        messages=[shown(message, question) for message in answer.messages] if isinstance(answer, Answer) else [],
        before=document,
    )


async def _run(hook: CommandHook, floor: Sealed) -> tuple[Answer | HookFault, Ended | None]:
    """The command's answer, and beside it how it ended, which an answer does not tell."""
    ended: Ended | None = None
    if not floor.invites(hook.listener):
        assert floor.heard is not None
        return floor.heard.answer, None
    try:
        ended = await hook.run(floor.document)
        return read_answer(ended, floor.document, hook.timeout_ms, hook.listener.declared_as), ended
    except HookFault as fault:
        return fault, ended
