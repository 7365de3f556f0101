"""What a requirement says of an answer, before any hook has seen it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from hooks.jsonio import carried_text

MOST_REASON = 2_000
"""Characters of a reason: it goes into the log and, by way of repair, into the next prompt."""


@dataclass(frozen=True, slots=True)
class RawVerdict:
    """Whether the answer meets the requirement; a `score` (0 to 1) where the check gives one."""

    passed: bool
    score: float | None = None
    reason: str | None = None


class RequirementCheck(Protocol):
    """A kind of requirement that another distribution registers under `hooks.requirements`.

    What is registered is called with the settings and the workflow's directory, and gives one of these.
    """

    async def check(self, text: str, value: Any) -> RawVerdict:
        """The verdict on an answer; `value` is None where it is text alone. What raises cannot be evaluated."""


class CannotEvaluateError(Exception):
    """A requirement cannot be evaluated: an error of the step, never a failed verdict. Names the requirement.

    `stack_trace` is the traceback or the stderr of whatever failed, empty if there is none.
    """

    def __init__(self, requirement: str, message: str, *, stack_trace: str = "") -> None:
        self.requirement = requirement
        self.problem = carried_text(message)
        self.stack_trace = carried_text(stack_trace)
        super().__init__(f"The requirement {requirement!r} cannot be evaluated: {self.problem}")


def bounded(reason: str) -> str:
    """A reason as the log can carry it, and that is not too long, its beginning kept."""
    more = len(reason) - MOST_REASON
    return carried_text(reason if more <= 0 else f"{reason[:MOST_REASON]}… (+{more:,} characters)")


def failed(own_reason: str | None, found: str, score: float | None = None) -> RawVerdict:
    """A failed verdict: the requirement's own reason if it has one, else what the check found."""
    return RawVerdict(False, score, bounded(own_reason if own_reason is not None else found))
