"""The words of a hook: what it is asked at, what it may answer, and what a "no" becomes.

    from hooks import HookType, block, hook, modify

    @hook(HookType.COMPONENT_PRE_EXECUTE)
    def cap_tokens(payload):
        if payload.model_options.get("max_tokens", 0) > 4000:
            return modify(model_options={**payload.model_options, "max_tokens": 4000})

Returning None is having no opinion; it never overrules another hook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from hooks.definition.hook_points import HookType as HookType
from hooks.errors import HooksError, UsageError
from hooks.events.payloads import ErrorInfo


@dataclass(frozen=True, slots=True)
class Modify:
    """These fields are to have these values; each is given whole."""

    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    """The action must not go on."""

    reason: str
    code: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


Opinion: TypeAlias = Modify | Block | None


def modify(**fields: Any) -> Modify:
    """The answer that changes writable fields of the payload: `modify(model_options={...}, format=None)`."""
    return Modify(fields)


def block(reason: str, *, code: str | None = None, details: Mapping[str, Any] | None = None) -> Block:
    """The answer that forbids the action. `reason` is for people, `code` for programs, `details` any JSON object."""
    return Block(reason, code, dict(details or {}))


Hooked = TypeVar("Hooked", bound=Callable[..., Any])
_DECLARATION = "__hook_points__"


def hook(*points: HookType | str) -> Callable[[Hooked], Hooked]:
    """Declare which hook points a function is written for; to set it at another one is then an error of that hook.

    The function takes `(payload)` or `(payload, ctx)` and may be async. Raises UsageError for no or an unknown point.
    """
    if not points:
        raise UsageError("@hook() names no hook point.", fix=f"Use one of {', '.join(HookType)}.")
    declared = frozenset(map(_hook_type, points))

    def declare(function: Hooked) -> Hooked:
        setattr(function, _DECLARATION, declared)
        return function

    return declare


def declared_points(function: Callable[..., Any]) -> frozenset[HookType]:
    """The points a function was declared for with @hook; empty when it was not."""
    return getattr(function, _DECLARATION, frozenset())


def _hook_type(point: HookType | str) -> HookType:
    try:
        return HookType(point)
    except ValueError:
        raise UsageError(
            f"@hook: there is no hook point {point!r}.", fix=f"Use one of {', '.join(HookType)}."
        ) from None


LONGEST_REASON = 4_000


def fit_for_log(text: str) -> str:
    """The text as the log can carry it: no lone surrogates, and not without end."""
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= LONGEST_REASON else f"{whole[:LONGEST_REASON]} …"


class HookFault(Exception):
    """A hook failed: it raised, took too long, or gave an answer that is none. This is never a "no" of its policy."""

    def __init__(self, reason: str) -> None:
        self.reason = fit_for_log(reason)
        super().__init__(self.reason)


ViolationClass: TypeAlias = Literal["policy", "hook_error"]


class PluginViolationError(HooksError):
    """A hook said no (class policy), or failed where a failure must stop the action (class hook_error)."""

    exit_code: ClassVar[int] = 3

    def __init__(
        self,
        *,
        hook: str,
        plugin: str,
        reason: str,
        error_class: ViolationClass = "policy",
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        what = f"blocked {hook}" if error_class == "policy" else f"failed at {hook}, which blocks it"
        super().__init__(f"Hook {plugin} {what}: {reason}")
        self.hook = hook
        self.plugin = plugin
        self.reason = reason
        self.error_class = error_class
        self.code = code
        self.details = dict(details or {})

    def as_error_info(self) -> ErrorInfo:
        """The same as the log and the hooks see it."""
        return ErrorInfo(
            error_code=type(self).__name__,
            error_class=self.error_class,
            error_message=self.message,
            details={
                "hook": self.hook,
                "plugin": self.plugin,
                "reason": self.reason,
                "code": self.code,
                "details": self.details,
            },
        )
