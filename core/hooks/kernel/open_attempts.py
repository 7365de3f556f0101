"""The open attempt that an event is about, held against what such an event may say."""

from __future__ import annotations

from hooks.events.payloads import AttemptPayload
from hooks.ids import ActivityId
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.state import AttemptState, RunState


def open_attempt(state: RunState, payload: AttemptPayload) -> AttemptState:
    """Raises IllegalEventError if the attempt is not under way."""
    attempt = state.open.get(ActivityId(payload.activity_id))
    if attempt is None or attempt.attempt_id != payload.attempt_id:
        raise IllegalEventError(f"{payload.type} of {payload.attempt_id}, which is not open")
    return attempt


def started_attempt(state: RunState, payload: AttemptPayload) -> AttemptState:
    """Raises IllegalEventError also if its component has not started."""
    attempt = open_attempt(state, payload)
    if attempt.component is None:
        raise IllegalEventError(f"{payload.type} of {payload.attempt_id} before componentStarted")
    return attempt


def permit(state: RunState, attempt: AttemptState, at: int) -> None:
    """From here on something outside may have been started for it."""
    attempt.permitted_by = len(state.sessions) - 1
    attempt.running_since = at
