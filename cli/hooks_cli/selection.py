"""Which runs the words of a command mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from hooks.errors import CorruptRunError, UsageError
from hooks.storage.log_end import seems_finished
from hooks.storage.run_directory import RunDirectory, find_run, list_runs
from hooks_cli.failures import report_failure, worst

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
