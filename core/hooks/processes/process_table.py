"""Which processes are alive, read from /proc; and how to signal one without ever hitting another.

A pid alone says little: the number is used again after its process is gone. A process is therefore known here by pid
*and* start time, and looked at again through a pidfd before a signal is sent. A zombie counts as gone: it can do
nothing any more, and in a container whose first process reaps nobody it would stay for ever.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

MARKER_VARIABLE = "HOOKS_ATTEMPT"


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
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read()
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


def find_marked(marker: str) -> list[LiveProcess]:
    """The living processes with HOOKS_ATTEMPT=`marker` in their environment, this one excepted."""
    entry = f"{MARKER_VARIABLE}={marker}".encode()
    return [process for process in _others() if entry in _environment(process.pid)]


def find_group(group: int) -> list[LiveProcess]:
    """The living members of a process group whose leader has been reaped."""
    members = [process for process in _others() if process.group == group]
    # A group that has members keeps its number from being given away. A process of that number is thus a newcomer.
    return [] if any(process.pid == group for process in members) else members


def find_tree(marker: str, launcher: int | None = None) -> list[LiveProcess]:
    """What belongs to one attempt: what carries its marker or lives in the launcher's session, and their descendants.

    `launcher` must not have been reaped: its number could be another's by then.
    """
    entry = f"{MARKER_VARIABLE}={marker}".encode()
    children: dict[int, list[LiveProcess]] = {}
    found: dict[int, LiveProcess] = {}
    for process in _others():
        children.setdefault(process.parent, []).append(process)
        in_session = launcher is not None and launcher in (process.pid, process.group, process.session)
        if in_session or entry in _environment(process.pid):
            found[process.pid] = process
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                waiting.append(child.pid)
    return list(found.values())


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


def _others() -> Iterator[LiveProcess]:
    """Every living process but this one: a command that ends the tree it runs in must live to say so."""
    own = os.getpid()
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != own and (process := read_process(int(name))):
            yield process


def _environment(pid: int) -> list[bytes]:
    """The environment the process was started with; empty where another user's process hides it."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            return file.readall().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
