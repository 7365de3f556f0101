"""What `run`, `tick` and `recover` share: they move runs, say how each went, and end with the code of the runs.

Nothing here is stopped by a closed stdout: the runs are what matters, and their code is the command's.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from hooks.errors import HooksError, Problem
from hooks.runtime.runs import OpenRun, RunReport, drive
from hooks.storage.run_directory import RunDirectory
from hooks_cli.failures import die_by_signal, error_document, report_failure, warning_text, worst
from hooks_cli.render.documents import unreadable_document
from hooks_cli.render.progress import Progress
from hooks_cli.render.run_end import end_document, end_text
from hooks_cli.render.stopping import stopping_text
from hooks_cli.render.streams import emit_result, say, stdout_kept_for_results


def move(run: OpenRun, *, quiet: bool, one_pass: bool = False) -> RunReport:
    """Drive `run`; unless `quiet`, say on stderr what becomes of its nodes.

    What Python hooks, agents and executors print goes to stderr as well: stdout is for what the run comes to.
    """

    def on_signal(number: int) -> None:
        say(stopping_text(signal.Signals(number).name, run.state, run.grace_ms))

    with stdout_kept_for_results():
        return drive(run, one_pass=one_pass, on_event=None if quiet else Progress(), on_signal=on_signal)


def tell_warning(problem: Problem) -> None:
    """Say on stderr what is allowed and hardly meant."""
    say(warning_text(problem))


def finish(report: RunReport, *, as_json: bool) -> int:
    """Say how the one run of `hooks run` went: its output, or the whole document, on stdout; its exit code."""
    code = report.status.exit_code
    document = _document(report)
    if as_json:
        emit_result({"schema": "hooks.run/1", **document})
    else:
        if code == 0:
            emit_result(document["output"])
        _say_end(report)
    if report.signal is not None:
        die_by_signal(report.signal)
    return code


def move_each(
    directories: Sequence[RunDirectory], go_on: Callable[[RunDirectory], RunReport], *, schema: str, as_json: bool
) -> int:
    """Move run after run, say how each went, and return the code of them all.

    With several, what cannot be moved is reported and the others go on; a signal ends it after the run it stopped.
    """
    documents: list[dict[str, Any]] = []
    stopped_by = None
    for directory in directories:
        try:
            report = go_on(directory)
        except HooksError as error:
            if len(directories) == 1:
                raise
            report_failure(error, as_json=as_json)
            documents.append(unreadable_document(directory.path, error, error_document(error)))
            continue
        documents.append(_document(report))
        if not as_json:
            _say_end(report)
        stopped_by = report.signal
        if stopped_by is not None:
            break
    code = worst(document["exit_code"] for document in documents)
    if as_json:
        emit_result({"schema": schema, "exit_code": code, "runs": documents})
    if stopped_by is not None:
        die_by_signal(stopped_by)
    return code


def _document(report: RunReport) -> dict[str, Any]:
    view = report.view
    output = view.output() if report.status.status == "succeeded" else None
    return end_document(report.status, view.state, view.directory.path, time.time_ns() // 1_000_000, output)


def _say_end(report: RunReport) -> None:
    say(end_text(report.status, report.view.state))
