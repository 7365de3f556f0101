"""What a rerun has taken over, and which of it the definition that it goes by would do in another way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hooks.definition.model import LoopNode, Workflow
from hooks.kernel.state import RunState
from hooks.replay.changed_steps import changed_of_step
from hooks.runtime.reading import RunView


def taken_over(state: RunState, own: Workflow, other: Workflow) -> list[dict[str, Any]]:
    """The nodes that the rerun `state` has taken over; `changed` names what `other`, its definition, has of a node
    that `own`, the origin's, has not."""
    return [
        {"node": node_id, "changed": _changed(own, other, node_id)}
        for node_id, node in state.root.nodes.items()
        if node.is_imported
    ]


def rerun_document(view: RunView) -> dict[str, str] | None:
    """The run that this one is a rerun of, and the node it began with; None for a run of its own."""
    created = view.state.created
    if created is None or created.forked_from is None:
        return None
    return {"run_id": created.forked_from.run_id, "from": created.forked_from.node_id}


def warnings(taken: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each that is declared otherwise now."""
    return [
        f"warning: {each['node']} is declared otherwise now ({', '.join(each['changed'])}); its result is taken over "
        f"all the same. Begin with it to do it again: --from {each['node']}"
        for each in taken
        if each["changed"]
    ]


def _changed(own: Workflow, other: Workflow, node_id: str) -> list[str]:
    """The fields of a node that differ; of a loop also those of its body, named with their node."""
    of_node = changed_of_step(own, other, node_id)
    before, after = _body(own, node_id), _body(other, node_id)
    if before != after:
        return [*of_node]
    in_body = [f"{inner}.{name}" for inner in after for name in changed_of_step(own, other, inner)]
    return [*(name for name in of_node if name != "body"), *in_body]


def _body(workflow: Workflow, node_id: str) -> list[str]:
    """The nodes in the body of a loop; none of a node that is no loop."""
    return [
        inner.id for node in workflow.nodes if node.id == node_id and isinstance(node, LoopNode) for inner in node.body
    ]
