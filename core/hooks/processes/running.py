"""Runs a command to its end, or waits for one that an earlier driver started.

Whoever cancels either of the two gets control back only when the whole process tree is gone: what follows (a cancel
event, a new attempt) may rely on nothing of it being alive.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from hooks.callables import in_thread
from hooks.processes.ending import FIRST_PAUSE, LONGEST_PAUSE, Ending, OnKill, end_all, end_tree
from hooks.processes.exits import Exit, exit_of, read_exit
from hooks.processes.launch import ANSWER, STDERR, STDOUT, Child, launch
from hooks.processes.process_table import is_alive
from hooks.processes.shared_look import look
from hooks.secrets import Masker

# What is left in the background after the command has ended gets this long to go by itself.
_LEAK_GRACE_MS = 300
_LEAVING_SECONDS = 0.02


async def run_child(child: Child, *, grace_ms: int, on_kill: OnKill | None = None) -> Exit:
    """Run the command to its end; what it left in its files is masked by then. Raises CouldNotStartError.

    Background processes left in its process group are ended and named. One that went into a session of its own is a
    daemon, meant to stay, and is left alone, except on cancellation.
    Cancelled, it ends the whole tree (TERM to all, `grace_ms`, `on_kill`, KILL) and then lets the cancellation pass; a
    second cancellation skips the grace.
    """
    launcher = launch(child)
    try:
        await _ended(launcher.pid)
    except asyncio.CancelledError as cancelled:
        ending = await end_all(lambda: look().tree(child.marker, launcher.pid), grace_ms, on_kill=on_kill)
        _reap(launcher)
        _note(cancelled, ending)
        await mask_captured(child.directory, child.masker)
        raise
    status = _reap(launcher)
    try:
        leaked = await _end_leaked(launcher.pid)
    finally:
        await mask_captured(child.directory, child.masker)
    return replace(_exit(status, child.directory), leaked=leaked)


def _exit(status: int | None, directory: Path) -> Exit:
    if status is None:
        # Nobody to tell the status (SIGCHLD ignored by who started us): the launcher has written it down as well.
        return read_exit(directory) or Exit()
    return exit_of(status, read_exit(directory) if status > 128 else None)


async def adopt_child(
    directory: Path, marker: str, *, grace_ms: int, masker: Masker | None = None, on_kill: OnKill | None = None
) -> Exit | None:
    """Wait for a command whose driver died, and say how it ended; None if that cannot be known. Starts nothing.

    Everything that still carries the marker afterwards is ended: nothing may live beside what is done next. What was
    left in its files is masked, whatever is returned.
    Cancelled, it ends the tree as `run_child` does. The caller bounds the wait with asyncio.timeout.
    """
    try:
        ended = await _settled(directory, marker)
    except asyncio.CancelledError as cancelled:
        _note(cancelled, await end_all(lambda: look().tree(marker), grace_ms, on_kill=on_kill))
        await mask_captured(directory, masker)
        raise
    left = look().tree(marker)
    try:
        await end_tree(lambda: look().tree(marker), _LEAK_GRACE_MS)
    finally:
        await mask_captured(directory, masker)
    return replace(ended, leaked=tuple(process.pid for process in left)) if ended else None


async def mask_captured(directory: Path, masker: Masker | None) -> None:
    """Take the secrets out of what was captured there. A cancellation is held back: none may stay for its sake.

    A file that cannot be rewritten (a full disk) is removed. For whoever has ended a command's processes in another way
    than by the two functions above.
    """
    if masker is None:
        return
    masking = in_thread(partial(_mask_files, directory, masker))
    cancelled: asyncio.CancelledError | None = None
    while not masking.done():
        try:
            await asyncio.wait({masking})
        except asyncio.CancelledError as error:
            cancelled = error
    masking.result()
    if cancelled is not None:
        raise cancelled


def _mask_files(directory: Path, masker: Masker) -> None:
    for path in (directory / name for name in (STDOUT, STDERR, ANSWER)):
        try:
            masker.mask_file(path)
        except OSError:
            path.unlink(missing_ok=True)


async def _settled(directory: Path, marker: str) -> Exit | None:
    """Wait until exit.json is whole or nothing with the marker lives."""
    alive = look().marked(marker)
    pause = FIRST_PAUSE
    while alive and read_exit(directory) is None:
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)
        alive = [process for process in alive if is_alive(process)] or look().marked(marker)
    if alive:
        # The launcher itself has one line to go after writing exit.json; it is not a leak.
        await asyncio.sleep(FIRST_PAUSE * 5)
    return read_exit(directory)


async def _ended(pid: int) -> None:
    """Wait until our child of that number has ended; it stays a zombie, so that the number stays its own."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not ended.done():
            ended.set_result(None)

    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return  # reaped by the system, since SIGCHLD is ignored here
    except OSError:
        # No pidfd to be had (an old kernel, no descriptor free), and the child runs already.
        threading.Thread(target=_wait_in_thread, args=(pid, loop, tell), daemon=True).start()
        await ended
        return
    try:
        loop.add_reader(descriptor, tell)
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _wait_in_thread(pid: int, loop: asyncio.AbstractEventLoop, tell: Callable[[], None]) -> None:
    with suppress(ChildProcessError):  # reaped by the system: ended all the same
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with suppress(RuntimeError):  # the loop was closed: nobody waits any more
        loop.call_soon_threadsafe(tell)


def _reap(launcher: subprocess.Popen[bytes]) -> int | None:
    """The launcher's status, negative for a signal; None if somebody else took it.

    Not Popen.wait, which turns a status it could not learn into 0, a success.
    """
    try:
        _, status = os.waitpid(launcher.pid, 0)
    except ChildProcessError:
        launcher.returncode = -1
        return None
    launcher.returncode = os.waitstatus_to_exitcode(status)
    return launcher.returncode


async def _end_leaked(group: int) -> tuple[int, ...]:
    """End what is left of the process group, and say what it was. A cancellation is held back until it is gone."""
    if not _has_members(group):
        return ()
    cancelled: asyncio.CancelledError | None = None
    try:
        # `setsid -f` forks first and leaves then: it may be seen in the group for an instant.
        await asyncio.sleep(_LEAVING_SECONDS)
    except asyncio.CancelledError as error:
        cancelled = error
    leaked = look().group(group)
    await end_tree(lambda: look().group(group), _LEAK_GRACE_MS)
    if cancelled is not None:
        raise cancelled
    return tuple(process.pid for process in leaked)


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # members there are, though not ours to signal
    return True


def _note(cancelled: asyncio.CancelledError, ending: Ending) -> None:
    if ending.refused:
        pids = ", ".join(str(process.pid) for process in ending.refused)
        cancelled.add_note(f"Still alive, and not ours to end (another user's): process {pids}.")
