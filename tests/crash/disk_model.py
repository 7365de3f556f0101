"""A disk as a power cut leaves it: what was synced is there, and of the rest any part may be.

A file keeps the writes before its last sync, a directory the names before its own. What comes after is `pending`, and a
cut keeps what it likes of it. A journaling disk is kinder: it keeps names in their order, and whatever is synced takes
all names before it along.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

Model = Literal["any subset", "journal"]
MODELS: tuple[Model, ...] = ("any subset", "journal")

Inode = int
ROOT: Inode = 0
_SECTOR = 512


class Name(NamedTuple):
    """In a directory a name is bound to an inode, or, if that is None, to nothing any more."""

    directory: Inode
    name: str
    inode: Inode | None


@dataclass
class Change:
    """Something asked of the disk: names that change together, as of a rename, or bytes written to a file, or, without
    `data`, its length. No power cut takes away what `is_durable`."""

    told: str
    names: tuple[Name, ...] = ()
    file: Inode | None = None
    offset: int = 0
    data: bytes | None = None
    is_durable: bool = False

    def torn(self, data: bytes) -> Change:
        return Change(f"torn: {self.told}", file=self.file, offset=self.offset, data=data)


@dataclass
class Tree:
    """Directories and files by inode."""

    directories: dict[Inode, dict[str, Inode]] = field(default_factory=lambda: {ROOT: {}})
    files: dict[Inode, bytes] = field(default_factory=dict)

    def copy(self) -> Tree:
        return Tree({inode: dict(names) for inode, names in self.directories.items()}, dict(self.files))

    def make(self, inode: Inode, *, directory: bool) -> None:
        if directory:
            self.directories[inode] = {}
        else:
            self.files[inode] = b""

    def apply(self, change: Change) -> None:
        for directory, name, inode in change.names:
            if inode is None:
                self.directories[directory].pop(name, None)
            else:
                self.directories[directory][name] = inode
        if change.file is not None:
            before = self.files[change.file]
            if change.data is None:
                self.files[change.file] = before[: change.offset].ljust(change.offset, b"\0")
            else:
                end = change.offset + len(change.data)
                start = before[: change.offset].ljust(change.offset, b"\0")
                self.files[change.file] = start + change.data + before[end:]

    def find(self, path: Sequence[str]) -> Inode | None:
        inode: Inode | None = ROOT
        for name in path:
            inode = self.directories.get(inode, {}).get(name) if inode is not None else None
        return inode

    def contents(self, inode: Inode = ROOT, path: str = "") -> Iterator[tuple[str, bytes | None]]:
        """Every path below the root with its bytes, None for a directory."""
        for name, child in sorted(self.directories[inode].items()):
            below = f"{path}{name}"
            if child in self.directories:
                yield below, None
                yield from self.contents(child, f"{below}/")
            else:
                yield below, self.files[child]


def read_tree(root: Path) -> Tree:
    tree, inodes = Tree(), itertools.count(1)

    def read(directory: Path, inode: Inode) -> None:
        for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
            child = next(inodes)
            tree.directories[inode][entry.name] = child
            tree.make(child, directory=entry.is_dir())
            if entry.is_dir():
                read(Path(entry), child)
            else:
                tree.files[child] = Path(entry).read_bytes()

    read(root, ROOT)
    return tree


def write_tree(tree: Tree, root: Path) -> None:
    """Make a directory be the tree, and nothing else."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for path, data in tree.contents():
        if data is None:
            (root / path).mkdir(mode=0o700)
        else:
            (root / path).write_bytes(data)


class Disk:
    """A tree, and all that was asked of it, in order."""

    def __init__(self, tree: Tree, model: Model) -> None:
        self._first = tree.copy()
        self.now = tree
        self._model = model
        self._changes: list[Change] = []
        self._next = max([*tree.directories, *tree.files]) + 1

    def make(self, *, directory: bool) -> Inode:
        """A new inode, which no name is bound to yet: a cut takes it away with its name."""
        inode, self._next = self._next, self._next + 1
        for tree in (self._first, self.now):
            tree.make(inode, directory=directory)
        return inode

    def change(self, change: Change) -> None:
        self._changes.append(change)
        self.now.apply(change)

    def sync(self, inode: Inode) -> None:
        for change in self._changes:
            is_its_own = change.file == inode or any(name.directory == inode for name in change.names)
            change.is_durable |= is_its_own or (self._model == "journal" and bool(change.names))

    def after_cut(self, kept: Collection[int], replaced: Change | None = None) -> Tree:
        """The tree now, of what is pending only the changes of these positions; `replaced` comes last."""
        tree = self._first.copy()
        for position, change in enumerate(self._changes):
            if change.is_durable or position in kept:
                tree.apply(change)
        if replaced:
            tree.apply(replaced)
        return tree

    def cuts(self) -> Iterator[tuple[str, Tree]]:
        """What a cut can leave now: all of what is pending, nothing, its first part, all but one, one alone, and its
        last writes in part or as zeros. On a journaling disk names go in their order."""
        pending = [position for position, change in enumerate(self._changes) if not change.is_durable]
        yield "all is kept", self.after_cut(pending)
        for number in range(len(pending)):
            yield f"the first {number} of {len(pending)}", self.after_cut(pending[:number])
        for position in pending:
            change = self._changes[position]
            if self._model == "any subset" or not change.names:
                yield f"lost: {change.told}", self.after_cut([one for one in pending if one != position])
            if self._model == "any subset":
                yield f"only: {change.told}", self.after_cut([position])
        names = [position for position in pending if self._changes[position].names]
        yield "names without their bytes", self.after_cut(names)
        for position in [one for one in pending if self._changes[one].data][-3:]:
            before = [one for one in pending if one < position]
            for torn in _torn(self._changes[position]):
                yield torn.told, self.after_cut(before, torn)


def _torn(change: Change) -> Iterator[Change]:
    data = change.data or b""
    for length in sorted({1, len(data) // 2, len(data) - 1} - {0}):
        yield change.torn(data[:length])
    yield change.torn(bytes(len(data)))
    if len(data) > _SECTOR:
        yield change.torn(bytes(_SECTOR) + data[_SECTOR:])
