"""`hooks logs RUN NODE`: what a node's process wrote, as it wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from hooks.errors import NotFoundError, UsageError
from hooks.ids import call_directory
from hooks.kernel.state import ActivityState
from hooks.regular_files import NotARegularFileError, open_regular
from hooks.runtime.node_names import name_in_id
from hooks.runtime.node_words import pick
from hooks.runtime.reading import RunView, read_run
from hooks.storage.durable_files import not_our_file, refuse_link, storage_error
from hooks.storage.run_directory import find_run
from hooks_cli.draws import drawn_attempts
from hooks_cli.options import AsJson, NodeWord, RunsDir, RunWord, runs_directory
from hooks_cli.render.documents import path_text
from hooks_cli.render.streams import emit, emit_bytes, emit_json, on_terminal
from hooks_cli.render.text import neutralise_lines

_CHUNK = 1024 * 1024


def logs(
    run: RunWord,
    node: NodeWord,
    stderr: Annotated[bool, typer.Option("--stderr", help="stderr instead of stdout.")] = False,
    draw: Annotated[int | None, typer.Option("--draw", metavar="N", min=1, help="This draw of an agent step.")] = None,
    call: Annotated[
        int | None, typer.Option("--call", metavar="N", min=1, help="This call of its agent, or of a judge.")
    ] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Print what the last attempt of a node wrote to stdout or stderr, every byte of it.

    Of an agent step that is its chosen draw, else its last call. On a terminal control characters are spelled out.
    """
    if draw is not None and call is not None:
        raise UsageError("--draw and --call exclude each other.", fix="Leave one of them out.")
    view = read_run(find_run(runs_directory(runs_dir), run))
    activity = _meant(view, node)
    number = _call_meant(view, activity, node, draw=draw, call=call)
    attempt = view.directory.attempt(activity.activity_id, activity.attempts)
    path = attempt.parent / call_directory(attempt.name, number) / ("stderr" if stderr else "stdout")
    with _opened(view, path, node, number) as file:
        if as_json:
            emit_json(_document(view, name_in_id(activity.activity_id), path, file.read()))
        else:
            _copy(file)
    return 0


def _opened(view: RunView, path: Path, node: str, number: int) -> BinaryIO:
    """The file, if it is one of the run's own. Raises NotFoundError, CorruptRunError for what was put in its place."""
    try:
        for directory in (view.directory.attempts, path.parent):
            refuse_link(directory)
        return open_regular(path)
    except FileNotFoundError:
        raise NotFoundError(
            f"{f'Call {number}' if number > 1 else 'The last attempt'} of {node} has no {path.name}: "
            "it started no process.",
            fix=f"`hooks show {view.run_id} --node {node}` tells what became of it.",
            run=view.run_id,
        ) from None
    except NotARegularFileError as error:
        raise not_our_file(path, error) from error
    except OSError as error:
        raise storage_error("read", path, error) from error


def _meant(view: RunView, node: str) -> ActivityState:
    """The activity whose last attempt is meant. Raises NotFoundError, with the list where several are."""
    begun = {name_in_id(activity_id): activity for activity_id, activity in view.state.activities.items()}
    activity = pick(view.state, node, begun, what="steps")
    if activity is None:
        raise NotFoundError(
            f"{node} of run {view.run_id} has started no process of its own.",
            fix=f"`hooks show {view.run_id}` lists what has begun.",
            run=view.run_id,
        )
    return activity


def _call_meant(view: RunView, activity: ActivityState, node: str, *, draw: int | None, call: int | None) -> int:
    """The number of the call whose output is meant. Raises NotFoundError if there was no such draw or call."""
    drawn = drawn_attempts(view).get(activity.activity_id)
    if drawn is not None and drawn.attempt.number != activity.attempts:
        drawn = None
    if draw is None and call is None:
        return 1 if drawn is None else drawn.telling_call()
    number = None if drawn is None else drawn.call_of_draw(draw) if draw is not None else drawn.call(call)
    if number is None:
        meant = f"draw {draw}" if draw is not None else f"call {call}"
        raise NotFoundError(
            f"The last attempt of {node} of run {view.run_id} has no {meant}.",
            fix=f"`hooks show {view.run_id} --node {node}` lists its draws.",
            run=view.run_id,
        )
    return number


def _copy(file: BinaryIO) -> None:
    while chunk := file.read(_CHUNK):
        if on_terminal():
            emit(neutralise_lines(chunk.decode("utf-8", "replace")))
        else:
            emit_bytes(chunk)


def _document(view: RunView, node: str, path: Path, data: bytes) -> dict[str, object]:
    return {
        "schema": "hooks.logs/1",
        "run_id": view.run_id,
        "node": node,
        "stream": path.name,
        "path": path_text(path),
        "bytes": len(data),
        "text": data.decode("utf-8", "replace"),
    }
