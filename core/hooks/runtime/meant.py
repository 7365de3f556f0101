"""Which place of a run is meant where somebody asks for something: a gate to answer, an effect to settle, a node to end
or to try again.

A word is read as everywhere (`node_words.py`); what may be meant depends on what is asked for, and so does what there
is to say when nothing is.
"""

from __future__ import annotations

from hooks.errors import NotFoundError, RefusedError
from hooks.events.payloads import NodeReference, WaitCreated
from hooks.ids import NodeId
from hooks.kernel.state import AttemptState, RunState, Scope, WaitState
from hooks.runtime.gate_history import how_gate_ended
from hooks.runtime.node_names import name_in_id, node_name
from hooks.runtime.node_words import only_one, pick
from hooks.runtime.reading import RunView


def place_of_gate(gate: WaitCreated) -> str:
    """The place an answer names: the node, in its round; the item, where only an item stands at the gate."""
    return name_in_id(gate.work_activity_id or gate.activity_id)


def open_gates(view: RunView) -> dict[str, WaitState]:
    """The open gates by name, in the order in which they opened."""
    return {place_of_gate(wait.created): wait for wait in view.state.waits.values()}


def meant_gate(view: RunView, word: str | None) -> WaitState:
    """The open gate that `word` means (a node or a wait id), or the only one.

    Raises NotFoundError for none or several, RefusedError with what became of one that is not open any more.
    """
    offered, what = open_gates(view), "open gates"
    if word is None:
        wait = only_one(view.state, offered, what=what)
    elif word in view.state.waits:
        wait = view.state.waits[word]
    else:
        wait = pick(view.state, word, offered, what=what)
    if wait is not None:
        return wait
    if how_gate_ended(view.directory, word) is not None:
        raise too_late(view, word)
    place = "No gate is open" if word is None else f"{word} has no open gate"
    raise NotFoundError(
        f"{place} in run {view.run_id}, which is {view.status.status}.",
        fix=f"`hooks show {view.run_id} --gates` lists those that are.",
        run=view.run_id,
    )


def too_late(view: RunView, word: str | None) -> RefusedError:
    told = how_gate_ended(view.directory, word) or f"The gate {word} is not open any more."
    return RefusedError(f"Too late: {told}", fix=f"`hooks show {view.run_id}` tells how it stands.", run=view.run_id)


def meant_effect(view: RunView, word: str) -> AttemptState:
    """The attempt of `word` whose effect is dangling or in doubt. Raises NotFoundError for none or several."""
    dangling = [attempt for attempt in view.state.open.values() if attempt.is_dangling]
    offered = {name_in_id(attempt.activity_id): attempt for attempt in [*dangling, *view.state.in_doubt.values()]}
    attempt = pick(view.state, word, offered, what="effects in doubt")
    if attempt is not None:
        return attempt
    raise NotFoundError(
        f"No effect of {word} is in doubt in run {view.run_id}, which is {view.status.status}.",
        fix=f"`hooks show {view.run_id}` tells how it stands.",
        run=view.run_id,
    )


def meant_to_end(view: RunView, word: str) -> NodeReference:
    """The node to cancel: of a loop's body the one in the round under way. Raises NotFoundError."""
    offered = {
        node_name(node_id, scope.key): NodeReference(node_id=node_id, scope=scope.key)
        for scope in view.state.scopes.values()
        for node_id in scope.graph.position
        if (node := scope.nodes.get(NodeId(node_id))) is None or node.ended_at is None
        if _is_under_way(view.state, scope)
    }
    reference = pick(view.state, word, offered, what="nodes that are not over")
    if reference is not None:
        return reference
    raise NotFoundError(
        f"{word} of run {view.run_id} is over, or is an item, which is only cancelled with its node.",
        fix=f"`hooks show {view.run_id}` tells how it stands.",
        run=view.run_id,
    )


def meant_to_retry(view: RunView, word: str) -> tuple[str, str]:
    """Scope and id of the node to try again; an item of a fan-out means the node, whose failed items are tried.

    Raises NotFoundError.
    """
    offered = {
        node_name(node_id, scope.key): (scope.key, str(node_id))
        for scope in view.state.scopes.values()
        for node_id, node in scope.nodes.items()
        if node.status in ("failed", "cancelled")
    }
    place = pick(view.state, name_in_id(word).partition("[")[0], offered, what="nodes that did not succeed")
    if place is not None:
        return place
    raise NotFoundError(
        f"{word} of run {view.run_id} neither failed nor was cancelled.",
        fix=f"`hooks retry {view.run_id}` tries everything again that did.",
        run=view.run_id,
    )


def _is_under_way(state: RunState, scope: Scope) -> bool:
    if scope.loop is None:
        return True
    loop = state.root.nodes[scope.loop]
    return loop.ended_at is None and loop.rounds == scope.iteration
