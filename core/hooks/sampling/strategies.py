"""Strategies: what is asked next, whether there are draws enough, which of them is taken. Pure.

    rejection          the same again, until a draw passes
    repair_template    the same with what was wrong added to the instruction
    multi_turn         what was wrong as the next turn of the conversation
    best_of            all draws of the budget; of those that pass, the one with the highest score
    majority           all draws of the budget; of those that pass, the one that most of them agree with

The runtime makes the draws, checks them and asks the hooks; a strategy is only shown what is recorded, so that a loop
goes on after a crash as if there had been none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from hooks.definition.model import Sampling
from hooks.entry_points import load_entry_point
from hooks.errors import UsageError
from hooks.sampling.answers import Answer
from hooks.sampling.checks import vote_key
from hooks.sampling.draws import Draw, Prompt

RepairType: TypeAlias = Literal["rejection", "template", "multi_turn"]
"""What kind of repair a strategy makes, as hooks are shown it."""
GROUP = "hooks.strategies"


class SamplingStrategy(Protocol):
    """Answers questions about a loop from what is recorded of it. Same question, same answer: it keeps no state."""

    repair_type: RepairType
    """What the prompt after a failed draw is made by."""
    is_independent: bool
    """No draw depends on the one before: several can be made at once."""

    def repair(self, original: Prompt, failed: Draw) -> Prompt:
        """What is asked after a draw that failed; `original` is what the step asks."""

    def is_enough(self, draws: Sequence[Draw], loop_budget: int) -> bool:
        """Whether no more draws are needed; `draws` is not empty, and fewer than the budget."""

    def choose(self, draws: Sequence[Draw]) -> Draw | None:
        """The draw to take among those that were made; None if none of them will do."""


class RejectionSamplingStrategy:
    """Draws the same again until an answer passes."""

    repair_type: RepairType = "rejection"
    is_independent = False

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling

    def repair(self, original: Prompt, failed: Draw) -> Prompt:
        return original

    def is_enough(self, draws: Sequence[Draw], loop_budget: int) -> bool:
        return draws[-1].passed

    def choose(self, draws: Sequence[Draw]) -> Draw | None:
        return next((draw for draw in draws if draw.passed), None)


class RepairTemplateStrategy(RejectionSamplingStrategy):
    """Adds to the instruction what was wrong with the last answer."""

    repair_type: RepairType = "template"

    def repair(self, original: Prompt, failed: Draw) -> Prompt:
        return Prompt(
            f"{original.text}\n\nAn earlier answer was refused:\n{_listed(failed)}\nAvoid that.", original.after
        )


class MultiTurnStrategy(RejectionSamplingStrategy):
    """Answers the agent with what was wrong; it sees what it has said."""

    repair_type: RepairType = "multi_turn"

    def repair(self, original: Prompt, failed: Draw) -> Prompt:
        return Prompt(f"Your answer does not do yet:\n{_listed(failed)}\nAnswer again, in full.", failed.number)


class BestOfStrategy(RejectionSamplingStrategy):
    """Uses up its budget and takes the best of the answers that pass, the earliest of equals."""

    is_independent = True

    def is_enough(self, draws: Sequence[Draw], loop_budget: int) -> bool:
        return False

    def choose(self, draws: Sequence[Draw]) -> Draw | None:
        passing = [draw for draw in draws if draw.passed]
        return max(passing, key=lambda draw: (draw.score, -draw.number), default=None)


class MajorityVotingStrategy(BestOfStrategy):
    """Uses up its budget and takes the answer that most of those which pass agree on, the earliest of equals."""

    def choose(self, draws: Sequence[Draw]) -> Draw | None:
        """Raises CannotEvaluateError where `key` cannot be evaluated."""
        groups: dict[bytes, list[Draw]] = {}
        for draw in draws:
            if draw.passed:
                groups.setdefault(vote_key(self._sampling.key, Answer(draw.text, draw.value, draw.is_null)), []).append(
                    draw
                )
        if not groups:
            return None
        return max(groups.values(), key=lambda group: (len(group), -group[0].number))[0]


STRATEGIES: dict[str, Callable[[Sampling], SamplingStrategy]] = {
    "rejection": RejectionSamplingStrategy,
    "repair_template": RepairTemplateStrategy,
    "multi_turn": MultiTurnStrategy,
    "best_of": BestOfStrategy,
    "majority": MajorityVotingStrategy,
}
"""Those that come with hooks, by the name a workflow uses."""


def make_strategy(sampling: Sampling) -> SamplingStrategy:
    """The strategy that is named. Raises UsageError for one that is not installed."""
    make = STRATEGIES.get(sampling.strategy) or load_entry_point(GROUP, sampling.strategy)
    if make is None:
        raise UsageError(
            f"The sampling strategy {sampling.strategy!r} is not installed.",
            fix=f"Use one of {', '.join(STRATEGIES)}, or install the distribution that registers it.",
        )
    strategy: SamplingStrategy = make(sampling)
    return strategy


def _listed(failed: Draw) -> str:
    return "\n".join(f"- {verdict.reason or f'{verdict.requirement} failed'}" for verdict in failed.failures)
