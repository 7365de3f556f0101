"""What a strategy sees of a loop: the draws so far, each with what became of its checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hooks.sampling.answers import Answer

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an agent is asked. `after` is the draw whose conversation, its answer included, comes before; None for
    the conversation the step began with."""

    text: str
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one requirement, as hooks have left it. `score` is 0 to 1 where the check gave one."""

    requirement: str
    passed: bool
    weight: float = 1.0
    score: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Draw:
    """One answer; `value` is its JSON where it was given or parsed, with `is_null` null. Draws are numbered from 1."""

    number: int
    prompt: Prompt
    text: str
    value: Json
    verdicts: Sequence[Verdict] = ()
    is_null: bool = False

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def answer(self) -> Json:
        """What the step would give: its value, else its text."""
        return Answer(self.text, self.value, self.is_null).output

    @property
    def weight_passed(self) -> float:
        """The weights of the requirements it passed."""
        return sum(verdict.weight for verdict in self.verdicts if verdict.passed)

    @property
    def score(self) -> float:
        """Each requirement's weight times its score; without a score of its own, one that passed has 1."""
        return sum(verdict.weight * _score(verdict) for verdict in self.verdicts)

    @property
    def failures(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if not verdict.passed]


def _score(verdict: Verdict) -> float:
    return float(verdict.passed) if verdict.score is None else verdict.score


def best_failure(draws: Sequence[Draw]) -> Draw | None:
    """The draw that passed the most weight, the earliest of those that are equal."""
    return max(draws, key=lambda draw: (draw.weight_passed, -draw.number), default=None)
