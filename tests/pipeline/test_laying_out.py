"""When a payload is made: what may change at the moment of asking, a long conversation when somebody looks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks import HookType, hook
from hooks.pipeline.deliberation import Deliberation
from hooks.pipeline.dispatch import Dispatch, Later, Verdict
from hooks.pipeline.floor import Answer
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.samples import sample_payload
from hooks.pipeline.verdicts import HookFault, Modify
from tests.pipeline.builders import dispatch_of
from tests.pipeline.test_deliberation import listener

POINT = HookType.GENERATION_PRE_CALL
CONVERSATION = {"messages": [{"role": "user", "content": "Before."}], "digest": "d"}


class Question:
    """A question whose prompt changes while it is put, and that tells how often its conversation was laid out."""

    def __init__(self) -> None:
        self.prompt = "at the moment"
        self.laid_out = 0

    def dispatch(self) -> Dispatch:
        def payload() -> dict[str, Any]:
            return {**sample_payload(POINT), "prompt": self.prompt, "context": Later(self._conversation)}

        return replace(dispatch_of(POINT), payload=payload)

    def _conversation(self) -> Any:
        self.laid_out += 1
        return CONVERSATION


def put(question: Question, *hooks: Callable[..., Any], meanwhile: Callable[[], None] = lambda: None) -> Verdict:
    """What the hooks say; `meanwhile` is done as soon as the loop turns to other things while they are asked."""
    here = Path("/")

    async def story() -> Verdict:
        pipeline = Pipeline(
            [],
            run_id="r",
            workflow_id="w",
            run_directory=here,
            working_directory=here,
            transcript=here,
            plugins=list(hooks),
        )
        await pipeline.open()
        asyncio.get_running_loop().call_soon(meanwhile)
        try:
            return await pipeline.dispatch(question.dispatch())
        finally:
            await pipeline.close()

    return asyncio.run(story())


@hook(POINT)
def of_no_opinion(payload: Any) -> None: ...


@hook(POINT)
async def of_no_opinion_async(payload: Any) -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize("nobody_looks", [of_no_opinion, of_no_opinion_async])
def test_a_conversation_that_nobody_looks_at_is_not_laid_out(nobody_looks: Callable[..., Any]) -> None:
    question = Question()

    assert put(question, nobody_looks, nobody_looks) == Verdict()
    assert question.laid_out == 0


def test_a_look_from_a_thread_sees_the_payload_of_the_moment_of_asking() -> None:
    question, has_gone_on, seen = Question(), threading.Event(), []

    def go_on() -> None:
        question.prompt = "a later one"
        has_gone_on.set()

    @hook(POINT)
    def late(payload: Any) -> None:
        assert has_gone_on.wait(30)
        seen.append((payload.prompt, payload.context.messages[0].content))

    put(question, late, late, meanwhile=go_on)

    assert question.prompt == "a later one"
    assert seen == [("at the moment", "Before.")] * 2
    assert question.laid_out == 1


def test_an_async_hook_that_looks_after_it_has_waited_sees_the_same() -> None:
    question = Question()
    seen = []

    @hook(POINT)
    async def late(payload: Any) -> None:
        await asyncio.sleep(0)
        question.prompt = "a later one"
        await asyncio.sleep(0)
        seen.append(payload.prompt)

    put(question, late)

    assert seen == ["at the moment"]


def test_a_hook_that_is_given_up_and_looks_after_all_sees_the_first_payload_and_undoes_no_change() -> None:
    question = Question()
    deliberation = Deliberation(question.dispatch())
    deliberation.fix()
    held_by_slow = deliberation.payload
    question.prompt = "a later one"

    deliberation.hear(listener(1, "ignore"), HookFault("no answer within its timeout"), 0.0)
    deliberation.hear(listener(2, "fail"), Answer(Modify({"prompt": "changed"})), 0.0)

    assert getattr(held_by_slow, "prompt") == "at the moment"  # noqa: B009 - of the type all payloads share
    assert deliberation.document["prompt"] == "changed"
    assert deliberation.verdict(record_all=True, supersedes=None).changes == {"prompt": "changed"}
