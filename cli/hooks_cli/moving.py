"""What commands that move runs share: they say how each run went, and end with the code of the runs.

Nothing here is stopped by a closed stdout: the runs are what matters, and their code is the command's.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

from hooks.errors import HooksError, Problem, RunLockedError
from hooks.runtime.driving import RunReport, drive
from hooks.runtime.meant import place_of_gate
from hooks.runtime.performers import missing_performers
from hooks.runtime.reading import RunView, read_run
from hooks.runtime.runs import OpenRun
from hooks.storage.inbox import has_requests
from hooks.storage.run_directory import RunDirectory
from hooks_cli.collecting import told_to_collector
from hooks_cli.deadline import Deadline
from hooks_cli.failures import (
    TimedOutError,
    as_hooks_error,
    die_by_signal,
    error_document,
    report_failure,
    warning_text,
    worst,
)
from hooks_cli.hosting import hosting_python
from hooks_cli.render.documents import now_ms, unreadable_document
from hooks_cli.render.gates import answers_text, gate_terms
from hooks_cli.render.progress import Progress
from hooks_cli.render.run_end import end_document, end_text
from hooks_cli.render.stopping import stopping_text
from hooks_cli.render.streams import emit_result, say

Move: TypeAlias = Callable[[RunDirectory], RunReport]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a command tells of the runs it moves, and how it ends."""

    schema: str
    as_json: bool
    deadline: Deadline
    accepted: frozenset[int] = frozenset()
    """Codes that count as success."""
    tells_idle: bool = True
    """Also of runs in which nothing happened; a cron job has no use for that."""
    tells_end: bool = True
    """On stderr, unless the person wants it quiet."""
    prints_output: bool = False
    """What the one run came to goes to stdout, as of `hooks run`."""

    def code(self, code: int) -> int:
        return 0 if code in self.accepted else code


def move(
    run: OpenRun,
    deadline: Deadline,
    *,
    quiet: bool,
    one_pass: bool = False,
    stays_at_gates: bool = False,
    otlp: bool = False,
) -> RunReport:
    """Drive `run`; unless `quiet`, say on stderr what becomes of its nodes. With `otlp` send its spans.

    What Python hooks, agents and executors print goes to stderr as well: stdout is for what the run comes to.
    """

    def on_signal(number: int) -> None:
        reason = "--timeout" if deadline.has_rung else signal.Signals(number).name
        say(stopping_text(reason, run.state, run.grace_ms))

    if stays_at_gates and not quiet:
        for wait in run.state.waits.values():
            say(f"  {place_of_gate(wait.created)}: waits for a person{gate_terms(wait.created)}")
            say(answers_text(run.run_id, wait.created))
    with hosting_python(), told_to_collector(run) if otlp else nullcontext():
        return drive(
            run,
            one_pass=one_pass,
            stays_at_gates=stays_at_gates,
            on_event=None if quiet else Progress(run.state),
            on_signal=on_signal,
        )


def tell_warning(problem: Problem) -> None:
    """Say on stderr what is allowed and hardly meant."""
    say(warning_text(problem))


def finish(report: RunReport, manner: Manner, facts: dict[str, Any] | None = None) -> int:
    """Say how the one run of a command went: its output, or the whole document, on stdout; its exit code.

    `facts` are what the command has to tell besides, in its document.
    """
    document = end_document(report.view, now_ms())
    if manner.as_json:
        emit_result({"schema": manner.schema, **document, **(facts or {})})
    else:
        _tell_end(report, document, with_output=True)
    return _end(report.signal, manner.code(report.status.exit_code), manner.deadline)


def _tell_end(report: RunReport, document: dict[str, Any], *, with_output: bool) -> None:
    if with_output and report.status.exit_code == 0:
        emit_result(document["output"])
    say(end_text(report.view))


def move_each(directories: Sequence[RunDirectory], go_on: Move, manner: Manner) -> int:
    """Move run after run, say how each went, and return the code of them all.

    With several, what cannot be moved is reported and the others go on; a signal ends it after the run it stopped.
    """
    documents: list[dict[str, Any]] = []
    stopped_by = None
    for directory in directories:
        size = _log_size(directory)
        try:
            report = go_on(directory)
        except TimedOutError:
            raise
        except Exception as error:  # noqa: BLE001 - the fault of one run must not keep the others from going on
            documents.append(_report_unmoved(directory, error, manner, alone=len(directories) == 1))
            continue
        document = end_document(report.view, now_ms())
        documents.append(document)
        if manner.tells_end and not manner.as_json and (manner.tells_idle or _log_size(directory) != size):
            _tell_end(report, document, with_output=manner.prints_output)
        stopped_by = report.signal
        if stopped_by is not None:
            break
    code = worst(manner.code(document["exit_code"]) for document in documents)
    if manner.as_json:
        emit_result({"schema": manner.schema, "exit_code": code, "runs": documents})
    return _end(stopped_by, code, manner.deadline)


def unless_idle(go_on: Move) -> Move:
    """`go_on`, for runs in which something is due that can be done here; others are only looked at, without taking
    their lock."""

    def look_first(directory: RunDirectory) -> RunReport:
        view = read_run(directory)
        is_others = bool(missing_performers(view.definition, view.state))
        return RunReport(view) if is_others or _is_idle(view) else go_on(directory)

    return look_first


def _is_idle(view: RunView) -> bool:
    """Over, or with nothing to do before a person has answered or time has passed."""
    if view.state.ended is not None:
        return True
    needs_a_person = set(view.status.reasons) <= {"waiting", "in_doubt"}
    return needs_a_person and view.holder is None and not has_requests(view.directory.inbox)


def _report_unmoved(directory: RunDirectory, error: Exception, manner: Manner, *, alone: bool) -> dict[str, Any]:
    failure: HooksError = as_hooks_error(error)
    if alone and failure.exit_code not in manner.accepted:
        raise error
    if manner.tells_idle or not isinstance(failure, RunLockedError):
        report_failure(error, as_json=manner.as_json)
    return unreadable_document(directory.path, failure, error_document(failure))


def _end(stopped_by: int | None, code: int, deadline: Deadline) -> int:
    """The exit code; does not return for a signal of others, which the command dies by."""
    if stopped_by is None:
        return code
    if not deadline.has_rung:
        die_by_signal(stopped_by)
    say(deadline.error().message)
    return TimedOutError.exit_code


def _log_size(directory: RunDirectory) -> int:
    try:
        return os.stat(directory.log).st_size
    except OSError:
        return 0
