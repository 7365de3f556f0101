"""Runs written as archives, and what is said of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hooks import __version__
from hooks.errors import UsageError
from hooks.runtime.exporting import export_run
from hooks.runtime.masking import Sought, values_to_mask
from hooks.runtime.portable_copy import PortableCopy
from hooks.runtime.reading import definition_in
from hooks.storage.run_directory import RunDirectory
from hooks_cli.output_file import STDOUT, output_file
from hooks_cli.render.documents import path_text
from hooks_cli.render.streams import say
from hooks_cli.render.text import neutralise
from hooks_cli.selection import one_by_one

_MOST_PLACES = 10


def write_archives(
    directories: Sequence[RunDirectory], output: str | None, *, force: bool, also: Sequence[str], as_json: bool
) -> tuple[list[dict[str, Any]], int]:
    """Write each run to its file and say so on stderr; what a program wants to know of each, and the exit code."""
    if output is not None and len(directories) != 1:
        raise UsageError(f"-o {output} is one file, and {len(directories)} runs are meant.", fix="Leave out `-o`.")
    if output == STDOUT and as_json:
        raise UsageError("stdout cannot be the archive and the --json document.", fix="Name a file with `-o`.")
    return one_by_one(directories, lambda run: _write(run, output, force=force, also=also), as_json=as_json)


def _write(directory: RunDirectory, output: str | None, *, force: bool, also: Sequence[str]) -> dict[str, Any]:
    sought = values_to_mask(definition_in(directory), also, os.environ)
    tell_unsought(sought)
    name = output or f"{directory.logged_run_id()}.tar.gz"
    with output_file(name, force=force) as file:
        copied = export_run(directory, file, sought.values, version=__version__)
    say(_text(name, copied))
    return {
        "run_id": copied.run_id,
        "file": path_text(Path(name).absolute()),
        "bytes": None if name == STDOUT else os.path.getsize(name),
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
        say(
            f"warning: {name} is {'empty' if name in os.environ else 'not set'} here, so its value was not searched for"
        )
    for name in sought.short:
        say(f"warning: the value of {name} is shorter than 8 bytes, and was not searched for")


def _text(name: str, copied: PortableCopy) -> str:
    lines = [f"{copied.run_id}: {copied.events} events in {'stdout' if name == STDOUT else neutralise(name)}"]
    lines += [f"  masked: {neutralise(place)}" for place in copied.masked[:_MOST_PLACES]]
    if len(copied.masked) > _MOST_PLACES:
        lines.append(f"  masked: {len(copied.masked) - _MOST_PLACES} more places; export.json has them all")
    return "\n".join(lines)
