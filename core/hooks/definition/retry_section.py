"""`retry`, of a node or among the defaults: how often, how long to wait between, and after which errors.

What a section leaves out comes from the one around it: node over workflow over config.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from hooks.definition.fields import Fields, Keys, read_fields
from hooks.definition.model import Retry
from hooks.definition.tree import Node, Scalar, Sequence, Source
from hooks.definition.values import read_choice, read_duration, read_int, read_number, read_texts

GivenRetry: TypeAlias = dict[str, Any]
"""The fields of `Retry` that a section gives."""

MOST_ATTEMPTS = 10_000
_KEYS = Keys(
    "`retry`",
    {
        "max_attempts": "How often at the most, the first attempt included: 1 to 10000; 1 if left out.",
        "backoff": "`exponential` (if left out: each wait `factor` times the last) or `fixed` (always `base`).",
        "base": "A duration: the first wait; 1s if left out.",
        "base_ms": "The same in milliseconds.",
        "factor": "A number from 1 on, for `exponential`; 2 if left out.",
        "max_delay": "A duration that no wait exceeds; 1h if left out.",
        "max_delay_ms": "The same in milliseconds.",
        "jitter": "By which part of it, 0 to 1, a wait may be longer or shorter; 0 if left out, 0.1 for `true`.",
        "on": "After errors of which classes; `[retryable, timeout]` if left out.",
    },
)
_CLASSES = ("retryable", "timeout", "userFault", "policy", "hook_error", "manual", "fatal")
_JITTER = 0.1
"""What `jitter: true` stands for."""
_ABSURD_MS = 30 * 86_400_000


def read_retry(source: Source, node: Node) -> GivenRetry:
    """What the section says; every fault is reported."""
    fields = read_fields(source, node, _KEYS, "`retry`")
    if fields is None:
        return {}
    found: dict[str, Any] = {
        "base_ms": read_duration(fields, "base"),
        "max_delay_ms": read_duration(fields, "max_delay"),
    }
    if (value := fields.value("max_attempts")) is not None:
        found["max_attempts"] = read_int(source, value, "`max_attempts`", least=1, most=MOST_ATTEMPTS)
    if (value := fields.value("backoff")) is not None:
        found["backoff"] = read_choice(source, value, "`backoff`", ("fixed", "exponential"))
    if (value := fields.value("factor")) is not None:
        found["factor"] = read_number(source, value, "`factor`", least=1, most=1_000)
    if (value := fields.value("jitter")) is not None:
        found["jitter"] = _read_jitter(source, value)
    if (value := fields.value("on")) is not None:
        found["on"] = _read_classes(fields, value)
    return {name: value for name, value in found.items() if value is not None}


def warn_of_absurd_total(source: Source, at: int | Node, retry: Retry) -> None:
    """Warn where all the waiting between attempts would take longer than anybody means."""
    total = total_delay_ms(retry)
    if total > _ABSURD_MS:
        source.warn(
            at,
            f"{retry.max_attempts} attempts wait {total / 86_400_000:.0f} days in all",
            "lower `max_attempts` or `max_delay`",
        )


def total_delay_ms(retry: Retry) -> float:
    """How long all attempts together wait between one another, jitter aside."""
    waits = retry.max_attempts - 1
    delay = float(min(retry.base_ms, retry.max_delay_ms))
    if retry.backoff == "fixed" or retry.factor <= 1:
        return waits * delay
    total = 0.0
    while waits > 0 and delay < retry.max_delay_ms:
        total += delay
        delay = min(delay * retry.factor, retry.max_delay_ms)
        waits -= 1
    return total + waits * delay


def _read_jitter(source: Source, node: Node) -> float | None:
    """The part of a delay by which it may vary; true and false are the spelling of an older form."""
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return _JITTER if node.value else 0.0
    return read_number(source, node, "`jitter`", least=0, most=1)


def _read_classes(fields: Fields, node: Node) -> tuple[str, ...] | None:
    if isinstance(node, Sequence) and not node.items:
        return ()
    if read_texts(fields.source, node, "`on`", one=True) is None:
        return None
    items = node.items if isinstance(node, Sequence) else [node]
    classes = [read_choice(fields.source, item, "`on`", _CLASSES) for item in items]
    return tuple(name for name in classes if name is not None)
