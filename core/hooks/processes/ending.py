"""Ends processes: TERM, time to clean up, KILL, and back only when none is left.

Polled, not awaited by pidfd: the processes to wait for are a set that changes, most are nobody's children here, and
a poll needs no descriptor, of which there may be none left when things go wrong.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from hooks.processes.process_table import LiveProcess, is_alive, send_signal
from hooks.processes.shared_look import look

FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.05
_OUT_OF_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})


@dataclass(frozen=True, slots=True)
class Ending:
    """How it went. None of the processes is left, apart from `refused`: those that may not be signalled by us."""

    refused: tuple[LiveProcess, ...]
    cancelled: asyncio.CancelledError | None
    """A cancellation that came meanwhile and was held back; the caller must let it pass."""


Find: TypeAlias = Callable[[], Iterable[LiveProcess]]
OnKill: TypeAlias = Callable[[], None]


async def end_all(find: Find, grace_ms: int, *, on_kill: OnKill | None = None) -> Ending:
    """End all that `find` finds, also what appears meanwhile; return when it finds no more, twice in a row.

    `on_kill` is called once, just before the first KILL; it must not raise, or what it spoke of would live on.
    A cancellation while this waits skips the grace, and is held back.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace_ms / 1000
    told: set[LiveProcess] = set()
    refused: set[LiveProcess] = set()
    alive: set[LiveProcess] = set()
    cancelled: asyncio.CancelledError | None = None
    is_killing = found_none = False
    pause = FIRST_PAUSE
    while True:
        try:
            alive = _still_alive(alive - refused, find) - refused
        except OSError as error:
            if error.errno not in _OUT_OF_DESCRIPTORS:
                raise
            # Cannot look just now. That is no sign that they are gone: look again.
        else:
            if not alive and found_none:
                return Ending(tuple(refused), cancelled)
            # One that forks and ends while a look is being taken can hide its child from that look, not from the next.
            found_none = not alive
        if alive and not is_killing and loop.time() >= deadline:
            is_killing = True
            if on_kill is not None:
                on_kill()
        if is_killing:
            refused.update(process for process in alive if not send_signal(process, signal.SIGKILL))
        else:
            refused.update(_told_to_end(alive - told))
            told |= alive
        try:
            await asyncio.sleep(0 if found_none else min(pause, max(deadline - loop.time(), FIRST_PAUSE)))
        except asyncio.CancelledError as error:
            cancelled = error
            deadline = loop.time()
        pause = min(pause * 1.5, LONGEST_PAUSE)


async def end_tree(find: Find, grace_ms: int, *, on_kill: OnKill | None = None) -> tuple[LiveProcess, ...]:
    """As `end_all`, but a cancellation that came meanwhile passes at the end; the processes that were refused."""
    ending = await end_all(find, grace_ms, on_kill=on_kill)
    if ending.cancelled is not None:
        raise ending.cancelled
    return ending.refused


async def kill_marked(marker: str, grace_ms: int, *, on_kill: OnKill | None = None) -> tuple[LiveProcess, ...]:
    """End every process that carries the marker, and what descends from it.

    Returned are those that may not be signalled (another user's, after sudo): they live on.
    """
    return await end_tree(lambda: look().tree(marker), grace_ms, on_kill=on_kill)


def _still_alive(known: set[LiveProcess], find: Find) -> set[LiveProcess]:
    """The known ones that live; only when there are none, a look for others.

    To look for others earlier would cost more and do harm: the `rm` of a trap that cleans up would be told to stop.
    """
    return {process for process in known if is_alive(process)} or set(find())


def _told_to_end(processes: set[LiveProcess]) -> set[LiveProcess]:
    """Send TERM to all of them, each group in one stroke; returned are those that may not be signalled.

    Told one after another, a script could start its next command between the end of the last one and its own signal,
    and then wait for that command instead of cleaning up.
    """
    reached = {group for group in {process.group for process in processes} if _tell_group(group, processes)}
    return {process for process in processes if not _tell(process, has_term=process.group in reached)}


def _tell_group(group: int, processes: set[LiveProcess]) -> bool:
    if group == os.getpgrp():
        return False  # a command that ends the tree it runs in must live to say so
    # A group that has members keeps its number from being given away.
    if not any(is_alive(process) for process in processes if process.group == group):
        return False
    try:
        os.killpg(group, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _tell(process: LiveProcess, *, has_term: bool) -> bool:
    # A stopped process takes TERM only when it goes on. This also tells whether it may be signalled at all.
    return (has_term or send_signal(process, signal.SIGTERM)) and send_signal(process, signal.SIGCONT)
