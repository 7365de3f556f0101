"""The order of a hook set: priority, then scope, then the position a hook was declared at.

Outer scopes come first, so that an inner one is shown what they have left. Where hooks are asked their mode comes
before all this.
"""

from __future__ import annotations

DEFAULT_PRIORITY = 50
ORIGIN_ORDER = ("user", "project", "workflow", "node", "flag", "program")


def set_order(priority: int | None, origin: str) -> tuple[int, int]:
    """Sort key of a hook in its set; the position is left to a sort that is stable."""
    return DEFAULT_PRIORITY if priority is None else priority, ORIGIN_ORDER.index(origin)
