"""Dependencies across nodes: that each names a node of the same scope (the workflow, or one body), and no cycle.

What a body needs of the outside stands on its loop, and who needs its result depends on the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hooks.definition.fields import did_you_mean, listed
from hooks.definition.graph import find_cycle
from hooks.definition.loops_check import LoopOf
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.tree import Scalar, Source

_SHOWN_CYCLE = 8


def check_dependencies(source: Source, nodes: Sequence[DeclaredNode], loop_of: LoopOf) -> None:
    known = {node.id: node for node in nodes}
    for node in nodes:
        for dependency in node.depends:
            _check_dependency(source, node, dependency, known, loop_of)
    for depends in dependencies_by_scope(nodes, loop_of).values():
        _check_cycle(source, depends, known)


def dependencies_by_scope(nodes: Sequence[DeclaredNode], loop_of: LoopOf) -> dict[str | None, dict[str, list[str]]]:
    """What each node depends on within its scope, itself apart; by the loop, None for the workflow."""
    scopes: dict[str | None, dict[str, list[str]]] = {None: {}}
    for node in nodes:
        scopes.setdefault(loop_of.get(node.id), {})[node.id] = []
    for node in nodes:
        scope = scopes[loop_of.get(node.id)]
        scope[node.id] = [name.text for name in node.depends if name.text in scope and name.text != node.id]
    return scopes


def _check_dependency(
    source: Source, node: DeclaredNode, dependency: Scalar, known: Mapping[str, DeclaredNode], loop_of: LoopOf
) -> None:
    name = dependency.text
    own, other = loop_of.get(node.id), loop_of.get(name)
    if name == node.id:
        source.report(dependency, f"the node `{node.id}` depends on itself", "remove it from depends")
    elif name not in known:
        fix = did_you_mean(name, known) or f"the nodes of this workflow: {listed(known)}"
        source.report(dependency, f"`{node.id}` depends on `{name}`, which is no node", fix)
    elif other == node.id:
        source.report(dependency, f"the loop `{node.id}` depends on `{name}` of its own body", "remove it from depends")
    elif own == name:
        source.report(dependency, f"`{node.id}` depends on `{name}`, the loop it stands in", "remove it from depends")
    elif other is not None and other != own:
        source.report(
            dependency,
            f"`{node.id}` depends on `{name}`, which is in the body of the loop `{other}`",
            f"depend on `{other}`" if own is None else f"add `{other}` to depends of `{own}`, and remove it here",
        )
    elif own is not None and other is None:
        source.report(
            dependency,
            f"`{node.id}` is in the body of the loop `{own}` and depends on `{name}`, which is outside",
            f"add `{name}` to depends of `{own}`, and remove it here",
        )


def _check_cycle(source: Source, depends: Mapping[str, Sequence[str]], known: Mapping[str, DeclaredNode]) -> None:
    cycle = find_cycle(depends)
    if cycle is None:
        return
    shown = cycle if len(cycle) <= _SHOWN_CYCLE else [*cycle[: _SHOWN_CYCLE - 2], "…", *cycle[-2:]]
    source.report(
        known[cycle[0]].place,
        f"the nodes depend on one another in a cycle of {len(cycle) - 1}: {' -> '.join(shown)}",
        f"remove `{cycle[1]}` from depends of `{cycle[0]}`, or break the cycle elsewhere",
    )
