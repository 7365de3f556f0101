"""A sampling loop that ends without a result."""

from __future__ import annotations

from hooks.events.payloads import EffectOutcome, ErrorInfo
from hooks.runtime.execution_hooks import Failed


class LoopOverError(Exception):
    """The loop ends here; `failed` is what its step comes to."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.error_message)
        self.failed = failed


def failed_with(error: ErrorInfo, outcome: EffectOutcome, stack_trace: str = "") -> Failed:
    """A step that failed with this error; `outcome` is what is known of a draw with consequences."""
    return Failed(error.error_code, error.error_class, error.error_message, outcome, stack_trace, details=error.details)
