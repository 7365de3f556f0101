"""Short ways to say how a call ended."""

from __future__ import annotations

from typing import Any

from hooks.events.payloads import EffectOutcome, ErrorClass, ErrorInfo
from hooks.executors.base import Settled


def unsettled(outcome: EffectOutcome, code: str, error_class: ErrorClass, message: str, **details: Any) -> Settled:
    """An outcome that is no success, with its reason."""
    return Settled(
        outcome,
        error=ErrorInfo(error_code=code, error_class=error_class, error_message=message, details=details),
    )
