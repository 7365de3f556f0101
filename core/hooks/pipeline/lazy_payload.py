"""A payload that is read from its document when a hook first looks at it.

Most hooks look at one or two payloads in a hundred: they are chosen by `match` as narrowly as it goes and ask for the
rest themselves. Making the typed payload is by far the dearest part of asking, so it waits for the first look.
"""

from __future__ import annotations

from typing import Any

from hooks.pipeline.dispatch import PayloadDocument
from hooks.pipeline.hook_points import HOOK_POINTS, read_payload
from hooks.pipeline.payload_base import HookPayload


def payload_of(document: PayloadDocument) -> HookPayload:
    """The payload as hooks in Python see it, read at the first look.

    It is an instance of the hook point's class in every respect but its type, which is a subclass until then.
    """
    payload = object.__new__(_UNREAD[document["hook"]])
    object.__setattr__(payload, "__dict__", {_DOCUMENT: document})
    return payload


_DOCUMENT = "document that has not been read yet"


def _read(payload: HookPayload, name: str) -> Any:
    """Become what it stands for, at whatever is asked of it first."""
    own = object.__getattribute__(payload, "__dict__")
    document = own.get(_DOCUMENT)
    if document is not None:
        whole = read_payload(document)
        object.__setattr__(payload, "__pydantic_fields_set__", whole.__pydantic_fields_set__)
        object.__setattr__(payload, "__pydantic_extra__", whole.__pydantic_extra__)
        object.__setattr__(payload, "__pydantic_private__", whole.__pydantic_private__)
        # In one stroke: another thread that looks at the same time finds all of it, or reads it as well.
        object.__setattr__(payload, "__dict__", dict(whole.__dict__))
        object.__setattr__(payload, "__class__", type(whole))
    return getattr(payload, name)


_UNREAD: dict[str, type[HookPayload]] = {
    point: type(payload.__name__, (payload,), {"__getattribute__": _read, "__module__": payload.__module__})
    for point, payload in HOOK_POINTS.items()
}
