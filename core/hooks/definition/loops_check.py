"""Loops across nodes: which node stands in which body, and the one decision that ends each round.

In the file the nodes of a body stand among all others; in the model they stand inside their loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from hooks.definition.fields import did_you_mean, listed
from hooks.definition.loop_fields import DeclaredLoop
from hooks.definition.model import LoopNode
from hooks.definition.model import Node as WorkflowNode
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.tree import Scalar, Source

LoopOf: TypeAlias = Mapping[str, str]
"""The loop whose body a node stands in, by id; nodes outside are not there."""


def check_loops(source: Source, nodes: Sequence[DeclaredNode]) -> LoopOf:
    """Report what is wrong with bodies and decisions. A node of several bodies counts to the first."""
    by_id = {node.id: node for node in nodes}
    loop_of: dict[str, str] = {}
    for node in nodes:
        if node.loop is not None:
            _claim_body(source, node, node.loop, by_id, loop_of)
    for node in nodes:
        if node.loop is not None:
            _check_ends(source, node, node.loop, by_id)
        elif node.type == "decision" and node.id not in loop_of:
            source.report(
                node.place,
                f"the decision `{node.id}` is in no loop",
                "add it to the `body` of a loop and name it in `terminate`; elsewhere use `human_gate` on a step",
            )
    return loop_of


def with_bodies(nodes: Sequence[DeclaredNode], loop_of: LoopOf) -> list[WorkflowNode]:
    """The nodes outside loops, each loop with its body inside, in the order of the file. For nodes without fault."""
    bodies: dict[str, list[WorkflowNode]] = {node.id: [] for node in nodes if node.loop is not None}
    for node in nodes:
        if node.id in loop_of and node.node is not None:
            bodies[loop_of[node.id]].append(node.node)
    return [
        msgspec.structs.replace(node.node, body=bodies[node.id]) if isinstance(node.node, LoopNode) else node.node
        for node in nodes
        if node.node is not None and node.id not in loop_of
    ]


def _claim_body(
    source: Source,
    node: DeclaredNode,
    loop: DeclaredLoop,
    by_id: Mapping[str, DeclaredNode],
    loop_of: dict[str, str],
) -> None:
    for name in loop.body:
        named = by_id.get(name.text)
        if named is None:
            fix = did_you_mean(name.text, by_id) or f"the nodes of this workflow: {listed(by_id)}"
            source.report(name, f"the body of `{node.id}` names `{name.text}`, which is no node", fix)
        elif named.loop is not None:
            source.report(
                name,
                f"the body of `{node.id}` holds the loop `{name.text}`; loops cannot be nested",
                "make the inner loop a workflow of its own and run it in a step, or write its nodes out",
            )
        elif loop_of.setdefault(name.text, node.id) != node.id:
            other = loop_of[name.text]
            source.report(
                name,
                f"`{name.text}` is in the body of `{other}` and of `{node.id}`",
                "remove it from one of the two: a node belongs to one loop",
            )


def _check_ends(source: Source, node: DeclaredNode, loop: DeclaredLoop, by_id: Mapping[str, DeclaredNode]) -> None:
    """The decision is in the body and the only one; the node whose output is the loop's is in the body."""
    body = [name.text for name in loop.body]
    if loop.output_from is not None and loop.output_from.text not in body:
        _report_outside(source, loop.output_from, f"`{node.id}` takes its output from", body)
    decision = loop.decision
    if decision is None:
        return
    if decision.text not in body:
        _report_outside(source, decision, f"`{node.id}` is ended by", body)
        return
    if by_id[decision.text].type not in ("decision", None):
        source.report(
            decision, f"`{decision.text}`, which ends `{node.id}`, is no decision", "give it `type: decision`"
        )
    for name in loop.body:
        named = by_id.get(name.text)
        if named is not None and named.type == "decision" and name.text != decision.text:
            source.report(
                name,
                f"the body of `{node.id}` has a second decision, `{name.text}`; `{decision.text}` ends it",
                "use `human_gate` on a step for a question within a round",
            )


def _report_outside(source: Source, name: Scalar, what: str, body: Sequence[str]) -> None:
    fix = did_you_mean(name.text, body) or f"its nodes: {listed(body)}"
    source.report(name, f"{what} `{name.text}`, which is not in its body", fix)
