"""Interim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hooks.definition.model import Requirement
from hooks.sampling.answers import Answer
from hooks.sampling.checks import check_answer
from hooks.sampling.verdicts import RawVerdict
from hooks.secrets import Masker


@dataclass(frozen=True, slots=True)
class CheckContext:
    directory: Path
    working_directory: Path
    workflow_directory: Path
    marker: str
    grace_ms: int
    environment: Mapping[str, str]
    hidden: frozenset[str]
    masker: Masker | None
    on_kill: Callable[[], None]


async def evaluate(requirement: Requirement, answer: Answer, ctx: CheckContext) -> RawVerdict:
    return check_answer(requirement, answer)
