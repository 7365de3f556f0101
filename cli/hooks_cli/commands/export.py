"""`hooks export RUN…`: a run as one file to give away, without its secrets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from hooks import __version__
from hooks.errors import UsageError
from hooks.runtime.exporting import Sought, definition_in, export_run, values_to_mask
from hooks.runtime.portable_copy import PortableCopy
from hooks.storage.run_directory import RunDirectory
from hooks_cli.options import All, AsJson, RunsDir, RunWords, runs_directory
from hooks_cli.output_file import STDOUT, output_file
from hooks_cli.render.documents import path_text
from hooks_cli.render.streams import emit_json, say
from hooks_cli.render.text import neutralise
from hooks_cli.selection import any_run, select

_MOST_PLACES = 10


def export(
    runs: RunWords = None,
    every: All = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="- is stdout. [default: RUN-ID.tar.gz]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    mask: Annotated[
        list[str] | None,
        typer.Option("--mask", metavar="NAME", help="Also mask the value of this variable; may be repeated."),
    ] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Write runs as archives that can be unpacked, read, verified and replayed anywhere.

    What leaves is searched for the values of the secrets that the workflow names, of the keys of its agents, and of
    --mask, as far as they are set here. A live run is written as far as it has come.
    """
    directories = select(runs_directory(runs_dir), runs, every=every, meant=any_run)
    if output is not None and len(directories) != 1:
        raise UsageError(f"-o {output} is one file, and {len(directories)} runs are meant.", fix="Leave out `-o`.")
    if output == STDOUT and as_json:
        raise UsageError("stdout cannot be the archive and the --json document.", fix="Name a file with `-o`.")
    documents = [_export(directory, output, force=force, also=mask or []) for directory in directories]
    if as_json:
        emit_json({"schema": "hooks.export/1", "archives": documents})
    return 0


def _export(directory: RunDirectory, output: str | None, *, force: bool, also: list[str]) -> dict[str, Any]:
    sought = values_to_mask(definition_in(directory), also, os.environ)
    tell_unsought(sought)
    name = output or f"{directory.logged_run_id()}.tar.gz"
    with output_file(name, force=force) as file:
        copied = export_run(directory, file, sought.values, version=__version__)
    say(_text(name, copied))
    return {
        "run_id": copied.run_id,
        "file": path_text(Path(name).absolute()),
        "bytes": 0 if name == STDOUT else os.path.getsize(name),
        "events": copied.events,
        "blobs": copied.blobs,
        "origin_last_hash": copied.origin_last_hash,
        "last_hash": copied.last_hash,
        "masked": copied.masked,
        "searched_for": sorted(set(sought.values) - set(sought.short)),
        "not_searched_for": sorted({*sought.unset, *sought.short}),
    }


def tell_unsought(sought: Sought) -> None:
    """Say which values were not looked for, and why."""
    for name in sought.unset:
        say(f"warning: {name} is not set here, so its value was not searched for")
    for name in sought.short:
        say(f"warning: the value of {name} is shorter than 8 bytes, and was not searched for")


def _text(name: str, copied: PortableCopy) -> str:
    lines = [f"{copied.run_id}: {copied.events} events in {'stdout' if name == STDOUT else neutralise(name)}"]
    lines += [f"  masked: {neutralise(place)}" for place in copied.masked[:_MOST_PLACES]]
    if len(copied.masked) > _MOST_PLACES:
        lines.append(f"  masked: {len(copied.masked) - _MOST_PLACES} more places; export.json has them all")
    return "\n".join(lines)
