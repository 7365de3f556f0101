"""`hooks logs RUN NODE`: what a node's process wrote, as it wrote it."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from hooks.errors import NotFoundError
from hooks.ids import NodeId
from hooks.runtime.reading import RunView, read_run
from hooks.storage.run_directory import find_run
from hooks_cli.options import AsJson, RunsDir, RunWord, runs_directory
from hooks_cli.render.documents import path_text
from hooks_cli.render.streams import emit, emit_bytes, emit_json, on_terminal
from hooks_cli.render.text import neutralise_lines

_CHUNK = 1024 * 1024


def logs(
    run: RunWord,
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node.")],
    stderr: Annotated[bool, typer.Option("--stderr", help="stderr instead of stdout.")] = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Print what the last attempt of a node wrote to stdout or stderr, every byte of it.

    On a terminal control characters are spelled out.
    """
    view = read_run(find_run(runs_directory(runs_dir), run))
    directory = last_attempt(view, node)
    path = directory / ("stderr" if stderr else "stdout")
    if not path.is_file():
        raise NotFoundError(
            f"The last attempt of {node} has no {path.name}: it started no process.",
            fix=f"`hooks show {view.run_id} --node {node}` tells what became of it.",
            run=view.run_id,
        )
    if as_json:
        emit_json(_document(view, node, path))
    else:
        _copy(path)
    return 0


def last_attempt(view: RunView, node: str) -> Path:
    """The directory of the node's last attempt. Raises NotFoundError."""
    activity = view.state.by_node.get(NodeId(require_node(view, node)))
    if activity is None or not activity.attempts:
        raise NotFoundError(f"Node {node} of run {view.run_id} has not been started.", run=view.run_id)
    return view.directory.attempt(activity.activity_id, activity.attempts)


def require_node(view: RunView, node: str) -> str:
    """`node`, if the run has it. Raises NotFoundError with the nodes it has."""
    known = list(view.state.graph.position)
    if node in known:
        return node
    close = get_close_matches(node, known, n=1)
    fix = f"Did you mean `{close[0]}`?" if close else f"It has: {', '.join(known[:10])}{', …' if known[10:] else ''}"
    raise NotFoundError(f"Run {view.run_id} has no node {node!r}.", fix=fix, run=view.run_id)


def _copy(path: Path) -> None:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            if on_terminal():
                emit(neutralise_lines(chunk.decode("utf-8", "replace")))
            else:
                emit_bytes(chunk)


def _document(view: RunView, node: str, path: Path) -> dict[str, object]:
    data = path.read_bytes()
    return {
        "schema": "hooks.logs/1",
        "run_id": view.run_id,
        "node": node,
        "stream": path.name,
        "path": path_text(path),
        "bytes": len(data),
        "text": data.decode("utf-8", "replace"),
    }
