"""How a log ends, looked up from its end: to pass over finished runs among thousands without reading them.

Only a hint, since nothing before the last lines is checked: what moves a run or vouches for it reads the whole log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from hooks.events.envelope import BadLineError, Event, decode
from hooks.events.payloads import (
    HookDecided,
    LateOutcome,
    ReconcileResult,
    ResumeStarted,
    RunBlocked,
    RunCancelled,
    RunFailed,
    RunSucceeded,
)
from hooks.regular_files import open_regular
from hooks.storage.run_directory import RunDirectory

_WINDOW = 256 * 1024
_ENDINGS = (RunSucceeded, RunFailed, RunBlocked, RunCancelled)
_MAY_FOLLOW = (HookDecided, LateOutcome, ReconcileResult, ResumeStarted)
"""What may stand after the end of a run and does not begin it anew."""


def seems_finished(directory: RunDirectory) -> bool:
    """Whether the last lines say that the run is over; False whenever they do not say so plainly."""
    try:
        for event in _last_events(directory):
            if not isinstance(event.payload, _MAY_FOLLOW):
                return isinstance(event.payload, _ENDINGS)
    except (BadLineError, OSError):
        return False
    return False


def _last_events(directory: RunDirectory) -> Iterator[Event]:
    """The last events, backwards, as far as a window of the file holds them whole."""
    with open_regular(directory.log) as file:
        size = file.seek(0, os.SEEK_END)
        begin = max(0, size - _WINDOW)
        file.seek(begin)
        lines = file.read().split(b"\n")
    if lines.pop():
        return  # a torn last line
    for line in reversed(lines if begin == 0 else lines[1:]):
        yield decode(line).event
