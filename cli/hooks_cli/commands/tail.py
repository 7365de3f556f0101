"""`hooks tail [RUN]`: events as they become durable."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, TypeVar

import orjson
import typer

from hooks.errors import CorruptRunError, HooksError, UsageError
from hooks.events.envelope import Event
from hooks.events.payloads import EVENT_TYPES
from hooks.runtime.node_names import event_place, means, name_in_id
from hooks.runtime.node_words import require_node
from hooks.runtime.reading import read_events, read_run
from hooks.runtime.watching import RunsWatch, RunWatch
from hooks.storage.run_directory import RunDirectory, find_run, list_runs
from hooks_cli.failures import report_failure, worst
from hooks_cli.options import RUN_WORDS, AsJson, RunsDir, runs_directory
from hooks_cli.render.documents import event_document
from hooks_cli.render.event_line import event_line
from hooks_cli.render.streams import emit_bytes, emit_json

_Item = TypeVar("_Item")


def tail(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help=f"{RUN_WORDS} Without it: all runs.")] = None,
    count: Annotated[int | None, typer.Option("--lines", "-n", min=0, metavar="N", help="Only the last N.")] = None,
    no_follow: Annotated[bool, typer.Option("--no-follow", help="Print what is there and stop.")] = False,
    begin: Annotated[int, typer.Option("--from", min=1, metavar="SEQ", help="Begin with this event.")] = 1,
    type_glob: Annotated[str, typer.Option("--type", metavar="GLOB", help="Only these types, e.g. 'node*'.")] = "*",
    node: Annotated[
        str | None, typer.Option("--node", metavar="N", help="Only this node, in all rounds and items.")
    ] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object a line.")] = False,
    until: Annotated[str | None, typer.Option("--for", hidden=True)] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Print events, and follow them as they happen.

    With RUN it ends with the run's exit code once nobody moves the run any more. Without, it follows every run of the
    runs dir, also those that come later, until it is interrupted.
    """
    if until is not None:
        raise UsageError("--for is not supported yet.", fix="`hooks tail --help` shows what is.")
    if as_json and run is None and not no_follow:
        raise UsageError("--json of an endless stream makes no document.", fix="Use --jsonl, or --no-follow.")
    if not any(fnmatchcase(type_, type_glob) for type_ in EVENT_TYPES):
        raise UsageError(f"No event type matches {type_glob!r}.", fix=_similar_types(type_glob))
    wanted = _Wanted(begin, type_glob, None if node is None else name_in_id(node))
    directory = runs_directory(runs_dir)
    if run is not None and wanted.node is not None:
        require_node(read_run(find_run(directory, run)).state, wanted.node)
    screen = _Screen(jsonl=jsonl, as_json=as_json, several=run is None)
    if run is not None:
        code = _tail_run(find_run(directory, run), wanted, count, screen, follow=not no_follow)
    elif no_follow:
        code = _print_all(directory, wanted, count, screen)
    else:
        code = _follow_all(directory, wanted, count, screen)
    screen.close()
    return code


def _similar_types(glob: str) -> str:
    similar = get_close_matches(glob.replace("*", ""), EVENT_TYPES, n=1, cutoff=0.4)
    return f"Did you mean `{similar[0]}`?" if similar else "Write it like 'node*', 'effect*' or runFailed."


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which events are shown."""

    begin: int
    type_glob: str
    node: str | None

    def __call__(self, event: Event) -> bool:
        return (
            event.seq >= self.begin
            and (self.type_glob == "*" or fnmatchcase(event.payload.type, self.type_glob))
            and (self.node is None or means(self.node, event_place(event.payload)))
        )


class _Screen:
    """Where events go: lines of text, lines of JSON, or one document at the end."""

    def __init__(self, *, jsonl: bool, as_json: bool, several: bool) -> None:
        self._several = several
        self._collected: list[dict[str, Any]] | None = [] if as_json else None
        self._line: Callable[[str, Event], bytes] = self._json_line if jsonl else self._text_line

    def show(self, run_id: str, events: Iterable[Event]) -> None:
        for event in events:
            if self._collected is None:
                emit_bytes(self._line(run_id, event))
            else:
                self._collected.append(event_document(run_id, event))

    def close(self) -> None:
        if self._collected is not None:
            emit_json({"schema": "hooks.tail/1", "events": self._collected})

    def is_abandoned(self) -> bool:
        """Whether the reader of a pipe has gone, which a quiet run would otherwise not let us notice."""
        poll = select.poll()
        poll.register(1, 0)
        return any(state & select.POLLERR for _, state in poll.poll(0))

    def _json_line(self, run_id: str, event: Event) -> bytes:
        return orjson.dumps(event_document(run_id, event), option=orjson.OPT_APPEND_NEWLINE)

    def _text_line(self, run_id: str, event: Event) -> bytes:
        line = event_line(event, run_id=run_id if self._several else None)
        return f"{line}\n".encode("utf-8", "backslashreplace")


def _tail_run(run: RunDirectory, wanted: _Wanted, count: int | None, screen: _Screen, *, follow: bool) -> int:
    watch = RunWatch(run)
    screen.show(run.run_id, _last(count, filter(wanted, watch.read_new())))
    if not follow:
        return 0
    for _ in watch.wakeups():
        screen.show(run.run_id, filter(wanted, watch.read_new()))
        if screen.is_abandoned():
            return 0
    return watch.status().exit_code


def _print_all(runs_dir: Path, wanted: _Wanted, count: int | None, screen: _Screen) -> int:
    """What is there of all runs, in the order of time. A damaged run is told and does not hide the others."""
    events: list[tuple[int, str, Event]] = []
    codes = [0]
    for run in list_runs(runs_dir):
        try:
            events += ((event.timestamp, run.run_id, event) for event in read_events(run) if wanted(event))
        except HooksError as error:
            codes.append(report_failure(error, as_json=False))
    events.sort(key=lambda entry: entry[:2])
    for _, run_id, event in _last(count, events):
        screen.show(run_id, [event])
    return worst(codes)


def _follow_all(runs_dir: Path, wanted: _Wanted, count: int | None, screen: _Screen) -> int:
    watch = RunsWatch(runs_dir)
    if count is not None:
        _print_all(runs_dir, wanted, count, screen)
    for _ in watch.wakeups():
        for run in watch.grown():
            try:
                screen.show(run.run_id, filter(wanted, watch.read_new(run)))
            except CorruptRunError as error:
                report_failure(error, as_json=False)
        if screen.is_abandoned():
            return 0
    return 0


def _last(count: int | None, items: Iterable[_Item]) -> Iterable[_Item]:
    return items if count is None else deque(items, maxlen=count)
