"""How a place in a run is called where a person reads or types it.

    draft                  a node
    pages[3]               an item of its fan-out
    rounds.2/draft         a node in the second round of the loop `rounds`
    rounds.2/pages[0]      an item there

An activity id says the same at length (`<run>::loop::rounds.2::work::draft`), as do the ids of its gate, its attempts
and its waits, which begin with it.
"""

from __future__ import annotations

from hooks.events.payloads import CancelRequested, HookDecided, NodeReference, Payload

_SEPARATOR = "::"


def node_name(node_id: str, scope: str = "", item: int | None = None) -> str:
    """The name of a node, or of one item of it, in its scope (empty outside loops)."""
    suffix = "" if item is None else f"[{item}]"
    return f"{scope}/{node_id}{suffix}" if scope else f"{node_id}{suffix}"


def reference_name(reference: NodeReference) -> str:
    return node_name(reference.node_id, reference.scope, reference.item)


def name_in_id(long_id: str) -> str:
    """The name that an activity id, or an id that begins with one, stands for; itself if it is none."""
    parts = long_id.split(_SEPARATOR)
    if len(parts) >= 5 and parts[1] == "loop":
        return f"{parts[2]}/{parts[4]}"
    return parts[2] if len(parts) >= 3 else long_id


def event_place(payload: Payload) -> str:
    """The place an event is about, empty for an event of the whole run."""
    match payload:
        case CancelRequested():
            return reference_name(payload.node) if payload.node is not None else ""
        case HookDecided(activity_id=None):
            return payload.node_id or ""
    for field in ("work_activity_id", "activity_id", "wait_id"):
        if long_id := getattr(payload, field, None):
            return name_in_id(long_id)
    return node_name(getattr(payload, "node_id", None) or "", getattr(payload, "scope", ""))


def means(word: str, name: str) -> bool:
    """Whether `word` names the place `name`, in full or with the round or the item left out."""
    bare = name.rpartition("/")[2]
    return word in (name, bare, name.partition("[")[0], bare.partition("[")[0])
