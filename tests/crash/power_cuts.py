"""What a power cut can leave of a run: rebuilt from what the commands of a story asked of the disk, and gone on with.

The commands are told one after another under strace, which sees their steps and launchers too. What lies below `runs`
is as disk_model.py has it; the world, which is what effects have done by then, loses nothing. A trial is then: the root
as the cut left it, with the server remembering what it had been sent, and all a person would do to bring the run to an
end.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hooks import verify_run
from tests.cli.command import HOOKS
from tests.crash.disk_model import Change, Disk, Model, Name, Tree, read_tree, write_tree
from tests.crash.every_kind import RUN, EveryKind
from tests.crash.stories import Telling, check_end
from tests.executors.http_server import Asked, LocalServer

_PATHS = ("openat", "open", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir")
_DESCRIPTORS = ("write", "pwrite64", "fsync", "fdatasync", "ftruncate", "sendto")
_NOT_MODELLED = ("writev", "truncate", "link", "linkat", "symlink", "symlinkat", "sendfile", "copy_file_range")
_CALL = re.compile(r"\d+ +(?P<name>\w+)\((?P<given>.*)\) += (?P<result>\d+)(?:<(?P<path>[^>]*)>)?")
_UNFINISHED = re.compile(r"(?P<who>\d+) +(?P<begun>\w+\(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"(?P<who>\d+) +<\.\.\. \w+ resumed>(?P<rest>.*)$")
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<base>[^>]*)>, )?"(?P<path>(?:\\x[0-9a-f]{2})*)"')
_KEY = re.compile(rb"idempotency-key: (\S+)", re.IGNORECASE)


class Call(NamedTuple):
    """A call that did not fail. `path` is the one of the descriptor it was given or returned."""

    name: str
    given: str
    path: str | None
    paths: list[str]
    data: bytes


class Cut(NamedTuple):
    """What is there after a cut. `acknowledged`: the log when the last command before it had ended."""

    told: str
    tree: Tree
    posted: tuple[Asked, ...]
    acknowledged: bytes


@dataclass
class PowerCuts:
    """A story, told in a directory of its own in which all of its trials are made."""

    telling: Telling
    model: Model

    @property
    def _subject(self) -> EveryKind:
        return self.telling.subject

    @property
    def _server(self) -> LocalServer:
        return self._subject.server

    def every_cut(self) -> Iterator[Cut]:
        """Tell the story; all that cuts can leave, each once."""
        self.telling.tell_to(0)
        root = self._subject.root
        traced = Traced(root, Disk(read_tree(root), self.model), [])
        seen: set[bytes] = set()
        acknowledged = b""
        for number, command in enumerate(self.telling.story.commands):
            listing = self.telling.directory / f"calls-{number}"
            code = _run_traced(self._subject, self.telling.words(command), listing)
            assert code == command.code, f"{command.words}: exit code {code}"
            for moment in itertools.chain(traced.moments(listing, self._server), [None]):
                if moment is None:
                    acknowledged = self._subject.run.log.read_bytes()
                for told, tree in traced.disk.cuts():
                    when = f"before {moment}" if moment else "when it had ended"
                    left = Cut(f"{command.words[0]}, {when}: {told}", tree, tuple(traced.posted), acknowledged)
                    if (digest := _digest(left)) not in seen:
                        seen.add(digest)
                        yield left
        assert dict(traced.disk.now.contents()) == dict(read_tree(root).contents()), "the model is not the disk"

    def go_on_after(self, cut: Cut) -> str:
        """What went wrong; empty if nothing did."""
        subject = self._subject
        write_tree(cut.tree, subject.root)
        self._server.asked[:] = cut.posted
        try:
            if subject.run.path.exists():
                taken = subject.cli.hooks("recover", RUN, "-q", "--take-over")
                assert taken.code in (0, 1, 3, 4, 5, 10), f"recover --take-over: {taken.code}: {taken.err}"
            codes = subject.move_to_an_end()
            assert [str(found) for found in verify_run(subject.run) if found.severity == "damage"] == []
            check_end(self.telling, codes[-1])
            assert subject.run.log.read_bytes().startswith(cut.acknowledged), "what was acknowledged is there no more"
        except (AssertionError, subprocess.TimeoutExpired) as problem:
            return f"{cut.told}: {problem}"
        return ""


def _run_traced(subject: EveryKind, words: list[str], listing: Path) -> int:
    calls = ",".join(f"?{name}" for name in (*_PATHS, *_DESCRIPTORS, *_NOT_MODELLED))
    strace = [
        "strace",
        "-f",
        "-y",
        "-xx",
        "-s",
        "1000000",
        "-e",
        "signal=none",
        "-e",
        f"trace={calls}",
        "-o",
        str(listing),
    ]
    return subprocess.run(
        [*strace, *HOOKS, *words],
        cwd=subject.root,
        env={**subject.cli.environment, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    ).returncode


def _digest(cut: Cut) -> bytes:
    whole = hashlib.sha256(repr((len(cut.posted), cut.acknowledged)).encode())
    for path, data in cut.tree.contents():
        whole.update(repr((path, data)).encode())
    return whole.digest()


@dataclass
class Traced:
    """The disk, and what was sent to the server, as the calls of a trace come in."""

    root: Path
    disk: Disk
    posted: list[Asked]

    def moments(self, listing: Path, server: LocalServer) -> Iterator[str]:
        """Take in the calls of a listing. Yields before each that makes a difference to what a cut can take: a sync, a
        change of the world, something sent."""
        for call in _calls(listing, self.root):
            inside = [self._inside(path) for path in ([call.path] if call.path else call.paths)]
            if call.name == "sendto" and (key := _KEY.search(call.data)):
                yield "a request"
                self.posted.append(
                    next(one for one in server.asked if one.headers["idempotency-key"] == key[1].decode())
                )
            elif inside and inside[-1] is not None:
                told = f"{call.name} {'/'.join(inside[-1])}"
                if call.name in ("fsync", "fdatasync") or not _can_be_lost(inside[-1]):
                    yield told
                self._take_in(call, [path for path in inside if path is not None], told)

    def _inside(self, path: str) -> list[str] | None:
        """The path from the root on; None if it is elsewhere."""
        if not f"{path}/".startswith(f"{self.root}/"):
            return None
        return path.removeprefix(str(self.root)).removesuffix(" (deleted)").split("/")[1:]

    def _take_in(self, call: Call, paths: list[list[str]], told: str) -> None:
        path = paths[-1]
        inode, directory = self.disk.now.find(path), self.disk.now.find(path[:-1])
        assert directory is not None, told
        match call.name:
            case "openat" | "open":
                if inode is None and "O_CREAT" in call.given:
                    self._bind(Name(directory, path[-1], self.disk.make(directory=False)), told=told, path=path)
                elif inode is not None and "O_TRUNC" in call.given and self.disk.now.files.get(inode):
                    self._change(Change(told, file=inode), path)
            case "mkdir" | "mkdirat":
                self._bind(Name(directory, path[-1], self.disk.make(directory=True)), told=told, path=path)
            case "rename" | "renameat" | "renameat2":
                old = paths[0]
                before, moved = self.disk.now.find(old[:-1]), self.disk.now.find(old)
                assert before is not None, told
                self._bind(Name(directory, path[-1], moved), Name(before, old[-1], None), told=told, path=path)
            case "unlink" | "unlinkat" | "rmdir":
                self._bind(Name(directory, path[-1], None), told=told, path=path)
            case "write" | "pwrite64" | "ftruncate" if inode is not None:
                at = int(call.given.rpartition(",")[2]) if call.name != "write" else len(self.disk.now.files[inode])
                data = None if call.name == "ftruncate" else call.data
                self._change(Change(f"{told} at {at}", file=inode, offset=at, data=data), path)
            case "fsync" | "fdatasync" if inode is not None:
                self.disk.sync(inode)
            case "write" | "fsync" | "fdatasync":
                pass  # of a file that has no name any more
            case _:
                raise AssertionError(f"{told} is not modelled")

    def _bind(self, *names: Name, told: str, path: list[str]) -> None:
        self._change(Change(told, names=names), path)

    def _change(self, change: Change, path: list[str]) -> None:
        change.is_durable = not _can_be_lost(path)
        self.disk.change(change)


def _can_be_lost(path: list[str]) -> bool:
    return path[:1] == ["runs"]


def _calls(listing: Path, root: Path) -> Iterator[Call]:
    begun: dict[str, str] = {}
    for line in listing.read_text().splitlines():
        if unfinished := _UNFINISHED.match(line):
            begun[unfinished["who"]] = unfinished["begun"]
            continue
        resumed = _RESUMED.match(line)
        whole = f"{resumed['who']} {begun.pop(resumed['who'])}{resumed['rest']}" if resumed else line
        if (call := _CALL.match(whole)) and "O_DIRECTORY" not in call["given"]:
            yield _call(call, root)


def _call(call: re.Match[str], root: Path) -> Call:
    name, given = call["name"], call["given"]
    if name in _DESCRIPTORS:
        path = re.match(r"\d+<([^>]*)>", given)
        data = re.search(r'"((?:\\x[0-9a-f]{2})*)"', given)
        return Call(
            name, given, _text(path[1]) if path else None, [], _bytes(data[1])[: int(call["result"])] if data else b""
        )
    paths = [
        os.path.normpath(os.path.join(_text(found["base"] or "") or root, _text(found["path"])))
        for found in _PATH.finditer(given)
    ]
    return Call(name, given, _text(call["path"]) if call["path"] else None, paths, b"")


def _bytes(hexadecimal: str) -> bytes:
    return bytes.fromhex(hexadecimal.replace("\\x", ""))


def _text(hexadecimal: str) -> str:
    return os.fsdecode(_bytes(hexadecimal)) if hexadecimal.startswith("\\x") else hexadecimal
