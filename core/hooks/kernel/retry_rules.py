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
    """The retry policy of a node: its own, else the workflow's."""
    if not isinstance(node, SubagentNode | HostExecutorNode):
        return Retry()
    return definition.retry if node.retry is None else node.retry


def retry_after(end: AttemptEnd, node: Node, definition: Workflow) -> Retry:
    """The retry policy that holds once an attempt has ended like this.

    An effect that failed may have done half of its work before it did, and a policy for the whole workflow was hardly
    written with that in mind. So it is tried again only where the node says so itself, where it certainly did not
    happen, or where whoever performs it vouches for a second call: by a look-up, its idempotence, or by knowing that a
    failure leaves nothing behind.
    """
    if isinstance(node, SubagentNode | HostExecutorNode) and node.retry is None and not _is_safe(end, node):
        return Retry()
    return retry_of(node, definition)


def _is_safe(end: AttemptEnd, node: SubagentNode | HostExecutorNode) -> bool:
    if end.may_retry is not None:
        return end.may_retry
    # A log from before effects recorded this: then it was known of the shell alone, by what its input says.
    if isinstance(node, HostExecutorNode) and node.executor == "shell":
        return "lookup" in node.input or node.input.get("idempotent") is True
    return True


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
