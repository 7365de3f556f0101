"""Which runs the words of a command mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from hooks.errors import CorruptRunError, UsageError
from hooks.storage.log_end import seems_finished
from hooks.storage.run_directory import RunDirectory, find_run, list_runs
from hooks_cli.failures import report_failure, worst
from hooks_cli.options import duration_ms
from hooks_cli.render.documents import now_ms

_Result = TypeVar("_Result")


def select(
    runs_dir: Path, words: Sequence[str] | None, *, every: bool, meant: Callable[[RunDirectory], bool]
) -> list[RunDirectory]:
    """The runs that `words` name, each once; with `every` (--all) those of the runs dir that are `meant`.

    All words are looked up before anything is done to any run. Raises NotFoundError; UsageError for neither or both.
    """
    if every and words:
        raise UsageError("--all and RUN exclude each other.", fix="Leave one of them out.")
    if every:
        return [run for run in list_runs(runs_dir) if meant(run)]
    if not words:
        raise UsageError("No run is named.", fix="Name one (`last` is the newest), or say --all.")
    return list({run.path: run for run in (find_run(runs_dir, word) for word in words)}.values())


def may_be_unfinished(directory: RunDirectory) -> bool:
    """Whether there may be something left to do: a look at the end of the log passes over what is plainly over."""
    return not seems_finished(directory)


def any_run(_: RunDirectory) -> bool:
    return True


def oldest_ms(since: str | None, *, every: bool) -> int | None:
    """When the first of the runs that --since means may have begun (ms). Raises UsageError without --all."""
    since_ms = duration_ms("--since", since)
    if since_ms is None:
        return None
    if not every:
        raise UsageError("--since chooses among all runs.", fix=f"Say `--all --since {since}`.")
    return now_ms() - since_ms


def is_young(directory: RunDirectory, *, oldest: int | None) -> bool:
    """Whether a run has begun no earlier than `oldest` (ms), or is too damaged to say."""
    first = None if oldest is None else directory.first_event()
    return first is None or oldest is None or first.timestamp >= oldest


def one_by_one(
    directories: Sequence[RunDirectory], work: Callable[[RunDirectory], _Result], *, as_json: bool
) -> tuple[list[_Result], int]:
    """What `work` comes to for each run, and the exit code of all.

    Of several, one that is damaged, or that this cannot be done with, is reported, and the others are done.
    """
    results, codes = [], [0]
    for directory in directories:
        try:
            results.append(work(directory))
        except (CorruptRunError, UsageError) as error:
            if len(directories) == 1:
                raise
            codes.append(report_failure(error, as_json=as_json))
    return results, worst(codes)
