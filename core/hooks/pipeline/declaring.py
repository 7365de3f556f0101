"""How a hook in Python is declared: `@hook(…)` on a function, or on methods of a Plugin.

    from hooks import ComponentPreExecutePayload, HookType, hook, modify

    @hook(HookType.COMPONENT_PRE_EXECUTE)
    def cap_tokens(payload: ComponentPreExecutePayload):
        if payload.model_options.get("max_tokens", 0) > 4000:
            return modify(model_options={**payload.model_options, "max_tokens": 4000})

The declaration says where the hook is asked, how, and how early; an entry of a `hooks:` list may say otherwise. For
each hook point a type checker knows the payload: a function that takes another one is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, overload

from hooks.definition.hook_points import MODES, RULES, HookType, Mode, PluginMode, mode_named, point_named
from hooks.errors import UsageError
from hooks.pipeline.context import HookContext
from hooks.pipeline.verdicts import Opinion

if TYPE_CHECKING:
    from hooks.pipeline.component_points import (
        ComponentPostErrorPayload,
        ComponentPostSuccessPayload,
        ComponentPreExecutePayload,
        EffectPostSettlePayload,
        EffectPreAttemptPayload,
        EffectReconciledPayload,
    )
    from hooks.pipeline.run_points import (
        ActivitiesCancelledPayload,
        RunFinishedPayload,
        RunResumedPayload,
        RunStartedPayload,
        WaitCreatedPayload,
        WaitResolvedPayload,
    )
    from hooks.pipeline.sampling_points import (
        GenerationErrorPayload,
        GenerationPostCallPayload,
        GenerationPreCallPayload,
        SamplingIterationPayload,
        SamplingLoopEndPayload,
        SamplingLoopStartPayload,
        SamplingRepairPayload,
        ValidationPostCheckPayload,
        ValidationPreCheckPayload,
    )

AnyMode: TypeAlias = Mode | PluginMode
Said: TypeAlias = Opinion | Awaitable[Opinion]
Shown = TypeVar("Shown")
Answered = TypeVar("Answered", bound=Said)
Holder = TypeVar("Holder")


class Declares(Protocol[Shown]):
    """A decorator for functions and methods that take this payload, and the context if they want it."""

    @overload
    def __call__(self, function: Callable[[Shown], Answered], /) -> Callable[[Shown], Answered]: ...
    @overload
    def __call__(
        self, function: Callable[[Shown, HookContext], Answered], /
    ) -> Callable[[Shown, HookContext], Answered]: ...
    @overload
    def __call__(self, function: Callable[[Holder, Shown], Answered], /) -> Callable[[Holder, Shown], Answered]: ...
    @overload
    def __call__(
        self, function: Callable[[Holder, Shown, HookContext], Answered], /
    ) -> Callable[[Holder, Shown, HookContext], Answered]: ...


@dataclass(frozen=True, slots=True)
class Declaration:
    """What @hook says of a function; what is None is left to the class, or to the hook point."""

    points: tuple[HookType, ...]
    mode: Mode | None = None
    priority: int | None = None


_ATTRIBUTE = "__hook_declaration__"


@overload
def hook(
    point: Literal[HookType.RUN_STARTED], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[RunStartedPayload]: ...
@overload
def hook(
    point: Literal[HookType.RUN_RESUMED], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[RunResumedPayload]: ...
@overload
def hook(
    point: Literal[HookType.RUN_FINISHED], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[RunFinishedPayload]: ...
@overload
def hook(
    point: Literal[HookType.COMPONENT_PRE_EXECUTE], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[ComponentPreExecutePayload]: ...
@overload
def hook(
    point: Literal[HookType.COMPONENT_POST_SUCCESS], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[ComponentPostSuccessPayload]: ...
@overload
def hook(
    point: Literal[HookType.COMPONENT_POST_ERROR], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[ComponentPostErrorPayload]: ...
@overload
def hook(
    point: Literal[HookType.SAMPLING_LOOP_START], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[SamplingLoopStartPayload]: ...
@overload
def hook(
    point: Literal[HookType.SAMPLING_ITERATION], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[SamplingIterationPayload]: ...
@overload
def hook(
    point: Literal[HookType.SAMPLING_REPAIR], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[SamplingRepairPayload]: ...
@overload
def hook(
    point: Literal[HookType.SAMPLING_LOOP_END], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[SamplingLoopEndPayload]: ...
@overload
def hook(
    point: Literal[HookType.GENERATION_PRE_CALL], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[GenerationPreCallPayload]: ...
@overload
def hook(
    point: Literal[HookType.GENERATION_POST_CALL], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[GenerationPostCallPayload]: ...
@overload
def hook(
    point: Literal[HookType.GENERATION_ERROR], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[GenerationErrorPayload]: ...
@overload
def hook(
    point: Literal[HookType.VALIDATION_PRE_CHECK], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[ValidationPreCheckPayload]: ...
@overload
def hook(
    point: Literal[HookType.VALIDATION_POST_CHECK], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[ValidationPostCheckPayload]: ...
@overload
def hook(
    point: Literal[HookType.EFFECT_PRE_ATTEMPT], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[EffectPreAttemptPayload]: ...
@overload
def hook(
    point: Literal[HookType.EFFECT_POST_SETTLE], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[EffectPostSettlePayload]: ...
@overload
def hook(
    point: Literal[HookType.EFFECT_RECONCILED], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[EffectReconciledPayload]: ...
@overload
def hook(
    point: Literal[HookType.ACTIVITIES_CANCELLED], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[ActivitiesCancelledPayload]: ...
@overload
def hook(
    point: Literal[HookType.WAIT_CREATED], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[WaitCreatedPayload]: ...
@overload
def hook(
    point: Literal[HookType.WAIT_RESOLVED], /, *, mode: AnyMode | None = None, priority: int | None = None
) -> Declares[WaitResolvedPayload]: ...
@overload
def hook(*points: HookType | str, mode: AnyMode | None = None, priority: int | None = None) -> Declares[Any]: ...
def hook(*points: HookType | str, mode: AnyMode | None = None, priority: int | None = None) -> Any:
    """Declare which hook points a function is written for; to set it at another one is then an error of that hook.

    The function takes `(payload)` or `(payload, ctx)` and may be async. Lower priorities are asked first (default 50).
    Raises UsageError for no or an unknown point, or a mode that a point does not have.
    """
    declaration = Declaration(tuple(dict.fromkeys(map(_point, points))), _mode(mode), priority)
    if not declaration.points:
        raise UsageError("@hook() names no hook point.", fix=f"Use one of {', '.join(HookType)}.")
    for point in declaration.points:
        if mode is not None and mode not in RULES[point].modes:
            raise UsageError(
                f"@hook: hooks of {point} only look on; {mode!r} is not possible there.", fix='Use mode="audit".'
            )

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(function, _ATTRIBUTE, declaration)
        return function

    return declare


def declaration_of(function: Any) -> Declaration | None:
    """What @hook says of a function or method; None if it was not declared."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Declaration) else None


def _point(word: HookType | str) -> HookType:
    point = point_named(word)
    if point is None:
        raise UsageError(f"@hook: there is no hook point {word!r}.", fix=f"Use one of {', '.join(HookType)}.")
    return point


def _mode(word: str | None) -> Mode | None:
    mode = mode_named(word)
    if word is not None and mode is None:
        raise UsageError(f"@hook: there is no mode {word!r}.", fix=f"Use one of {', '.join(MODES)}.")
    return mode
