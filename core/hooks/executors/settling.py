"""How a call ended, said in short, and said without secrets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from hooks.events.payloads import EffectOutcome, ErrorClass, ErrorInfo
from hooks.executors.base import CannotTell, Found, Later, LookUp, Settled
from hooks.secrets import Masker


def unsettled(outcome: EffectOutcome, code: str, error_class: ErrorClass, message: str, **details: Any) -> Settled:
    """An outcome that is no success, with its reason."""
    return Settled(
        outcome,
        error=ErrorInfo(error_code=code, error_class=error_class, error_message=message, details=details),
    )


def masked(settled: Settled, masker: Masker | None) -> Settled:
    """The same without secrets, for an executor whose output comes from no captured file."""
    if masker is None:
        return settled
    error = settled.error
    if error is not None:
        error = msgspec.structs.replace(
            error, error_message=masker.mask(error.error_message), details=masker.mask_value(error.details)
        )
    return replace(settled, output=masker.mask_value(settled.output), error=error)


def masked_look_up(found: LookUp, masker: Masker | None) -> LookUp:
    if masker is None:
        return found
    match found:
        case Found():
            return Found(masked(found.settled, masker), masker.mask_value(found.evidence))
        case Later() | CannotTell():
            return replace(found, reason=masker.mask(found.reason))
        case _:
            return found
