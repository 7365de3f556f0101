"""A run as one file to give away: a gzipped tar of a portable copy, the same bytes for the same run.

`<run-id>/` holds events.jsonl, workflow.json, the blobs the log refers to, what attempts have left, and export.json,
which says where it came from. Unpacked, that is a run directory: every command that only looks works on it, and those
that move a run refuse it as the copy it is.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import orjson

from hooks.blotting import Blotter
from hooks.errors import CorruptRunError, StorageError
from hooks.events.envelope import SCHEMA_VERSION
from hooks.ids import RUN_ID
from hooks.regular_files import open_regular
from hooks.runtime.portable_copy import PortableCopy, copy_portably
from hooks.storage.run_directory import RunDirectory

MANIFEST = "export.json"
_DIRECTORY_MODE, _FILE_MODE = 0o700, 0o600


def export_run(directory: RunDirectory, target: BinaryIO, values: Mapping[str, str], *, version: str) -> PortableCopy:
    """Write the archive of a run, as far as its log is committed, with `values` (by name) blotted out.

    `version` is that of the program, for export.json.
    Takes no lock and changes nothing. Raises CorruptRunError for a damaged run, UnblottableError, StorageError; OSError
    for `target`.
    """
    run_id = directory.logged_run_id()
    if not RUN_ID.match(run_id):  # what is made from it must not lead anywhere else
        raise CorruptRunError(f"{run_id!r} is not the id of a run", file=str(directory.log), line=1, byte=0)
    with tempfile.TemporaryDirectory(prefix="hooks-export-") as scratch:
        top = Path(scratch) / run_id
        try:
            copied = copy_portably(directory, top, Blotter(values))
            (top / MANIFEST).write_bytes(_manifest(copied, version))
        except OSError as error:
            raise StorageError(
                f"Cannot copy the run to {scratch}: {error.strerror or error}.",
                fix="Free space there, or have TMPDIR name a directory with enough.",
            ) from error
        _pack(top, copied.timestamp // 1000, target)
    return copied


def _manifest(copied: PortableCopy, version: str) -> bytes:
    document = {
        "schema": "hooks.archive/1",
        "run_id": copied.run_id,
        "hooks_version": version,
        "event_schema_version": SCHEMA_VERSION,
        "events": copied.events,
        "origin_last_hash": copied.origin_last_hash,
        "last_hash": copied.last_hash,
        "masked": copied.masked,
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _pack(top: Path, mtime: int, target: BinaryIO) -> None:
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=mtime) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for place in _places_below(top):
            path = top / place
            member = tarfile.TarInfo(os.path.join(top.name, place) if place else top.name)
            member.mtime = mtime
            if path.is_dir():
                member.type, member.mode = tarfile.DIRTYPE, _DIRECTORY_MODE
                archive.addfile(member)
            else:
                member.size, member.mode = path.stat().st_size, _FILE_MODE
                with open_regular(path) as file:
                    archive.addfile(member, file)


def _places_below(top: Path) -> Iterator[str]:
    """Every directory and file, by its place below `top` (itself the empty one): a directory before what is in it."""
    found = [""]
    for directory, directories, files in os.walk(top):
        inside = os.path.relpath(directory, top)
        found += (os.path.normpath(os.path.join(inside, name)) for name in [*directories, *files])
    yield from sorted(found, key=os.fsencode)
