"""Names that other distributions register: `hooks.executors` and `hooks.agents`.

Only the names are read here, and only where a file uses one that is known nowhere else; nothing is loaded.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Group: TypeAlias = Literal["hooks.executors", "hooks.agents"]


def registered_names(group: Group) -> frozenset[str]:
    """The names in the group, of all distributions that are installed."""
    # Reading the metadata of every distribution takes longer than reading a workflow; most workflows never need it.
    import importlib.metadata

    return frozenset(point.name for point in importlib.metadata.entry_points(group=group))
