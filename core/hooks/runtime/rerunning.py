"""A rerun: a new run that takes over what an earlier one has come to, and does the rest.

Taken over is every node that succeeded or was skipped there, is neither the one to begin with nor downstream of it, and
whose own dependencies are taken over as well. Everything else is done in the new run, under its own id and its own
idempotency keys: an effect that the origin has done, or may have, would be done a second time, and that has to be
asked for. The origin is only read.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hooks.clock import Clock
from hooks.definition.graph import Graph, downstream, graph_of
from hooks.definition.model import HookEntry, LoopNode, SubagentNode, Workflow
from hooks.errors import NotFoundError, UsageError
from hooks.events.payloads import ForkedFrom, NodeImported
from hooks.ids import NodeId
from hooks.kernel.state import NodeState, Turn, output_of
from hooks.pipeline.hook_set import flag_entries
from hooks.runtime.binding import resolve_composite
from hooks.runtime.node_names import name_in_id
from hooks.runtime.reading import RunView
from hooks.runtime.runs import OpenRun, start_run


@dataclass(frozen=True, slots=True)
class RepeatedEffect:
    """An effect of the origin that the rerun would do again; `in_doubt` where nobody knows whether it was done.

    `activity_id` is None where the origin has itself taken the node over: an earlier run has done the effect.
    """

    node_id: str
    activity_id: str | None
    in_doubt: bool


@dataclass(frozen=True, slots=True)
class RerunPlan:
    """What is taken over and what is done again, in definition order."""

    imports: list[NodeImported]
    executed: list[str]
    repeated: list[RepeatedEffect]


def start_rerun(
    origin: RunView,
    begin: str,
    *,
    definition: Workflow | None = None,
    params: dict[str, Any] | None = None,
    repeat_effects: bool = False,
    initiator: str,
    runs_dir: Path | None = None,
    workflow_directory: Path | None = None,
    workflow_file: Path | None = None,
    run_id: str | None = None,
    hook_entries: Sequence[HookEntry] = (),
    max_concurrency: int | None = None,
    record_hooks: Literal["changes", "all"] = "changes",
    clock: Clock | None = None,
) -> OpenRun:
    """A new run of `origin` (`read_run`) that begins with node `begin`; durable, and to be driven, as of `start_run`.

    What the origin has come to elsewhere is taken over. What is not given is as it was there: definition and the file
    it is of, params, runs directory; `hook_entries` are those of config, to which the origin's own from flags are
    added. Raises NotFoundError for such a node, UsageError, with the list, where that would repeat an effect that the
    origin has done or has in doubt, unless `repeat_effects`.
    """
    created = origin.state.created
    assert created is not None, "a run that was read begins with runCreated"
    plan = plan_rerun(origin, definition or origin.definition, begin)
    if plan.repeated and not repeat_effects:
        graph = graph_of(definition or origin.definition)
        raise _repeats(origin, plan.repeated, has_later=_has_later(origin, graph, begin, plan.repeated))
    of_flags = flag_entries(origin.state.hook_set)
    if definition is None and created.workflow_file is not None:
        workflow_file = Path(created.workflow_file)
    return start_run(
        definition or origin.definition,
        origin.blobs.resolve(created.params) if params is None else params,
        runs_dir=runs_dir or origin.directory.path.parent,
        workflow_directory=workflow_directory or Path(created.workflow_directory),
        workflow_file=workflow_file,
        working_directory=Path(created.working_directory),
        initiator=initiator,
        run_id=run_id,
        hook_entries=[*hook_entries, *(entry for entry in of_flags if entry not in hook_entries)],
        metadata=origin.blobs.resolve(created.metadata),
        max_concurrency=max_concurrency,
        record_hooks=record_hooks,
        durability=created.durability,
        forked_from=ForkedFrom(run_id=origin.run_id, node_id=begin),
        imports=plan.imports,
        clock=clock,
    )


def _repeats(origin: RunView, repeated: Sequence[RepeatedEffect], *, has_later: bool) -> UsageError:
    named = ", ".join(_named(effect) for effect in repeated)
    doubted = [name_in_id(effect.activity_id) for effect in repeated if effect.activity_id and effect.in_doubt]
    ways = [f"settle it first (`hooks resolve {origin.run_id} {shlex.quote(place)}`)" for place in doubted]
    ways += ["begin with a later node"] * has_later
    fix = ", ".join([*ways, f"{'or ' if ways else ''}say --repeat-effects"]) + "."
    return UsageError(
        f"That would repeat what run {origin.run_id} has done, or may have: {named}.",
        fix=fix[0].upper() + fix[1:],
        run=origin.run_id,
    )


def _has_later(origin: RunView, graph: Graph, begin: str, repeated: Sequence[RepeatedEffect]) -> bool:
    """Whether a rerun could begin after all that would be repeated: only what succeeded is ever taken over."""
    loops = {inner: loop_id for loop_id, body in graph.bodies.items() for inner in body.position}
    repeating = {loops.get(effect.node_id, effect.node_id) for effect in repeated}
    nodes = [origin.state.root.nodes.get(NodeId(node_id)) for node_id in repeating]
    if any(node is None or node.status != "succeeded" for node in nodes):
        return False
    again = downstream(graph, [graph.position[begin]])
    return any(not graph.dependants[position] and graph.nodes[position].id not in repeating for position in again)


def _named(effect: RepeatedEffect) -> str:
    if effect.activity_id is None:
        return f"{effect.node_id} (done before, and taken over)"
    return f"{name_in_id(effect.activity_id)} ({'in doubt' if effect.in_doubt else 'done'})"


def plan_rerun(origin: RunView, definition: Workflow, node_id: str) -> RerunPlan:
    """The rerun of `origin` from `node_id` on, by this definition. Raises NotFoundError if it has no such node."""
    graph = graph_of(definition)
    if node_id not in graph.position:
        known = ", ".join(graph.position)
        raise NotFoundError(
            f"{definition.workflow_id} has no node {node_id!r}.",
            fix=f"Its nodes are {known}; a node inside a loop cannot be begun with, its loop can.",
            run=origin.run_id,
        )
    again = downstream(graph, [graph.position[node_id]])
    imported: dict[int, NodeImported] = {}
    for position in _in_order(graph):
        if position not in again and all(upstream in imported for upstream in graph.dependencies[position]):
            taken = _taken_over(origin, graph, position)
            if taken is not None:
                imported[position] = taken
    executed = [node.id for position, node in enumerate(graph.nodes) if position not in imported]
    return RerunPlan([*imported.values()], executed, [*_effects(origin, graph, executed)])


def _in_order(graph: Graph) -> Iterator[int]:
    """Positions, each after all it depends on."""
    missing = [len(upstream) for upstream in graph.dependencies]
    ready = [position for position, count in enumerate(missing) if count == 0]
    while ready:
        position = ready.pop()
        yield position
        for dependant in graph.dependants[position]:
            missing[dependant] -= 1
            if missing[dependant] == 0:
                ready.append(dependant)


def _taken_over(origin: RunView, graph: Graph, position: int) -> NodeImported | None:
    node_id = NodeId(graph.nodes[position].id)
    node = origin.state.root.nodes.get(node_id)
    if node is None or node.ended_at is None or node.status not in ("succeeded", "skipped"):
        return None
    resolve = origin.blobs.resolve
    return NodeImported(
        node_id=node_id,
        status="succeeded" if node.status == "succeeded" else "skipped",
        output=resolve_composite(output_of(node), resolve),
        turns=[[resolve(turn.prompt), resolve(turn.answer)] for turn in _turns(node)]
        if isinstance(graph.nodes[position], SubagentNode)
        else [],
        # Known for good: a rerun of the rerun has only the rerun to ask.
        effect_done=any(_effects(origin, graph, [node_id])),
    )


def _turns(node: NodeState) -> list[Turn]:
    turns = []
    turn = node.activity.conversation if node.activity is not None else None
    while turn is not None:
        turns.append(turn)
        turn = turn.before
    return turns[::-1]


def _effects(origin: RunView, graph: Graph, node_ids: Iterable[str]) -> Iterator[RepeatedEffect]:
    """What these nodes have done, or may have, those of a loop's body included."""
    state, of_nodes = origin.state, {*node_ids}
    for node_id, reached in state.root.nodes.items():
        if node_id in of_nodes and reached.effect_done and reached.status == "succeeded":
            yield RepeatedEffect(node_id, None, in_doubt=False)
    for node in graph.nodes:
        if isinstance(node, LoopNode) and node.id in of_nodes:
            of_nodes |= {inner.id for inner in node.body}
    for activity_id, activity in state.activities.items():
        is_doubtful = activity_id in state.in_doubt or _is_dangling(state.open.get(activity_id))
        if activity.node_id in of_nodes and (activity.effect_done or is_doubtful):
            yield RepeatedEffect(activity.node_id, activity_id, is_doubtful and not activity.effect_done)


def _is_dangling(attempt: Any) -> bool:
    return attempt is not None and attempt.is_dangling
