"""The shape of a workflow as the kernel walks it: positions instead of names, dependants beside dependencies.

A node's position is its place in the file, which is also the order of dispatch. Cycles are found without recursion.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hooks.definition.model import LoopNode, Node, Workflow
from hooks.expressions.conditions import tolerates_failure


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by position: who waits for whom, and whose output nobody consumes (the sinks)."""

    nodes: tuple[Node, ...]
    position: dict[str, int]
    dependants: tuple[tuple[int, ...], ...]
    dependencies: tuple[tuple[int, ...], ...]
    tolerant: tuple[bool, ...]
    """Whether a node may run though something it depends on did not: its `if` reads a status, or is always()."""
    sinks: tuple[str, ...]
    stops_on_failure: bool
    bodies: Mapping[str, Graph]
    """The graph of each loop's body."""


def downstream(graph: Graph, positions: Iterable[int]) -> set[int]:
    """These nodes and all that depend on them, over any number of others."""
    reached: set[int] = set()
    front = [*positions]
    while front:
        position = front.pop()
        if position not in reached:
            reached.add(position)
            front.extend(graph.dependants[position])
    return reached


def build_graph(nodes: Sequence[Node], *, stops_on_failure: bool = True) -> Graph:
    """The graph of checked nodes; a repeated dependency counts once."""
    position = {node.id: index for index, node in enumerate(nodes)}
    dependants: list[list[int]] = [[] for _ in nodes]
    dependencies = [tuple(position[name] for name in dict.fromkeys(node.depends)) for node in nodes]
    for index, upstream in enumerate(dependencies):
        for dependency in upstream:
            dependants[dependency].append(index)
    return Graph(
        nodes=tuple(nodes),
        position=position,
        dependants=tuple(map(tuple, dependants)),
        dependencies=tuple(dependencies),
        tolerant=tuple(tolerates_failure(node.condition) for node in nodes),
        sinks=tuple(node.id for node, after in zip(nodes, dependants, strict=True) if not after),
        stops_on_failure=stops_on_failure,
        bodies={
            node.id: build_graph(node.body, stops_on_failure=stops_on_failure)
            for node in nodes
            if isinstance(node, LoopNode)
        },
    )


def graph_of(workflow: Workflow) -> Graph:
    """The graph of a checked workflow."""
    return build_graph(workflow.nodes, stops_on_failure=workflow.on_failure == "stop")


def find_cycle(depends: Mapping[str, Sequence[str]]) -> list[str] | None:
    """A cycle as the list of its nodes, the first repeated at the end, or None. Unknown names are passed over.

    Kahn's algorithm strips what can run; what is left holds a cycle, and a breadth-first search from one of its nodes
    finds a short one.
    """
    known = {node: [d for d in dict.fromkeys(after) if d in depends] for node, after in depends.items()}
    dependants: dict[str, list[str]] = {node: [] for node in known}
    open_count = {node: len(after) for node, after in known.items()}
    for node, after in known.items():
        for dependency in after:
            dependants[dependency].append(node)
    free = deque(node for node, count in open_count.items() if count == 0)
    left = set(known)
    while free:
        node = free.popleft()
        left.discard(node)
        for dependant in dependants[node]:
            open_count[dependant] -= 1
            if open_count[dependant] == 0:
                free.append(dependant)
    if not left:
        return None
    return _shortest_cycle_near(
        next(node for node in known if node in left), {node: [d for d in known[node] if d in left] for node in left}
    )


def _shortest_cycle_near(start: str, edges: Mapping[str, Sequence[str]]) -> list[str]:
    # Every node that is left has an edge to another one that is left, so walking must come back to somewhere.
    seen: set[str] = set()
    node = start
    while node not in seen:
        seen.add(node)
        node = edges[node][0]
    came_from: dict[str, str] = {}
    queue = deque([node])
    while queue:
        current = queue.popleft()
        for following in edges[current]:
            if following == node:
                path = [current]
                while path[-1] != node:
                    path.append(came_from[path[-1]])
                return [*reversed(path), node] if path[-1] == node else path
            if following not in came_from:
                came_from[following] = current
                queue.append(following)
    raise AssertionError("a node on a cycle is reached from itself")
