"""What a sampling loop needs of the attempt it runs in, beside what every dispatch has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hooks.definition.model import Retry
from hooks.runtime.loop_points import LoopPoints
from hooks.runtime.work_engine import WorkEngine


@dataclass(frozen=True, slots=True)
class LoopServices:
    """`marker_of` and `key_of` give a call, by its number, its process marker and its idempotency key."""

    points: LoopPoints
    engine: WorkEngine
    retry: Retry
    """How often a call that failed is made again, and when."""
    marker_of: Callable[[int], str]
    key_of: Callable[[int], str]
    now: Callable[[], int]
