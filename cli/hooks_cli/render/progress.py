"""What `hooks run` says on stderr while it works: a line when something becomes of a node."""

from __future__ import annotations

from hooks.events.envelope import Event
from hooks.events.payloads import (
    AttemptCreated,
    HookDecided,
    NodeFailed,
    NodeSucceeded,
    ReconcileResult,
    RetryScheduled,
)
from hooks_cli.render.event_line import error_text, hook_reasons
from hooks_cli.render.streams import say
from hooks_cli.render.text import duration, one_line

_WIDTH = 160


class Progress:
    """Takes the events of a run as they happen and says what a person wants to know of them."""

    def __init__(self) -> None:
        self._started: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        line = self._line(event)
        if line is not None:
            say(f"  {one_line(line, _WIDTH)}")

    def _line(self, event: Event) -> str | None:
        match event.payload:
            case AttemptCreated(node_id=node, attempt=attempt):
                self._started.setdefault(node, event.timestamp)
                return f"{node}: started" if attempt == 1 else f"{node}: attempt {attempt}"
            case NodeSucceeded(node_id=node):
                return f"{node}: succeeded{self._took(node, event.timestamp)}"
            case NodeFailed(node_id=node, error=error):
                return f"{node}: failed{self._took(node, event.timestamp)}: {error_text(error)}"
            case RetryScheduled(node_id=node, delay_ms=delay):
                return f"{node}: next attempt in {duration(delay)}"
            case ReconcileResult(node_id=node, outcome="in_doubt", reason=reason):
                return f"{node}: in doubt: {reason}"
            case HookDecided(node_id=node, hook=hook) as decided:
                reasons = hook_reasons(decided)
                return f"{node}: {hook}: {reasons}" if reasons else None
            case _:
                return None

    def _took(self, node: str, until_ms: int) -> str:
        begun = self._started.get(node)
        return ", begun by an earlier driver" if begun is None else f" in {duration(until_ms - begun)}"
