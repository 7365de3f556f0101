"""`hooks show RUN`: how a run stands, and what to type next."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from hooks.errors import NotFoundError
from hooks.runtime.reading import RunView, read_run
from hooks.storage.run_directory import find_run
from hooks_cli.commands.logs import require_node
from hooks_cli.options import AsJson, RunsDir, RunWord, runs_directory
from hooks_cli.render.documents import node_document, node_documents
from hooks_cli.render.run_end import end_document
from hooks_cli.render.run_page import node_page, run_page
from hooks_cli.render.streams import emit, emit_json, emit_value


def show(
    run: RunWord,
    node: Annotated[str | None, typer.Option("--node", metavar="N", help="Only this node, with its output.")] = None,
    field: Annotated[
        str | None,
        typer.Option("--field", metavar="PATH", help="One value of the --json document: nodes.a.output"),
    ] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Show a run: status, nodes, last error, and the next command to type."""
    view = read_run(find_run(runs_directory(runs_dir), run))
    document = _document(view) if node is None else _node_document(view, require_node(view, node))
    if field is not None:
        emit_value(_walk(view, document, field))
    elif as_json:
        emit_json(document)
    else:
        emit(run_page(document) if node is None else node_page(document))
    return 0


def _document(view: RunView) -> dict[str, Any]:
    status, state, created = view.status, view.state, view.state.created
    assert created is not None, "a run that can be read has been created"
    output = view.output() if status.status == "succeeded" else None
    return {
        "schema": "hooks.show/1",
        **end_document(status, state, view.directory.path, time.time_ns() // 1_000_000, output),
        "version": view.definition.version,
        "revision_id": created.revision_id,
        "driver": str(view.holder) if view.holder else None,
        "initiator": created.initiator,
        "working_directory": created.working_directory,
        "params": view.blobs.resolve(created.params),
        "metadata": view.blobs.resolve(created.metadata),
        "hooks": [
            {"name": hook.name, "origin": hook.origin, "declared_in": hook.declared_in} for hook in created.hooks
        ],
        "nodes": node_documents(status, state),
    }


def _node_document(view: RunView, node_id: str) -> dict[str, Any]:
    node = view.state.graph.nodes[view.state.graph.position[node_id]]
    document = node_document(node, view.status, view.state)
    return {
        "schema": "hooks.show.node/1",
        "run_id": view.run_id,
        "node": node_id,
        **document,
        "output": view.blobs.resolve(document["output"]),
    }


def _walk(view: RunView, document: dict[str, Any], field: str) -> Any:
    """The value at a dotted path; a node id with dots in it counts as one key, a number as a place in a list."""
    value: Any = document
    rest = field
    while rest:
        key, rest = _next_key(value, rest)
        try:
            value = view.blobs.resolve(value[int(key) if isinstance(value, list) else key])
        except (KeyError, IndexError, ValueError, TypeError) as error:
            keys = f"it has {', '.join(map(str, value))}" if isinstance(value, dict) else "there is nothing below it"
            raise NotFoundError(
                f"There is no {key!r} in {field!r}: {keys}.",
                fix=f"`hooks show {view.run_id} --json` shows all.",
                run=view.run_id,
            ) from error
    return value


def _next_key(value: Any, path: str) -> tuple[str, str]:
    if isinstance(value, dict):
        fitting = [key for key in value if path == key or path.startswith(f"{key}.")]
        if fitting:
            longest = max(fitting, key=len)
            return longest, path[len(longest) + 1 :]
    key, _, rest = path.partition(".")
    return key, rest
