"""What other distributions register under a name: an executor, a kind of agent."""

from __future__ import annotations

from typing import Any

from hooks.errors import UsageError, describe_exception


def registered_names(group: str) -> frozenset[str]:
    """The names under which anything is registered there; nothing is loaded."""
    import importlib.metadata

    return frozenset(point.name for point in importlib.metadata.entry_points(group=group))


def load_entry_point(group: str, name: str) -> Any:
    """What is registered there; None if nothing is. Raises UsageError if it cannot be loaded, or two claim the name."""
    # Reading the metadata of every distribution costs more than a small run; most runs never need it.
    import importlib.metadata

    points = list(importlib.metadata.entry_points(group=group, name=name))
    if not points:
        return None
    if len({point.value for point in points}) > 1:
        claimed = ", ".join(sorted(point.value for point in points))
        raise UsageError(
            f"{name!r} is registered more than once under {group}: {claimed}.", fix="Uninstall all but one."
        )
    try:
        return points[0].load()
    except Exception as error:
        raise UsageError(
            f"{name!r} ({group}) cannot be loaded from {points[0].value}: {describe_exception(error)}.",
            fix="Mend or reinstall the distribution that registers it.",
        ) from error
