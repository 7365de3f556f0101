"""Which nodes are upstream of which, asked for many pairs at once.

Asking for the ancestors of every node would cost n² for a chain; instead the nodes that are asked about each get a
bit, and the bits flow down the graph once, in batches, so that the memory stays small whatever the workflow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

_BATCH = 4_096
_MOST_STEPS = 2_000_000


class Use(Struct, frozen=True):
    """A node that reads from another one, and the place; `written_in` is the node of a body for which a loop reads."""

    reader: str
    target: str
    place: int
    written_in: str


def not_upstream(depends: Mapping[str, Sequence[str]], uses: Sequence[Use]) -> Iterator[Use]:
    """The uses whose target is not upstream of their reader; both are among the nodes of `depends`."""
    order = _topological(depends)
    if len(order) < len(depends):
        yield from _not_upstream_by_search(depends, uses)
        return
    targets = list(dict.fromkeys(use.target for use in uses))
    for start in range(0, len(targets), _BATCH):
        bit = {target: 1 << index for index, target in enumerate(targets[start : start + _BATCH])}
        above: dict[str, int] = {}
        for node in order:
            bits = 0
            for dependency in depends[node]:
                bits |= above[dependency] | bit.get(dependency, 0)
            above[node] = bits
        yield from (use for use in uses if use.target in bit and not above[use.reader] & bit[use.target])


def _topological(depends: Mapping[str, Sequence[str]]) -> list[str]:
    """The nodes, dependencies first; those on or behind a cycle are left out."""
    open_count = {node: len(after) for node, after in depends.items()}
    dependants: dict[str, list[str]] = {node: [] for node in depends}
    for node, after in depends.items():
        for dependency in after:
            dependants[dependency].append(node)
    free = deque(node for node, count in open_count.items() if count == 0)
    order = []
    while free:
        node = free.popleft()
        order.append(node)
        for dependant in dependants[node]:
            open_count[dependant] -= 1
            if open_count[dependant] == 0:
                free.append(dependant)
    return order


def _not_upstream_by_search(depends: Mapping[str, Sequence[str]], uses: Sequence[Use]) -> Iterator[Use]:
    """The same where there is a cycle, which has to be mended first anyway: as many as a bounded search can tell."""
    steps = 0
    for use in uses:
        seen = {use.reader}
        pending = [use.reader]
        while pending and use.target not in seen:
            fresh = [d for d in depends[pending.pop()] if d not in seen]
            seen.update(fresh)
            pending.extend(fresh)
            steps += len(fresh) + 1
            if steps > _MOST_STEPS:
                return
        if use.target not in seen:
            yield use
