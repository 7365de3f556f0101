"""What a type checker knows of a hook: the payload of its point, and nothing that is not there.

Checked by mypy, never run: a line that must be an error says which one, and `warn_unused_ignores` holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_type

from hooks import (
    ComponentPreExecutePayload,
    EffectPreAttemptPayload,
    HookContext,
    HookPayload,
    HookType,
    Opinion,
    Plugin,
    PluginMode,
    PluginSet,
    RunFinishedPayload,
    ask,
    block,
    hook,
    modify,
)
from hooks.pipeline.verdicts import AskPerson, Block, Modify


@hook(HookType.COMPONENT_PRE_EXECUTE)
def a_function(payload: ComponentPreExecutePayload) -> Modify | None:
    assert_type(payload.tool_calls_enabled, bool)
    assert_type(payload.verdict is None, bool)
    payload.no_such_field  # type: ignore[attr-defined]  # noqa: B018
    return modify(tool_calls_enabled=False)


assert_type(a_function, Callable[[ComponentPreExecutePayload], Modify | None])


@hook(HookType.EFFECT_PRE_ATTEMPT, mode="audit", priority=10)
async def an_async_function(payload: EffectPreAttemptPayload, ctx: HookContext) -> Block | None:
    ctx.state["seen"] = payload.executor
    assert_type(ctx.is_replay, bool)
    return block("no", code="E1") if payload.read_only else None


@hook(HookType.RUN_FINISHED, mode=PluginMode.FIRE_AND_FORGET)
def told_at_the_end(payload: RunFinishedPayload) -> None:
    assert_type(payload.failed_node, str | None)


@hook(HookType.COMPONENT_PRE_EXECUTE, HookType.EFFECT_PRE_ATTEMPT)
def at_several_points(payload: HookPayload) -> AskPerson:
    return ask(payload.run_id)


@hook("PreToolUse")
def by_its_alias(payload: EffectPreAttemptPayload) -> None: ...


@hook(HookType.EFFECT_PRE_ATTEMPT)
def what_suits_every_payload_suits_this_one(payload: HookPayload) -> None: ...


@hook(HookType.RUN_FINISHED)  # type: ignore[arg-type]
def the_payload_of_another_point(payload: ComponentPreExecutePayload) -> None: ...


@hook(HookType.RUN_FINISHED)  # type: ignore[type-var]
def an_answer_that_is_none(payload: RunFinishedPayload) -> str:
    return "no"


hook(HookType.RUN_FINISHED, mode="auditing")  # type: ignore[call-overload]


class Budget(Plugin):
    priority = 10
    mode = "sequential"

    @hook(HookType.COMPONENT_PRE_EXECUTE)
    def before(self, payload: ComponentPreExecutePayload, ctx: HookContext) -> Opinion:
        return None

    @hook(HookType.EFFECT_PRE_ATTEMPT)
    async def effect(self, payload: EffectPreAttemptPayload) -> Opinion:
        return ask("sure?") if payload.executor == "http" else None


PluginSet(Budget, Budget(), a_function, an_async_function, name="all", priority=5)
