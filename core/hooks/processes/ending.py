"""Ends processes: TERM, time to clean up, KILL, and back only when none is left.

Polled, not awaited by pidfd: the processes to wait for are a set that changes, most are nobody's children here, and
a poll needs no descriptor, of which there may be none left when things go wrong.
"""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import Callable, Iterable

from hooks.processes.process_table import LiveProcess, find_tree, is_alive, send_signal

FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.05
_OUT_OF_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})


async def end_tree(find: Callable[[], Iterable[LiveProcess]], grace_ms: int) -> list[LiveProcess]:
    """End all that `find` finds, also what appears meanwhile; return when it finds no more.

    A cancellation while this waits skips the grace; it is held back until the tree is gone, and then passes.
    Returned are the processes that may not be signalled (another user's, after sudo): they are not waited for.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace_ms / 1000
    told: set[LiveProcess] = set()
    refused: set[LiveProcess] = set()
    alive: set[LiveProcess] = set()
    held_back: asyncio.CancelledError | None = None
    pause = FIRST_PAUSE
    while alive := _still_alive(alive, find, refused):
        for process in alive:
            if not _tell(process, told, kill=loop.time() >= deadline):
                refused.add(process)
        try:
            await asyncio.sleep(min(pause, max(deadline - loop.time(), FIRST_PAUSE)))
        except asyncio.CancelledError as cancelled:
            held_back = cancelled
            deadline = loop.time()
        pause = min(pause * 1.5, LONGEST_PAUSE)
    if held_back is not None:
        raise held_back
    return list(refused)


async def kill_marked(marker: str, grace_ms: int) -> list[LiveProcess]:
    """End every process that carries the marker, and what descends from it; see `end_tree`."""
    return await end_tree(lambda: find_tree(marker), grace_ms)


def _still_alive(
    known: set[LiveProcess], find: Callable[[], Iterable[LiveProcess]], refused: set[LiveProcess]
) -> set[LiveProcess]:
    """The known ones that live; only when there are none, a look for others.

    To look for others earlier would cost more and do harm: the `rm` of a trap that cleans up would be told to stop.
    """
    try:
        return {process for process in known - refused if is_alive(process)} or set(find()) - refused
    except OSError as error:
        if error.errno not in _OUT_OF_DESCRIPTORS or not known:
            raise
        return known  # cannot look just now


def _tell(process: LiveProcess, told: set[LiveProcess], *, kill: bool) -> bool:
    if kill:
        return send_signal(process, signal.SIGKILL)
    if process in told:
        return True
    told.add(process)
    # A stopped process takes TERM only when it goes on.
    return send_signal(process, signal.SIGTERM) and send_signal(process, signal.SIGCONT)
