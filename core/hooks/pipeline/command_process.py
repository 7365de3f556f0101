"""Runs a hook's command: one document in, what it prints out, and nothing of it left behind.

Pipes, unlike the files that steps get: a hook is asked by this driver alone, and if the driver dies its answer is of
no use. Its input is written while its output is read, so that neither side can wait for the other for ever; a command
that does not read its input is no fault. What exceeds the limit of stdout is read and thrown away, so that the
command can finish.

The end of the command is learned from a pidfd, and it is reaped last: until then its number, which is also that of its
group, cannot become another's, and whatever it left running is ended by it. Once the command has ended, its output is
waited
for no longer than DRAIN: a child left behind may hold the pipe for ever.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hooks.processes.ending import end_tree
from hooks.processes.launch import CouldNotStartError, find_program
from hooks.processes.process_table import MARKER_VARIABLE, find_tree

STDOUT_LIMIT = 1024 * 1024
STDERR_TAIL = 16 * 1024
DRAIN = 0.2
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """What is run. `marker` finds what the command leaves behind, wherever that has moved itself."""

    argv: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    marker: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How the command ended and what it printed. `exit` is negative for a signal, as in subprocess.

    `left_behind`: something it started still held its output open, and was ended.
    """

    exit: int
    stdout: bytes
    stderr: bytes
    """Its end."""
    is_stdout_cut: bool = False
    is_timed_out: bool = False
    left_behind: bool = False


async def run_command(command: Command, document: bytes, *, timeout_ms: int, grace_ms: int) -> Ended:
    """Run `command` with `document` on its stdin. Raises CouldNotStartError.

    Past its timeout the whole tree gets TERM, after `grace_ms` KILL; so too when this is cancelled, before the
    cancellation passes. On return whatever was left of the tree has been killed.
    """
    process = _start(command)
    try:
        running = _Running(process, command, document)
    except OSError as error:
        _abandon(process)
        raise CouldNotStartError(f"Could not watch {command.argv[0]!r}: {error}") from error
    try:
        is_timed_out = await running.overruns(timeout_ms)
        if is_timed_out:
            await running.end(grace_ms)
        left_behind = not await running.drained()
        if left_behind:
            await running.end(grace_ms=0)
    except asyncio.CancelledError:
        await running.end(grace_ms)
        raise
    finally:
        running.close()
    return Ended(
        exit=process.returncode if process.returncode is not None else -signal.SIGKILL,
        stdout=running.stdout.kept(),
        stderr=running.stderr.kept(),
        is_stdout_cut=running.stdout.is_cut,
        is_timed_out=is_timed_out,
        left_behind=left_behind and not is_timed_out,
    )


def _start(command: Command) -> subprocess.Popen[bytes]:
    environment = {**command.environment, MARKER_VARIABLE: command.marker}
    program = find_program(command.argv[0], environment, command.directory)
    try:
        return subprocess.Popen(
            [word.encode("utf-8", "surrogateescape") for word in command.argv],
            executable=program,
            cwd=command.directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CouldNotStartError(f"Could not start {command.argv[0]!r}: {error}") from error


def _abandon(process: subprocess.Popen[bytes]) -> None:
    """End a command that there is no descriptor left to watch by."""
    with process, suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class _Running:
    """A started command and its three pipes, served by the loop."""

    def __init__(self, process: subprocess.Popen[bytes], command: Command, document: bytes) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._marker = command.marker
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._pidfd = os.pidfd_open(process.pid)
        self._loop.add_reader(self._pidfd, self._has_exited)
        self._stdin = _Writer(self._loop, process.stdin, document)
        self.stdout = _Reader(self._loop, process.stdout, first=STDOUT_LIMIT)
        self.stderr = _Reader(self._loop, process.stderr, last=STDERR_TAIL)

    async def overruns(self, timeout_ms: int) -> bool:
        """Wait for the command to end, and tell whether it was still running after `timeout_ms`."""
        await asyncio.wait({self._exited}, timeout=timeout_ms / 1000)
        return not self._exited.done()

    async def drained(self) -> bool:
        """Whether all it printed could be read to the end; waits a moment for that."""
        ends = {self.stdout.ended, self.stderr.ended}
        _, waiting = await asyncio.wait(ends, timeout=DRAIN)
        return not waiting

    async def end(self, grace_ms: int) -> None:
        """End the command and all it started; what is in the pipes by then is read.

        A cancellation while this waits skips the grace, and passes once the tree is gone.
        """
        launcher = self._process.pid
        deadline = self._loop.time() + grace_ms / 1000
        try:
            if grace_ms:
                await self._told_to_end(deadline)
        finally:
            left_ms = max(0, round((deadline - self._loop.time()) * 1000)) if self._exited.done() else 0
            await end_tree(lambda: find_tree(self._marker, launcher), left_ms)
        # All but a process that may not be signalled (another user's, after sudo) is gone, and will be seen to be.
        await asyncio.wait({self._exited}, timeout=DRAIN)
        self.stdout.read_rest()
        self.stderr.read_rest()

    async def _told_to_end(self, deadline: float) -> None:
        # The whole group in one stroke. Told one after another, a script could start its next command between the end
        # of the last one and its own signal, and then wait for that command instead of cleaning up.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGTERM)
            os.killpg(self._process.pid, signal.SIGCONT)
        await asyncio.wait({self._exited}, timeout=deadline - self._loop.time())

    def close(self) -> None:
        """Kill what is left in its group, reap it, and let go of the pipes."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        # It has ended, or was just killed, unless it is one that may not be signalled.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(DRAIN)
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._stdin.close()
        self.stdout.close()
        self.stderr.close()

    def _has_exited(self) -> None:
        self._loop.remove_reader(self._pidfd)
        if not self._exited.done():
            self._exited.set_result(None)


class _Writer:
    """Feeds a pipe as the other side takes it; closes it at the end, or when the other side wants no more."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pipe: IO[bytes], data: bytes) -> None:
        self._loop = loop
        self._pipe = pipe
        self._rest = memoryview(data)
        os.set_blocking(pipe.fileno(), False)
        loop.add_writer(pipe.fileno(), self._write)

    def _write(self) -> None:
        try:
            written = os.write(self._pipe.fileno(), self._rest[:_PIECE])
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.close()  # it does not read its input, and need not
            return
        self._rest = self._rest[written:]
        if not self._rest:
            self.close()

    def close(self) -> None:
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()


class _Reader:
    """Takes what comes out of a pipe and keeps the first, or the last, so many bytes."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, pipe: IO[bytes], *, first: int | None = None, last: int | None = None
    ) -> None:
        self.ended: asyncio.Future[None] = loop.create_future()
        self.is_cut = False
        self._loop = loop
        self._pipe = pipe
        self._first = first
        self._last = last
        self._kept = bytearray()
        os.set_blocking(pipe.fileno(), False)
        loop.add_reader(pipe.fileno(), self._read)

    def kept(self) -> bytes:
        return bytes(self._kept)

    def read_rest(self) -> None:
        """Read what is in the pipe now."""
        while not self._pipe.closed and self._read():
            pass

    def close(self) -> None:
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()
        if not self.ended.done():
            self.ended.set_result(None)

    def _read(self) -> bool:
        try:
            piece = os.read(self._pipe.fileno(), _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self.close()
            return False
        self._keep(piece)
        return True

    def _keep(self, piece: bytes) -> None:
        self._kept += piece
        if self._first is not None and len(self._kept) > self._first:
            self.is_cut = True
            del self._kept[self._first :]
        if self._last is not None and len(self._kept) > self._last:
            self.is_cut = True
            del self._kept[: -self._last]
