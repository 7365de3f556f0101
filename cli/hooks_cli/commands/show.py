"""`hooks show RUN`: how a run stands, and what to type next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from hooks.definition.model import LoopNode
from hooks.errors import NotFoundError, UsageError
from hooks.ids import NodeId
from hooks.runtime.binding import resolve_composite
from hooks.runtime.node_names import name_in_id
from hooks.runtime.reading import RunView, read_run
from hooks.storage.run_directory import find_run
from hooks_cli.attempts import answer_documents, attempt_documents
from hooks_cli.cancels import cancel_documents, cancel_of_node
from hooks_cli.doubts import doubt_documents, unsettled_documents
from hooks_cli.draws import draw_counts, drawn_attempts, may_draw_again, sampling_document
from hooks_cli.hook_decisions import asked_about, decision_documents
from hooks_cli.node_places import knowing_of, place_of_node
from hooks_cli.options import AsJson, RunsDir, RunWord, runs_directory
from hooks_cli.render.documents import now_ms
from hooks_cli.render.gates import gate_documents, gates_page
from hooks_cli.render.next_steps import next_commands, steps_at
from hooks_cli.render.node_documents import node_document, node_documents, plain
from hooks_cli.render.node_status import activities_of
from hooks_cli.render.run_end import end_document
from hooks_cli.render.run_page import node_page, run_page
from hooks_cli.render.streams import emit, emit_json, emit_value
from hooks_cli.render.text import iso_time_or_none
from hooks_cli.rounds import round_documents
from hooks_cli.skipping import why_skipped
from hooks_cli.taken_over import rerun_document


def show(
    run: RunWord,
    node: Annotated[str | None, typer.Option("--node", metavar="N", help="Only this node, with its output.")] = None,
    gates: Annotated[bool, typer.Option("--gates", help="Only the open gates, with all that is asked.")] = False,
    field: Annotated[
        str | None,
        typer.Option("--field", metavar="PATH", help="One value of the --json document: nodes.a.output"),
    ] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Show a run: status, nodes, open gates, last error, and the next command to type."""
    if node is not None and gates:
        raise UsageError("--node and --gates exclude each other.", fix="Leave one of them out.")
    view = read_run(find_run(runs_directory(runs_dir), run))
    document, page = _choose(view, node, gates=gates)
    if field is not None:
        emit_value(plain(_walk(view, document, field)))
    elif as_json:
        emit_json(plain(document))
    else:
        emit(page(document))
    return 0


def _choose(view: RunView, node: str | None, *, gates: bool) -> tuple[dict[str, Any], Callable[[dict[str, Any]], str]]:
    """What is asked for, and how it is laid out for a person."""
    if gates:
        return _gates_document(view), lambda document: gates_page(document["gates"])
    if node is not None:
        return _node_document(view, node), node_page
    return _document(view), run_page


def _document(view: RunView) -> dict[str, Any]:
    created = view.state.created
    assert created is not None, "a run that can be read has been created"
    draws = draw_counts(drawn_attempts(view)) if may_draw_again(view) else {}
    return {
        "schema": "hooks.show/1",
        **end_document(view, now_ms()),
        "gates": _gates(view),
        "decisions": decision_documents(view),
        "version": view.definition.version,
        "revision_id": created.revision_id,
        "driver": str(view.holder) if view.holder else None,
        "initiator": created.initiator,
        "rerun_of": rerun_document(view),
        "working_directory": created.working_directory,
        "workflow_file": created.workflow_file,
        "cancels": cancel_documents(view.state),
        "params": view.blobs.resolve(created.params),
        "metadata": view.blobs.resolve(created.metadata),
        # Whoever sees this needs not be told to look at it.
        "next": [command for command in next_commands(view) if command != f"hooks show {view.run_id}"],
        "hooks": [
            {"name": hook.name, "origin": hook.origin, "declared_in": hook.declared_in} for hook in view.state.hook_set
        ],
        "nodes": node_documents(view.definition, view.state, view.status, view.state.root, draws),
    }


def _gates_document(view: RunView) -> dict[str, Any]:
    status = view.status
    return {
        "schema": "hooks.show.gates/1",
        "run_id": view.run_id,
        "status": status.status,
        "exit_code": status.exit_code,
        "next_due_at": iso_time_or_none(status.next_due_at),
        "gates": _gates(view),
        "next": next_commands(view),
    }


def _gates(view: RunView) -> list[dict[str, Any]]:
    """The open gates; where a hook asks, its subject is a digest, and `about` has what would be done."""
    about = asked_about(view)
    return [{**gate, "about": about.get(gate["wait_id"], gate["subject"])} for gate in gate_documents(view)]


def _node_document(view: RunView, word: str) -> dict[str, Any]:
    """One node, or one of its items, with its output; in the body of a loop, of one round."""
    _, bracket, index = name_in_id(word).partition("[")
    key, definition = place_of_node(view, word)
    view = knowing_of(view, key)
    state, scope = view.state, view.state.scopes[key]
    node = scope.nodes.get(NodeId(definition.id))
    drawn = drawn_attempts(view)
    document = node_document(view.definition, state, view.status, scope, definition, draw_counts(drawn))
    activities = [*activities_of(node)] if node is not None else []
    if bracket:
        document = _item_document(view, document, index.removesuffix("]"))
        activities = [activity for activity in activities if activity.activity_id == document["activity_id"]]
    unsettled = unsettled_documents(view, activities)
    # Of a fan-out each item has draws of its own, and a page of its own.
    its_draws = None if document["items"] is not None else drawn.get(document["activity_id"])
    return {
        "schema": "hooks.show.node/1",
        "run_id": view.run_id,
        "node": document["name"],
        "rerun_of": rerun_document(view),
        **document,
        "skipped_because": why_skipped(view.directory, document["name"]) if document["status"] == "skipped" else None,
        "cancelled_by": cancel_of_node(state, document["name"].partition("[")[0], document["status"]),
        "rounds": round_documents(view, definition.id) if isinstance(definition, LoopNode) else None,
        "history": attempt_documents(view, activities),
        "gates": [gate for gate in _gates(view) if document["name"] in (gate["gate"], gate["gate"].partition("[")[0])],
        "answers": answer_documents(view, document["name"]),
        "doubts": doubt_documents(view, activities),
        "unsettled": unsettled,
        "decisions": decision_documents(view, document["name"]),
        "sampling": None if its_draws is None else sampling_document(view, its_draws),
        "output": resolve_composite(document["output"], view.blobs.resolve),
        "next": steps_at(view.status, state, document["name"], [each["place"] for each in unsettled]),
    }


def _item_document(view: RunView, node: dict[str, Any], index: str) -> dict[str, Any]:
    """One item of a fan-out, with the keys of a node. Raises NotFoundError if there is no such item."""
    item = next((item for item in node["items"] or () if str(item["index"]) == index), None)
    if item is None:
        raise NotFoundError(
            f"{node['name']} of run {view.run_id} has no item {index}, but {len(node['items'] or ())} in all.",
            fix=f"`hooks show {view.run_id} --node {node['name']}` lists them.",
            run=view.run_id,
        )
    return {**node, "items": None, **item, "name": f"{node['name']}[{index}]"}


def _walk(view: RunView, document: dict[str, Any], field: str) -> Any:
    """The value at a dotted path; a node id with dots in it counts as one key, a number as a place in a list."""
    value: Any = document
    rest = field
    while rest:
        key, rest = _next_key(value, rest)
        try:
            value = value[int(key) if isinstance(value, list) else key]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            keys = f"it has {', '.join(map(str, value))}" if isinstance(value, dict) else "there is nothing below it"
            raise NotFoundError(
                f"There is no {key!r} in {field!r}: {keys}.",
                fix=f"`hooks show {view.run_id} --json` shows all.",
                run=view.run_id,
            ) from error
        value = resolve_composite(value, view.blobs.resolve)
    return value


def _next_key(value: Any, path: str) -> tuple[str, str]:
    if isinstance(value, dict):
        fitting = [key for key in value if path == key or path.startswith(f"{key}.")]
        if fitting:
            longest = max(fitting, key=len)
            return longest, path[len(longest) + 1 :]
    key, _, rest = path.partition(".")
    return key, rest
