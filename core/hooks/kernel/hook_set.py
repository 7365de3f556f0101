"""How the hook set of a run goes on: files that changed, hooks that were configured since. Nothing leaves it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import TypeAlias

from hooks.definition.hook_order import set_order
from hooks.events.payloads import HookSetMember

HookKey: TypeAlias = tuple[str, str | None, str]


def hook_key(member: HookSetMember) -> HookKey:
    """What a hook is known by. Files given by flag may have the same one: those hooks are told apart by their order."""
    return member.origin, member.node_id, member.name


def next_hook_set(
    members: Iterable[HookSetMember], changed: Iterable[HookSetMember], added: Iterable[HookSetMember]
) -> list[HookSetMember]:
    """The set after hookSetChanged, in effective order: of each key the first in `changed` is what the first is now,
    and so on; what was added stands behind those of its priority and scope that were there before."""
    latest = defaultdict[HookKey, deque[HookSetMember]](deque)
    for member in changed:
        latest[hook_key(member)].append(member)
    current = [now.popleft() if (now := latest[hook_key(member)]) else member for member in members]
    return sorted([*current, *added], key=_order)


def _order(member: HookSetMember) -> tuple[int, int]:
    return set_order(member.entry.get("priority"), member.origin)
