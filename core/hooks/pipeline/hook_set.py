"""The hook set belongs to the run: which hooks it has and what each consisted of is pinned in runCreated.

A member carries its whole declaration and a digest over declaration and file, so that a later driver, started anywhere,
asks the same hooks, and a decision can be told from one of an edited policy. Where the declaring file stands is no
part of the digest: a project may be moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from hooks.definition.hook_files import file_of_command
from hooks.definition.hook_rules import fault_of_point, faults_of
from hooks.definition.model import HookEntry
from hooks.errors import DefinitionError, Place, Problem
from hooks.events.payloads import HookSetMember
from hooks.jsonio import canonical
from hooks.pipeline.listeners import entry_order


@dataclass(frozen=True, slots=True)
class ChangedMember:
    """A hook whose file is no longer what runCreated or hookSetChanged pinned; `missing` when it cannot be read."""

    before: HookSetMember
    after: HookSetMember
    missing: bool


def resolve_hook_set(entries: Sequence[HookEntry]) -> list[HookSetMember]:
    """The hooks of a run in the order they are asked, each with its file found and digested.

    Raises DefinitionError naming every entry that cannot be used: a file that is not there, a point or mode not known.
    """
    problems = [problem for entry in entries for problem in _problems(entry)]
    if problems:
        raise DefinitionError(problems)
    return [_member(entry) for entry in sorted(entries, key=entry_order)]


def members_as_declared(entries: Sequence[HookEntry]) -> list[HookSetMember]:
    """The same, whatever is wrong with their files: for looking at hooks, not for asking them."""
    return [_member(entry) for entry in sorted(entries, key=entry_order)]


def flag_entries(members: Iterable[HookSetMember]) -> list[HookEntry]:
    """The hooks that a run was given by flag: no config or workflow has them, and a run made from it keeps them."""
    return [msgspec.convert(member.entry, HookEntry) for member in members if member.origin == "flag"]


def refresh_hook_set(members: Iterable[HookSetMember]) -> tuple[list[HookSetMember], list[ChangedMember]]:
    """The same hooks with the digests their files have now, and which of them changed since they were pinned.

    A file that is missing keeps its digest: the hook's own failure to be found tells of it when it is asked.
    """
    current, changed = [], []
    for member in members:
        try:
            now = msgspec.structs.replace(member, digest=_digest(member.entry, member.file))
            missing = False
        except OSError:
            now, missing = member, True
        current.append(now)
        if missing or now.digest != member.digest:
            changed.append(ChangedMember(member, now, missing))
    return current, changed


def hook_set_digest(members: Iterable[HookSetMember]) -> str:
    """One digest for the whole set, order included."""
    return sha256(canonical([[member.name, member.origin, member.digest] for member in members])).hexdigest()


def hook_file(entry: HookEntry) -> Path | None:
    """The file a hook consists of, absolute; None for a module, or a program that is looked up in PATH.

    Behind an interpreter it is the script that counts.
    """
    directory = Path(entry.declared_in).parent
    if entry.python is not None:
        place = entry.python.rpartition(":")[0]
        return (directory / place).absolute() if place.endswith(".py") else None
    file = file_of_command(entry.argv or [])
    return None if file is None else (directory / file).absolute()


def _problems(entry: HookEntry) -> Iterable[Problem]:
    place = Place(entry.declared_in) if entry.declared_in else None
    faults = [fault for word in entry.on if (fault := fault_of_point(word)) is not None]
    for fault in faults or faults_of(entry):
        yield Problem(f"hook {entry.name}: {fault.message}", place, fault.fix)
    if not (entry.argv or entry.python):
        yield Problem(f"hook {entry.name} has neither `argv` nor `python`", place, "give one of the two")
    file = hook_file(entry)
    if file is not None and not file.is_file():
        yield Problem(f"hook {entry.name}: there is no file {file}", place, "correct the path, or remove the hook")


def _member(entry: HookEntry) -> HookSetMember:
    file = hook_file(entry)
    declaration = msgspec.to_builtins(entry)
    path = None if file is None else str(file)
    return HookSetMember(
        name=entry.name,
        origin=entry.origin,
        node_id=entry.node_id,
        entry=declaration,
        declared_in=entry.declared_in,
        file=path,
        digest=_digest(declaration, path if file is not None and file.is_file() else None),
    )


def _digest(declaration: dict[str, Any], file: str | None) -> str:
    what = {key: value for key, value in declaration.items() if key != "declared_in"}
    content = None if file is None else sha256(Path(file).read_bytes()).hexdigest()
    return sha256(canonical({"declaration": what, "file": content})).hexdigest()
