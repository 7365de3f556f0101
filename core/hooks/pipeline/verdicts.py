"""What a hook may answer, and what a "no" becomes.

Returning None is having no opinion; it never overrules another hook. How a hook is declared stands in declaring.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from hooks.errors import HooksError
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


@dataclass(frozen=True, slots=True)
class AskPerson:
    """A person is to decide, about the payload with `fields` changed. Nothing goes on before the answer."""

    reason: str
    fields: Mapping[str, Any] = field(default_factory=dict)


Opinion: TypeAlias = Modify | Block | AskPerson | None
"""What a hook in Python may return; None is "nothing to say"."""


def modify(**fields: Any) -> Modify:
    """The answer that changes writable fields of the payload: `modify(model_options={...}, format=None)`."""
    return Modify(fields)


def block(reason: str, *, code: str | None = None, details: Mapping[str, Any] | None = None) -> Block:
    """The answer that forbids the action. `reason` is for people, `code` for programs, `details` any JSON object."""
    return Block(reason, code, dict(details or {}))


def ask(reason: str) -> AskPerson:
    """The answer that has a person decide; who, and until when, is said where the hook is declared."""
    return AskPerson(reason)


LONGEST_REASON = 4_000


def fit_for_log(text: str) -> str:
    """The text as the log can carry it: no lone surrogates, and not without end.

    To be called once secrets are masked: of one that is cut in two, a half would be found by nobody.
    """
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= LONGEST_REASON else f"{whole[:LONGEST_REASON]} …"


class HookFault(Exception):
    """A hook failed: it raised, took too long, or gave an answer that is none. This is never a "no" of its policy."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


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
