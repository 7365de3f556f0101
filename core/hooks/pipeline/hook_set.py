"""The hook set belongs to the run: which hooks it has and what each consisted of is pinned in runCreated.

A member carries its whole declaration and a digest over declaration and file, so that a later driver, started anywhere,
asks the same hooks, and a decision can be told from one of an edited policy. Where the declaring file stands is no
part of the digest: a project may be moved.

A later driver adds what has been configured since, and logs that; it removes nothing. A hook is known by origin, node
and name, so a declaration edited under the same name cannot be told from another hook. It is no addition: what is
pinned goes on being asked, for an edit must not soften what a run began with, and asking both would ask one policy
twice. Only where the file of the pinned one is gone, and it could only fail, the edited one takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from hooks.definition.hook_files import file_of_command
from hooks.definition.hook_order import set_order
from hooks.definition.hook_rules import fault_of_point, faults_of
from hooks.definition.model import HookEntry
from hooks.errors import DefinitionError, Place, Problem
from hooks.events.payloads import HookSetMember
from hooks.jsonio import canonical
from hooks.kernel.hook_set import hook_key, next_hook_set


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
    _refuse([problem for entry in entries for problem in _problems(entry)])
    return [_member(entry) for entry in sorted(entries, key=_order)]


def members_as_declared(entries: Sequence[HookEntry]) -> list[HookSetMember]:
    """The same, whatever is wrong with their files: for looking at hooks, not for asking them."""
    return [_member(entry) for entry in sorted(entries, key=_order)]


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


@dataclass(frozen=True, slots=True)
class HookSetNow:
    """The hooks of a run as the driver that goes on with it finds them: all of them, and what hookSetChanged tells."""

    members: list[HookSetMember]
    changed: list[HookSetMember]
    added: list[HookSetMember]
    notes: list[str]
    """What a person should know of hooks that are not asked as they are declared now, or that can only fail."""


def hook_set_now(pinned: Sequence[HookSetMember], configured: Sequence[HookEntry] = ()) -> HookSetNow:
    """What a run's hooks have become since they were pinned, and which of those `configured` now it gains.

    A configured hook whose file is missing is gained as well: it fails where it is asked, which stops what it should
    have guarded and nothing else. But what is given by flag can be put right before anything is done: raises
    DefinitionError for such a file, for a name that the run has for another hook by flag, and for what is no hook.
    """
    _refuse([problem for entry in configured for problem in _problems_now(entry)])
    current, _ = refresh_hook_set(pinned)
    added, notes, problems = list[HookSetMember](), list[str](), list[Problem]()
    for member, index in _paired(members_as_declared(configured), pinned):
        if index is None:
            added.append(member)
        elif _is_same(member, pinned[index]):
            continue
        elif _is_missing(pinned[index]) and not _is_missing(member):
            current[index] = member
        elif member.origin == "flag":
            message = f"hook {member.name}: the run has another hook of this name from --hooks, which it keeps"
            problems.append(Problem(message, Place(member.declared_in), "give this one another `name`"))
        else:
            notes.append(
                f"hook {member.name} ({member.declared_in}) was declared otherwise when the run pinned it, and is "
                "asked as it was then; to have it asked as it is now as well, give it another `name`"
            )
    _refuse(problems)
    differing = {hook_key(now) for now, before in zip(current, pinned, strict=True) if now != before}
    changed = [member for member in current if hook_key(member) in differing]
    members = next_hook_set(pinned, changed, added)
    notes += [
        f"hook {member.name} ({member.declared_in}): there is no file {member.file}; it fails where it is asked"
        for member in members
        if _is_missing(member)
    ]
    return HookSetNow(members, changed, added, notes)


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


def _paired(
    members: Sequence[HookSetMember], pinned: Sequence[HookSetMember]
) -> Iterable[tuple[HookSetMember, int | None]]:
    """Each member with the place of the pinned one that it is, or else is named like; None for one that is new."""
    free, found = [*range(len(pinned))], dict[int, int]()
    for fits in (_is_same, _is_namesake):
        for number, member in enumerate(members):
            index = next((index for index in free if number not in found and fits(member, pinned[index])), None)
            if index is not None:
                found[number] = index
                free.remove(index)
    return ((member, found.get(number)) for number, member in enumerate(members))


def _is_namesake(one: HookSetMember, other: HookSetMember) -> bool:
    return hook_key(one) == hook_key(other)


def _is_same(one: HookSetMember, other: HookSetMember) -> bool:
    """Declared alike, and the same file; the declaring file counts only for where that is."""
    return _is_namesake(one, other) and _declaration(one.entry) == _declaration(other.entry) and one.file == other.file


def _is_missing(member: HookSetMember) -> bool:
    return member.file is not None and not Path(member.file).is_file()


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise DefinitionError(problems)


def _problems(entry: HookEntry) -> Iterable[Problem]:
    yield from _problems_of_declaration(entry)
    yield from _problems_of_file(entry)


def _problems_now(entry: HookEntry) -> Iterable[Problem]:
    yield from _problems_of_declaration(entry)
    if entry.origin == "flag":
        yield from _problems_of_file(entry)


def _problems_of_declaration(entry: HookEntry) -> Iterable[Problem]:
    place = _place(entry)
    faults = [fault for word in entry.on if (fault := fault_of_point(word)) is not None]
    for fault in faults or faults_of(entry):
        yield Problem(f"hook {entry.name}: {fault.message}", place, fault.fix)
    if not (entry.argv or entry.python):
        yield Problem(f"hook {entry.name} has neither `argv` nor `python`", place, "give one of the two")


def _problems_of_file(entry: HookEntry) -> Iterable[Problem]:
    file = hook_file(entry)
    if file is not None and not file.is_file():
        message = f"hook {entry.name}: there is no file {file}"
        yield Problem(message, _place(entry), "correct the path, or remove the hook")


def _place(entry: HookEntry) -> Place | None:
    return Place(entry.declared_in) if entry.declared_in else None


def _order(entry: HookEntry) -> tuple[int, int]:
    return set_order(entry.priority, entry.origin)


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
    content = None if file is None else sha256(Path(file).read_bytes()).hexdigest()
    return sha256(canonical({"declaration": _declaration(declaration), "file": content})).hexdigest()


def _declaration(entry: dict[str, Any]) -> dict[str, Any]:
    """What is declared, wherever."""
    return {key: value for key, value in entry.items() if key != "declared_in"}
