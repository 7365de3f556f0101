"""What may stand where: the error for an event that cannot follow those before it."""

from __future__ import annotations


class IllegalEventError(ValueError):
    """This event cannot follow those before it."""
