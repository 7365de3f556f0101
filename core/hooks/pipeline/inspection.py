"""What is wrong with the file of a hook: missing, not executable, changed since it was pinned."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hooks.definition.hook_files import script_index
from hooks.definition.model import HookEntry
from hooks.events.payloads import HookSetMember
from hooks.pipeline.hook_set import hook_file, refresh_hook_set


def file_faults(entry: HookEntry) -> Iterator[str]:
    """What would keep the hook from being asked."""
    file = hook_file(entry)
    if file is not None and not file.is_file():
        yield f"there is no file {file}"
    elif file is not None and not os.access(file, os.R_OK):
        yield f"{file} cannot be read"
    if entry.argv:
        yield from _program_faults(entry.argv, Path(entry.declared_in).parent, file)


def member_faults(member: HookSetMember) -> Iterator[str]:
    """The same for a hook that a run has pinned; and whether it is another one since."""
    yield from file_faults(msgspec.convert(member.entry, HookEntry))
    for change in refresh_hook_set([member])[1]:
        if not change.missing:
            yield f"{change.after.file} has changed since the run began"


def _program_faults(argv: list[str], directory: Path, file: Path | None) -> Iterator[str]:
    program = argv[0]
    if "/" not in program:
        if shutil.which(program) is None:
            yield f"there is no program {program!r} in PATH"
        return
    path = (directory / program).absolute()
    if script_index(argv) is not None and not path.is_file():
        yield f"there is no interpreter {path}"
    elif path.is_file() and not os.access(path, os.X_OK):
        yield f"{path} is not executable (chmod +x {path})"
