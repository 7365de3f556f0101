"""How a step fails: the errors of attempts, bounded and fit for the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.errors import HooksError, message_of
from hooks.events.payloads import ErrorClass, ErrorInfo
from hooks.jsonio import carried_text

MAX_MESSAGE = 4_000
NOT_STARTED = "NotStarted"
"""The machine was short of disk, descriptors or memory: the driver stops, and the next one makes a new attempt."""


class NothingMore(Exception):
    """There is no more to do for the attempt here: it stands at a gate or in doubt, it ended, or the driver stops."""


class StepError(Exception):
    """The attempt fails with `error`."""

    def __init__(self, error: ErrorInfo, stack_trace: str = "") -> None:
        super().__init__(error.error_message)
        self.error = error
        self.stack_trace = stack_trace


def step_error(code: str, error_class: ErrorClass, message: str, details: Mapping[str, Any] | None = None) -> ErrorInfo:
    """An error for the log: its message cut to a bound, and what JSON cannot carry replaced."""
    if len(message) > MAX_MESSAGE:
        message = message[:MAX_MESSAGE] + " …"
    # A message may quote what a child printed.
    return ErrorInfo(
        error_code=carried_text(code),
        error_class=error_class,
        error_message=carried_text(message),
        details=dict(details or {}),
    )


def error_of_exception(error: Exception) -> ErrorInfo:
    """An exception that an implementation, or this program, was not expected to raise."""
    message = error.message if isinstance(error, HooksError) else message_of(error)
    return step_error(type(error).__name__, "fatal", message or type(error).__name__)


DRIVER_DIED = step_error("DriverDied", "retryable", "The driver died while this was running.")
