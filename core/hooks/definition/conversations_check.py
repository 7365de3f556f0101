"""`continue_from`: the step whose conversation another goes on with is an agent step, one, and upstream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hooks.definition.dependencies_check import dependencies_by_scope
from hooks.definition.fields import did_you_mean, listed
from hooks.definition.loops_check import LoopOf
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.tree import Scalar, Source
from hooks.definition.upstream import Use, not_upstream


def check_conversations(source: Source, nodes: Sequence[DeclaredNode], loop_of: LoopOf) -> None:
    known = {node.id: node for node in nodes}
    uses: dict[str | None, list[Use]] = {}
    for node in nodes:
        named = node.value("continue_from") if node.type == "subagent" else None
        if not isinstance(named, Scalar) or not named.text.strip():
            continue
        if _is_one_agent_step(source, node, named, known) and _is_in_reach(source, node, named, loop_of):
            own, other = loop_of.get(node.id), loop_of.get(named.text)
            reader = own if own is not None and other is None else node.id
            uses.setdefault(loop_of.get(reader), []).append(Use(reader, named.text, named.start, node.id))
    if not uses:
        return
    for scope, depends in dependencies_by_scope(nodes, loop_of).items():
        for use in not_upstream(depends, uses.get(scope, [])):
            who = f"`{use.written_in}`" if use.written_in == use.reader else f"the loop `{use.reader}`"
            source.report(
                use.place,
                f"`{use.written_in}` continues from `{use.target}`, on which {who} does not depend",
                f"add `{use.target}` to depends of `{use.reader}`",
            )


def _is_one_agent_step(source: Source, node: DeclaredNode, named: Scalar, known: Mapping[str, DeclaredNode]) -> bool:
    target = known.get(named.text)
    continues = f"`{node.id}` continues from `{named.text}`"
    steps = [other.id for other in known.values() if other.type == "subagent" and other.id != node.id]
    if named.text == node.id:
        source.report(
            named,
            f"`{node.id}` continues from itself",
            "name the agent step before it; `${NODE.previous.output}` is what a node of a loop gave a round ago",
        )
    elif target is None:
        fix = did_you_mean(named.text, steps) or f"the other agent steps: {listed(steps)}"
        source.report(named, f"{continues}, which is no node", fix)
    elif target.type is None:
        return False  # reported where it stands
    elif target.type != "subagent":
        what = {"loop": "a loop", "decision": "a decision"}.get(target.type, "an executor call")
        source.report(
            named, f"{continues}, which is {what} and has no conversation", f"the other agent steps: {listed(steps)}"
        )
    elif target.value("for_each") is not None:
        source.report(
            named,
            f"{continues}, which has a conversation for each item of its `for_each`",
            f'put what it gave into the prompt: "${{{named.text}.output}}"',
        )
    else:
        return True
    return False


def _is_in_reach(source: Source, node: DeclaredNode, named: Scalar, loop_of: LoopOf) -> bool:
    own, other = loop_of.get(node.id), loop_of.get(named.text)
    if other is None or other == own:
        return True
    source.report(
        named,
        f"`{node.id}` continues from `{named.text}`, which is in the body of the loop `{other}`",
        f'put what the loop gave into the prompt: "${{{other}.output}}"',
    )
    return False
