"""Run directories: where the things of a run are, and how a person names one.

Making a run is in run_creation.py, opening one for its driver in run_opening.py.
"""

from __future__ import annotations

import difflib
import os
import re
from hashlib import sha256
from pathlib import Path

from hooks.errors import CorruptRunError, NotFoundError, StorageError
from hooks.events.envelope import Event
from hooks.events.payloads import RunCreated
from hooks.ids import RUN_ID, ActivityId, attempt_directory
from hooks.storage.blobs import BlobStore
from hooks.storage.durable_files import Durability, make_directories, read_bytes, storage_error
from hooks.storage.event_log import SUSPECT_MARKER
from hooks.storage.locks import LockHolder, probe
from hooks.storage.log_reader import LogReader

_SHORTEST_PREFIX = 4
_LAST = re.compile(r"last(?:~(?P<back>\d{1,6})|:(?P<workflow>.+))?\Z")
_MOST_NAMED = 10


class RunDirectory:
    """The paths of one run; nothing here looks whether they exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "events.jsonl"
        self.lock = path / "driver.lock"
        self.workflow = path / "workflow.json"
        self.snapshot = path / "snapshot.json"
        self.suspect_marker = path / SUSPECT_MARKER
        self.inbox = path / "inbox"
        self.blobs = path / "blobs"
        self.attempts = path / "attempts"

    @property
    def run_id(self) -> str:
        """The id the directory has by its name; the log has the last word."""
        return self.path.name

    def attempt(self, activity_id: ActivityId, attempt: int) -> Path:
        """The directory made for one attempt of an activity."""
        return self.attempts / attempt_directory(activity_id, attempt)

    def effect_input(self, activity_id: ActivityId, attempt: int) -> Path:
        """The sidecar an effect is executed from."""
        return self.attempt(activity_id, attempt) / "effect-input.json"

    def blob_store(self, durability: Durability = "strict") -> BlobStore:
        """The large values of this run; without a driver's lock only to resolve them."""
        return BlobStore(self.blobs, durability)

    def driver(self) -> LockHolder | None:
        """Who drives the run now."""
        return probe(self.lock)

    def first_event(self) -> Event | None:
        """The event that created the run, or None if the log does not even have that."""
        try:
            return next(LogReader(self.log).stream(), None)
        except (CorruptRunError, StorageError):
            return None

    def logged_run_id(self) -> str:
        """The id the run has by its log, whatever its directory is called now. Raises CorruptRunError."""
        reader = LogReader(self.log)
        next(reader.stream(), None)
        if reader.run_id is None:
            raise self.no_events()
        return reader.run_id

    def no_events(self) -> CorruptRunError:
        """The error of a log without an event: a run comes to be with its first ones, so they are lost."""
        return CorruptRunError("the log has no events", file=str(self.log), line=1, byte=0)

    def make_subdirectories(self, durability: Durability) -> None:
        """Make the directories that a run may lack: archives and git drop empty ones."""
        for directory in (self.inbox, self.blobs, self.attempts):
            make_directories(directory, durability)

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"


def read_workflow(directory: RunDirectory, created: RunCreated) -> bytes:
    """The bytes of workflow.json. Raises CorruptRunError unless they are those the run was created with."""
    try:
        data = read_bytes(directory.workflow)
    except FileNotFoundError as error:
        raise CorruptRunError("the workflow this run began with is missing", file=str(directory.workflow)) from error
    if sha256(data).hexdigest() != created.revision_id:
        raise CorruptRunError("this is not the workflow the run began with", file=str(directory.workflow))
    return data


def list_runs(runs_dir: Path) -> list[RunDirectory]:
    """All runs of a runs directory by name, damaged ones included; none if the directory does not exist."""
    return [RunDirectory(path) for path in sorted(_subdirectories(runs_dir)) if _is_run(path)]


def _subdirectories(runs_dir: Path) -> list[Path]:
    try:
        with os.scandir(runs_dir) as entries:
            return [runs_dir / entry.name for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise storage_error("read the directory", runs_dir, error) from error


def _is_run(path: Path) -> bool:
    """Whether this is a run, perhaps a damaged one. What starts with a dot is being made or thrown away."""
    if path.name.startswith("."):
        return False
    return any(os.path.exists(path / name) for name in ("events.jsonl", "workflow.json", "driver.lock"))


def find_run(runs_dir: Path, word: str) -> RunDirectory:
    """The run a person means: an id, a unique prefix of one (4 characters or more), `last`, `last~N` (N before the
    last), `last:WORKFLOW`, or a directory. Raises NotFoundError with the candidates.
    """
    if os.sep in word or word in (os.curdir, os.pardir):
        return _run_at(Path(word))
    if RUN_ID.match(word) and _is_run(runs_dir / word):
        return RunDirectory(runs_dir / word)
    if last := _LAST.match(word):
        return _last_run(runs_dir, word, int(last["back"] or 0), last["workflow"])
    names = [run.run_id for run in list_runs(runs_dir)]
    matches = [name for name in names if name.startswith(word)] if len(word) >= _SHORTEST_PREFIX else []
    if len(matches) == 1:
        return RunDirectory(runs_dir / matches[0])
    if matches:
        raise NotFoundError(
            f"{word!r} is the beginning of {len(matches)} runs: {_some(matches)}.", fix="Type more of it."
        )
    if word and _is_run(Path(word).absolute()):
        return RunDirectory(Path(word).absolute())
    raise _unknown(runs_dir, word, names)


def _run_at(path: Path) -> RunDirectory:
    resolved = path.resolve()
    if not _is_run(resolved):
        raise NotFoundError(f"{path} is not a run directory.", fix="`hooks ls` lists the runs.")
    return RunDirectory(resolved)


def _last_run(runs_dir: Path, word: str, back: int, workflow_id: str | None) -> RunDirectory:
    runs = sorted(
        (_created_ms(run, first), run.run_id)
        for run in list_runs(runs_dir)
        if is_of_workflow(first := run.first_event(), workflow_id)
    )
    if back >= len(runs):
        what = f"runs of workflow {workflow_id!r}" if workflow_id else "runs"
        raise NotFoundError(
            f"There is no run {word!r}: {runs_dir} has {len(runs)} {what}.", fix="`hooks ls` lists the runs."
        )
    return RunDirectory(runs_dir / runs[-1 - back][1])


def _created_ms(run: RunDirectory, first: Event | None) -> int:
    return first.timestamp if first else run.path.stat().st_mtime_ns // 1_000_000


def is_of_workflow(first: Event | None, workflow_id: str | None) -> bool:
    """Whether a run that begins with this event is of that workflow; any is, where none is named."""
    if workflow_id is None:
        return True
    return first is not None and isinstance(first.payload, RunCreated) and first.payload.workflow_id == workflow_id


def _unknown(runs_dir: Path, word: str, names: list[str]) -> NotFoundError:
    if word.startswith("last"):
        fix = "Write `last`, `last~N` (N before the last) or `last:WORKFLOW`."
    elif word and os.path.isdir(word):
        fix = f"The directory {word} here is no run directory: it has no events.jsonl."
    elif len(word) < _SHORTEST_PREFIX:
        fix = f"A prefix needs at least {_SHORTEST_PREFIX} characters; `hooks ls` lists the runs."
    elif close := difflib.get_close_matches(word, names, n=3):
        fix = f"Did you mean {' or '.join(close)}?"
    else:
        fix = "`hooks ls` lists the runs."
    return NotFoundError(f"There is no run {word!r} in {runs_dir}.", fix=fix)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
