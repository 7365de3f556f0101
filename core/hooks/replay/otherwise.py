"""How far a difference goes: what of a run may have been another one after it.

All that depends on the step it is in, over any number of others, and all rounds of a loop that does. From inside a loop
also its later rounds, which might not have been at all, and what follows the loop. The items of a fan-out have nothing
to do with each other. A difference before the first node goes for the whole run.
"""

from __future__ import annotations

from hooks.definition.graph import Graph, downstream
from hooks.definition.hook_points import RULES, HookType
from hooks.events.payloads import NodeReference


class Otherwise:
    """Grows difference by difference, in the order of the log."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._is_everything = False
        self._activities: set[str] = set()
        self._nodes: set[str] = set()
        """In every round, where they stand in a loop."""
        self._in_rounds: set[tuple[str, str]] = set()
        """Nodes in their scope."""
        self._rounds: dict[str, int] = {}
        """By loop, the first round with a difference in it."""
        self._followed: set[tuple[str, str]] = set()
        """Nodes in their scope from where all that depends on them has been found: a fan-out has many items."""

    def has(self, place: NodeReference | None, activity_id: str | None) -> bool:
        """Whether what is there comes after a difference."""
        if self._is_everything or activity_id in self._activities:
            return True
        if place is None:
            return False
        if place.node_id in self._nodes or (place.scope, place.node_id) in self._in_rounds:
            return True
        loop, number = _round(place.scope)
        return loop in self._rounds and number > self._rounds[loop]

    def add(self, point: HookType, place: NodeReference | None, activity_id: str | None) -> None:
        """A difference at that point. Where hooks only look on, or come too late, nothing follows from it."""
        if not RULES[point].can_block:
            return
        if place is None:
            self._is_everything = True
            return
        if activity_id is not None:
            self._activities.add(activity_id)
        # What depends on a node that is there already is there, too.
        if place.node_id not in self._nodes:
            self._follow(place.scope, place.node_id)

    def _follow(self, scope: str, node_id: str) -> None:
        if (scope, node_id) in self._followed:
            return
        self._followed.add((scope, node_id))
        if not scope:
            self._add_after(node_id)
            return
        loop, number = _round(scope)
        self._in_rounds |= {(scope, after) for after in _after(self._graph.bodies[loop], node_id)}
        self._rounds[loop] = min(number, self._rounds.get(loop, number))
        self._follow("", loop)

    def _add_after(self, node_id: str) -> None:
        for reached in _after(self._graph, node_id) - self._nodes:
            self._nodes.add(reached)
            if reached in self._graph.bodies:
                self._nodes |= self._graph.bodies[reached].position.keys()


def _after(graph: Graph, node_id: str) -> set[str]:
    position = graph.position[node_id]
    return {graph.nodes[reached].id for reached in downstream(graph, [position]) - {position}}


def _round(scope: str) -> tuple[str, int]:
    """The loop and the number of a round; no loop outside of one."""
    loop, _, number = scope.rpartition(".")
    return (loop, int(number)) if loop else ("", 0)
