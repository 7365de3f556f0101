"""The command line with a fault at one of its changes to the files below a directory; a process of its own.

    python faulty.py ROOT POINTS MODE AT WORD…

Every call that changes a file below ROOT is a point. They are numbered from 1 over all threads and written to the file
POINTS as they are reached ("3 fdatasync /runs/r/events.jsonl"). At point AT, or, if AT is PATH+N, at the N-th (from 0)
that is reached once PATH is there, before the call has any effect:

count             nothing happens; AT is 0
kill              the process kills itself
torn              half of the bytes are written, then the process kills itself
EIO, ENOSPC       the call fails with that error, once
EIO+, ENOSPC+     this call fails and so does every later one

The calls are replaced in this process only: what children do to files (the launcher's exit.json) is no point.
"""

from __future__ import annotations

import builtins
import errno
import io
import itertools
import os
import runpy
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

# Its tree removal decides at import by which calls it works; it is to see the real ones.
assert shutil.rmtree


class Points:
    """Numbers the points as they are reached, and brings about the fault at its own."""

    def __init__(self, root: str, listing: int, mode: str, at: str) -> None:
        self._root = root
        self._listing = listing
        self._mode = mode
        self._awaited, plus, number = at.rpartition("+")
        # Points that are counted from a moment on are numbered from 1 as well.
        self._at = int(number) + len(plus)
        self._numbers = itertools.count(1)
        self._turn = threading.Lock()
        self._write, self._kill = os.write, os.kill

    def reach(self, call: str, path: str) -> bool:
        """Pass a point, if `path` is below the root. True: the caller is to write half and then call `die`.

        Raises the OSError of the mode.
        """
        if not f"{path}/".startswith(f"{self._root}/"):
            return False
        with self._turn:
            if self._awaited and not os.path.exists(self._awaited):
                return False
            number = next(self._numbers)
            self._write(self._listing, f"{number} {call} {path.removeprefix(self._root) or '/'}\n".encode())
        is_sticky = self._mode.endswith("+")
        if number != self._at and not (is_sticky and self._at <= number):
            return False
        if self._mode == "torn":
            return True
        if self._mode == "kill":
            self.die()
        error = getattr(errno, self._mode.removesuffix("+"))
        raise OSError(error, os.strerror(error), path)

    def die(self) -> NoReturn:
        self._kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("unreachable")


def absolute(path: Any, dir_fd: int | None = None) -> str:
    text = os.fsdecode(path)
    if dir_fd is not None:
        text = os.path.join(path_of(dir_fd), text)
    return os.path.normpath(os.path.join(os.getcwd(), text))


def path_of(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}").removesuffix(" (deleted)")


def on_path(points: Points, name: str) -> Callable[..., Any]:
    """The call `name`, whose first argument is a path, as a point; of a rename it is the target that counts."""
    real = getattr(os, name)

    def call(path: Any, *rest: Any, **options: Any) -> Any:
        target = rest[0] if name in ("rename", "replace") else path
        descriptor = options.get("dir_fd", options.get("dst_dir_fd"))
        points.reach(name, path_of(path) if isinstance(path, int) else absolute(target, descriptor))
        return real(path, *rest, **options)

    return call


def on_open(points: Points) -> Callable[..., Any]:
    real = os.open

    def call(path: Any, flags: int, *rest: Any, **options: Any) -> Any:
        if flags & (os.O_CREAT | os.O_TRUNC):
            points.reach("open", absolute(path, options.get("dir_fd")))
        return real(path, flags, *rest, **options)

    return call


def on_descriptor(points: Points, name: str) -> Callable[..., Any]:
    real = getattr(os, name)

    def call(descriptor: int, *rest: Any) -> Any:
        points.reach(name, path_of(descriptor))
        return real(descriptor, *rest)

    return call


def on_write(points: Points, name: str) -> Callable[..., Any]:
    real = getattr(os, name)

    def call(descriptor: int, data: Any, *rest: Any) -> Any:
        if points.reach(name, path_of(descriptor)):
            real(descriptor, memoryview(data)[: len(data) // 2], *rest)
            points.die()
        return real(descriptor, data, *rest)

    return call


def on_builtin_open(points: Points) -> Callable[..., Any]:
    """`open` for writing: making the file is a point, and so is every write to it."""
    real = builtins.open

    class File(io.FileIO):
        def write(self, data: Any, /) -> int:
            if points.reach("write", path_of(self.fileno())):
                super().write(memoryview(data)[: len(data) // 2])
                points.die()
            return super().write(data)

    def call(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **options: Any) -> Any:
        if not set(mode) & set("wax+") or "+" in mode:
            return real(file, mode, buffering, *rest, **options)
        if not isinstance(file, int):
            points.reach("open", absolute(file))
        raw = File(file, mode.replace("t", "").replace("b", ""), options.pop("closefd", True))
        if buffering == 0:
            return raw
        buffered = io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *rest, **options)

    return call


def install(points: Points) -> None:
    replaced = {name: on_path(points, name) for name in ("rename", "replace", "mkdir", "unlink", "rmdir", "truncate")}
    replaced |= {name: on_descriptor(points, name) for name in ("fsync", "fdatasync", "ftruncate")}
    replaced |= {name: on_write(points, name) for name in ("write", "pwrite")}
    replaced["open"] = on_open(points)
    for name, call in replaced.items():
        setattr(os, name, call)
    builtins.open = io.open = on_builtin_open(points)


def main() -> None:
    root, listing, mode, at, *words = sys.argv[1:]
    descriptor = os.open(listing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    install(Points(root, descriptor, mode, at))
    sys.argv = ["hooks", *words]
    runpy.run_module("hooks_cli", run_name="__main__")


if __name__ == "__main__":
    main()
