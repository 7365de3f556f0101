"""A payload that is made when a hook first looks at it.

Many hooks let most of what they are shown pass unseen. Making the typed payload, and the document it is read from, is
by far the dearest part of asking, so it waits for the first look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.pipeline.dispatch import PayloadDocument
from hooks.pipeline.hook_points import HOOK_POINTS, read_payload
from hooks.pipeline.payload_base import HookPayload


def payload_of(point: str, document: Callable[[], PayloadDocument]) -> HookPayload:
    """The payload as hooks in Python see it; its document is asked for, and read, at the first look.

    It is an instance of the hook point's class in every respect but its type, which is a subclass until then.
    """
    payload = object.__new__(_UNREAD[point])
    object.__setattr__(payload, "__dict__", {_DOCUMENT: document})
    return payload


_DOCUMENT = "the document, not asked for yet"


def _read(payload: HookPayload, name: str) -> Any:
    """Become what it stands for, at whatever is asked of it first."""
    document = object.__getattribute__(payload, "__dict__").get(_DOCUMENT)
    if document is not None:
        whole = read_payload(document())
        for attribute in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
            object.__setattr__(payload, attribute, getattr(whole, attribute))
        # In one stroke: another thread that looks at the same time finds all of it, or reads it as well.
        object.__setattr__(payload, "__dict__", dict(whole.__dict__))
        object.__setattr__(payload, "__class__", type(whole))
    return getattr(payload, name)


_UNREAD: dict[str, type[HookPayload]] = {
    point: type(payload.__name__, (payload,), {"__getattribute__": _read, "__module__": payload.__module__})
    for point, payload in HOOK_POINTS.items()
}
