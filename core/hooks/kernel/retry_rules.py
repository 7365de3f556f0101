"""Where retries are decided: whether an attempt that failed is followed by another, and when."""

from __future__ import annotations

from hashlib import sha256

from hooks.definition.model import HostExecutorNode, Node, Retry, SubagentNode, Workflow
from hooks.events.payloads import ErrorInfo
from hooks.ids import ActivityId
from hooks.kernel.state import ActivityState, AttemptEnd

MAX_INTERRUPTIONS = 5
"""Attempts in a row that a driver's death may end before the activity fails (DriverCrashLoop)."""


def retry_of(node: Node, definition: Workflow) -> Retry:
    """The retry policy of a node: its own, else the workflow's.

    A command that failed may have done something before it did. So a shell effect is tried again only where the node
    says so itself, or where a look-up or its idempotence makes a second call safe.
    """
    if not isinstance(node, SubagentNode | HostExecutorNode):
        return Retry()
    if node.retry is not None:
        return node.retry
    if isinstance(node, HostExecutorNode) and node.executor == "shell" and not node.read_only:
        is_safe = "lookup" in node.input or node.input.get("idempotent") is True
        return definition.retry if is_safe else Retry()
    return definition.retry


def may_retry(end: AttemptEnd, activity: ActivityState, retry: Retry) -> bool:
    """An attempt that failed may be followed by another: it has attempts left, and its error is one of `retry.on`.

    An effect that was done is never redone, whatever failed afterwards.
    """
    if end.error is None or end.effect_done or end.was_retried:
        return False
    return end.error.error_class in retry.on and activity.counted < retry.max_attempts


def may_call_again(error: ErrorInfo, failures: int, retry: Retry) -> bool:
    """A call of an agent that has failed this often in a row may be made again, in the same loop."""
    return error.error_class in retry.on and failures < retry.max_attempts


def delay_ms(retry: Retry, activity_id: ActivityId, attempt: int) -> int:
    """How long to wait before the attempt after `attempt`, clamped before it is computed, so that it cannot overflow.

    Jitter is a function of activity and attempt: the same whenever and wherever it is asked for.
    """
    delay = float(min(retry.base_ms, retry.max_delay_ms))
    if retry.backoff == "exponential":
        for _ in range(attempt - 1):
            if delay >= retry.max_delay_ms or retry.factor <= 1:
                break
            delay = min(delay * retry.factor, retry.max_delay_ms)
    if retry.jitter:
        fraction = int.from_bytes(sha256(f"{activity_id}#{attempt}".encode()).digest()[:8]) / 2**64
        delay *= 1 + retry.jitter * (2 * fraction - 1)
    return max(0, min(round(delay), retry.max_delay_ms))
