"""What is wrong with a hook before it is asked: its file is missing, not executable, or changed since it was pinned; it
does not load."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from hooks.definition.hook_files import script_index
from hooks.definition.model import HookEntry
from hooks.errors import DefinitionError, Place, Problem
from hooks.events.payloads import HookSetMember
from hooks.pipeline.hook_set import hook_file, refresh_hook_set
from hooks.pipeline.pipeline import Pipeline


def file_faults(entry: HookEntry) -> Iterator[str]:
    """What would keep the hook from being asked."""
    file = hook_file(entry)
    if file is not None and not file.is_file():
        yield f"there is no file {file}"
    elif file is not None and not os.access(file, os.R_OK):
        yield f"{file} cannot be read"
    if entry.argv:
        yield from _program_faults(entry.argv, Path(entry.declared_in).parent, file)


def faults_before_asking(pipeline: Pipeline, members: Iterable[HookSetMember]) -> list[tuple[HookSetMember, str]]:
    """What would keep the hooks of an open pipeline from being asked, each with what is wrong with it."""
    in_files = [(member, fault) for member in members for fault in file_faults(_entry(member))]
    without_file = {id(member) for member, _ in in_files}
    return [*in_files, *(each for each in pipeline.load_faults() if id(each[0]) not in without_file)]


def refuse_faults(faults: Iterable[tuple[HookSetMember, str]]) -> None:
    """Raises DefinitionError if there is any, naming the hook, the file that declares it, and what to correct."""
    problems = [
        Problem(
            f"hook {member.name}: {fault}",
            Place(member.declared_in) if member.declared_in else None,
            f"correct {member.file}, or leave the hook out" if member.file else "correct the hook, or leave it out",
        )
        for member, fault in faults
    ]
    if problems:
        raise DefinitionError(problems)


def member_faults(member: HookSetMember) -> Iterator[str]:
    """The same for a hook that a run has pinned; and whether it is another one since."""
    yield from file_faults(_entry(member))
    for change in refresh_hook_set([member])[1]:
        if not change.missing:
            yield f"{change.after.file} has changed since the run began"


def _entry(member: HookSetMember) -> HookEntry:
    return msgspec.convert(member.entry, HookEntry)


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
