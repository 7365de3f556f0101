"""Watching runs that other processes write: their events as they become durable.

The file system wakes us (watchfiles); where it gives no events, as on many network mounts, a look every `_POLL_MS`
does. Being woken proves nothing, so whoever wakes reads on from where it was, and reading is always right: an event is
there when its line is whole.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

from hooks.events.envelope import Event
from hooks.kernel.status import RunStatus, run_status
from hooks.runtime.reading import Folding, read_events
from hooks.storage.log_reader import LogReader
from hooks.storage.run_directory import RunDirectory, list_runs

_POLL_MS = 100
_STEP_MS = 5


class RunWatch:
    """One run as it is being written: `read_new` gives its events, `status` says what they have made of it so far."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._reader = LogReader(directory.log)
        self._folding = Folding(directory)
        self._seq = 0

    def read_new(self) -> Iterator[Event]:
        """The events that became durable since the last reading, each folded before it is given.

        Raises CorruptRunError at damage.
        """
        for event in self._reader.stream():
            if event.seq <= self._seq:
                self._refold(until=event.seq)
            self._folding.receive(event)
            self._seq = event.seq
            yield event
        if self._seq == 0:
            raise self._directory.no_events()

    def _refold(self, *, until: int) -> None:
        # The writer took its last group back (the disk was full) and wrote another in its place.
        self._folding = Folding(self._directory)
        for event in read_events(self._directory):
            if event.seq == until:
                return
            self._folding.receive(event)

    def status(self) -> RunStatus:
        """What the run is called now."""
        return run_status(self._folding.state, driver_is_alive=self._directory.driver() is not None)

    def wakeups(self) -> Iterator[None]:
        """Yields whenever there may be something new to read, and ends when nobody moves the run any more."""
        with closing(_changes(self._directory.path, recursive=False)) as changes:
            next(changes)
            while True:
                # Asked before the reading: what a driver wrote before it let go of the lock is then read after it.
                is_driven = self._directory.driver() is not None
                yield
                if not is_driven or self._folding.state.ended is not None:
                    return
                next(changes)


def watch_run(directory: RunDirectory) -> Iterator[Event]:
    """Every event of a run, from the first, as they become durable; ends when nobody moves the run any more."""
    watch = RunWatch(directory)
    for _ in watch.wakeups():
        yield from watch.read_new()


class RunsWatch:
    """Every run of a runs directory, also those that come later; only what is written from now on.

    A log is opened when it grows for the first time, so that a directory of thousands of finished runs costs a stat
    for each.
    """

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._readers: dict[Path, LogReader] = {}
        self._sizes = {run.log: _size(run.log) for run in list_runs(runs_dir)}
        self._begin = dict(self._sizes)

    def grown(self) -> list[RunDirectory]:
        """The runs whose log has changed since it was last asked."""
        runs = []
        for run in list_runs(self._runs_dir):
            size = _size(run.log)
            if size != self._sizes.get(run.log, 0):
                self._sizes[run.log] = size
                runs.append(run)
        return runs

    def read_new(self, run: RunDirectory) -> Iterator[Event]:
        """The events of `run` that became durable since the last reading. Raises CorruptRunError at damage."""
        reader = self._readers.setdefault(run.log, LogReader(run.log))
        begin = self._begin.get(run.log, 0)
        for event in reader.stream():
            if reader.position.offset > begin:
                yield event

    def wakeups(self) -> Iterator[None]:
        """Yields whenever some run may have grown; never ends."""
        self._runs_dir.mkdir(parents=True, exist_ok=True)
        with closing(_changes(self._runs_dir, recursive=True)) as changes:
            for _ in changes:
                yield


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _changes(directory: Path, *, recursive: bool) -> Generator[None]:
    """Yields once when it is ready, then when something below `directory` changed, and every `_POLL_MS` in any case."""
    import watchfiles

    yield
    try:
        for _ in watchfiles.watch(
            directory,
            watch_filter=None,
            debounce=2 * _STEP_MS,
            step=_STEP_MS,
            rust_timeout=_POLL_MS,
            yield_on_timeout=True,
            recursive=recursive,
            ignore_permission_denied=True,
        ):
            yield
    except (OSError, RuntimeError):
        # The system's limit of watches is used up, or this file system has none.
        while True:
            time.sleep(_POLL_MS / 1000)
            yield
