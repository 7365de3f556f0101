"""Which node of a run `show --node` means, also in a round that the state has let go of."""

from __future__ import annotations

from hooks.definition.model import Node
from hooks.errors import NotFoundError
from hooks.ids import NodeId
from hooks.kernel.walk import round_key
from hooks.runtime.node_names import name_in_id, node_name
from hooks.runtime.node_words import pick
from hooks.runtime.reading import RunView, read_round
from hooks_cli.taken_over import rerun_document


def place_of_node(view: RunView, word: str) -> tuple[str, Node]:
    """The scope and the definition of the node that is meant, in any round there was. Raises NotFoundError."""
    graph = view.state.graph
    offered = {node.id: ("", node) for node in graph.nodes}
    for loop_id, body in graph.bodies.items():
        loop = view.state.root.nodes.get(NodeId(loop_id))
        for key in (round_key(loop_id, number) for number in range(1, loop.rounds + 1 if loop is not None else 1)):
            offered |= {node_name(node.id, key): (key, node) for node in body.nodes}
    place = pick(view.state, name_in_id(word).partition("[")[0], offered, what="nodes")
    if place is not None:
        return place
    _refuse_taken_over(view, word)
    raise NotFoundError(
        f"{word} of run {view.run_id} is in no round that has begun.",
        fix=f"`hooks show {view.run_id}` lists what has begun.",
        run=view.run_id,
    )


def knowing_of(view: RunView, key: str) -> RunView:
    """`view`, or the run as it stood when it last knew of this scope."""
    if key in view.state.scopes:
        return view
    loop_id, _, number = key.rpartition(".")
    return read_round(view, loop_id, int(number))


def _refuse_taken_over(view: RunView, word: str) -> None:
    """Raise NotFoundError if `word` is of a loop that was taken over: its rounds are where they were made."""
    place, node_id = name_in_id(word).partition("[")[0], name_in_id(word).rpartition("/")[2].partition("[")[0]
    origin = rerun_document(view)
    for loop_id, body in view.state.graph.bodies.items():
        loop = view.state.root.nodes.get(NodeId(loop_id))
        if origin is not None and node_id in body.position and loop is not None and loop.is_imported:
            raise NotFoundError(
                f"{loop_id} of run {view.run_id} was taken over from run {origin['run_id']}; its rounds are there.",
                fix=f"`hooks show {origin['run_id']} --node {place}`",
                run=view.run_id,
            )
