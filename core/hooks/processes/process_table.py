"""Which processes are alive, read from /proc; and how to signal one without ever hitting another.

A pid alone says little: the number is used again after its process is gone. A process is therefore known here by pid
*and* start time, and looked at again through a pidfd before a signal is sent. A zombie counts as gone: it can do
nothing any more, and in a container whose first process reaps nobody it would stay for ever.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from functools import cached_property

MARKER_VARIABLE = "HOOKS_MARKER"
_MARKER_ENTRY = f"\0{MARKER_VARIABLE}=".encode()
_READ_BYTES = 4096


@dataclass(frozen=True, slots=True)
class LiveProcess:
    """One process; equal to another look at the same one, whatever its parent or group has become."""

    pid: int
    start_time: int
    """Clock ticks since boot; does not change with exec."""
    parent: int = field(compare=False)
    group: int = field(compare=False)
    session: int = field(compare=False)


def read_process(pid: int) -> LiveProcess | None:
    """The process of that number, or None if there is none or only a zombie."""
    try:
        stat = _read(f"/proc/{pid}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may itself hold spaces and parentheses: what follows the last one is fields 3 onwards.
    fields = stat[stat.rindex(b")") + 2 :].split()
    state, threads = fields[0], int(fields[17])
    # A main thread that has left its other threads running looks like a zombie, but is none.
    if state in b"ZXx" and threads <= 1:
        return None
    return LiveProcess(
        pid, parent=int(fields[1]), group=int(fields[2]), session=int(fields[3]), start_time=int(fields[19])
    )


def is_alive(process: LiveProcess) -> bool:
    return read_process(process.pid) == process


class ProcessTable:
    """One look at all living processes but this one: a command that ends the tree it runs in must live to say so.

    Whoever asks it several things pays for one look. The environments, the dearer half, are read at the first question
    about a marker.
    """

    def __init__(self) -> None:
        own = os.getpid()
        pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        self._processes = [process for pid in pids if pid != own and (process := read_process(pid))]

    @cached_property
    def _markers(self) -> dict[int, bytes]:
        return {process.pid: marker for process in self._processes if (marker := _marker(process.pid)) is not None}

    def marked(self, marker: str) -> list[LiveProcess]:
        """Those with HOOKS_MARKER=`marker` in their environment."""
        sought = marker.encode()
        return [process for process in self._processes if self._markers.get(process.pid) == sought]

    def group(self, group: int) -> list[LiveProcess]:
        """The members of a process group whose leader has been reaped."""
        members = [process for process in self._processes if process.group == group]
        # A group that has members keeps its number from being given away. A process of that number is thus a newcomer.
        return [] if any(process.pid == group for process in members) else members

    def tree(self, marker: str, launcher: int | None = None) -> list[LiveProcess]:
        """What belongs to one attempt: what carries its marker or lives in the launcher's session, and what descends.

        `launcher` must not have been reaped: its number could be another's by then.
        """
        found = {process.pid: process for process in self.marked(marker)}
        if launcher is not None:
            for process in self._processes:
                if launcher in (process.pid, process.group, process.session):
                    found[process.pid] = process
        waiting = list(found)
        while waiting:
            for child in self._children.get(waiting.pop(), ()):
                if child.pid not in found:
                    found[child.pid] = child
                    waiting.append(child.pid)
        return list(found.values())

    @cached_property
    def _children(self) -> dict[int, list[LiveProcess]]:
        children: dict[int, list[LiveProcess]] = {}
        for process in self._processes:
            children.setdefault(process.parent, []).append(process)
        return children


def find_marked(marker: str) -> list[LiveProcess]:
    return ProcessTable().marked(marker)


def find_tree(marker: str, launcher: int | None = None) -> list[LiveProcess]:
    return ProcessTable().tree(marker, launcher)


def send_signal(process: LiveProcess, number: signal.Signals) -> bool:
    """Signal exactly this process; False if the system does not let us. One that is gone already is fine."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    except OSError:
        # No pidfd to be had (an old kernel, no descriptor free): look, then signal. The gap is microseconds.
        return _signal_by_pid(process, number)
    try:
        if is_alive(process):
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    finally:
        os.close(descriptor)
    return True


def _signal_by_pid(process: LiveProcess, number: signal.Signals) -> bool:
    try:
        if is_alive(process):
            os.kill(process.pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


def _marker(pid: int) -> bytes | None:
    """HOOKS_MARKER as the process was started with; None where another user's process hides its environment."""
    try:
        environment = b"\0" + _read(f"/proc/{pid}/environ")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    start = environment.find(_MARKER_ENTRY)
    if start < 0:
        return None
    start += len(_MARKER_ENTRY)
    end = environment.find(b"\0", start)
    return environment[start : end if end >= 0 else None]


def _read(path: str) -> bytes:
    """A whole file of /proc; by bare calls, since a look at all processes makes hundreds of them."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = b""
        while part := os.read(descriptor, _READ_BYTES):
            data += part
        return data
    finally:
        os.close(descriptor)
