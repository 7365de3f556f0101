"""Runs told as spans: to a collector or into a file, whole or as they go on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from hooks.errors import UsageError
from hooks.runtime.masking import values_to_mask
from hooks.runtime.reading import definition_in, read_events
from hooks.runtime.telling import RunTelling
from hooks.runtime.watching import RunWatch
from hooks.storage.run_directory import RunDirectory
from hooks.telemetry.otlp import ENDPOINTS, Collector, LinesOfJson, SpanSink, is_switched_off
from hooks.telemetry.spans import Span, trace_id
from hooks_cli.archives import tell_unsought
from hooks_cli.output_file import STDOUT, output_file
from hooks_cli.render.documents import path_text
from hooks_cli.render.streams import say
from hooks_cli.selection import one_by_one

Destination: TypeAlias = AbstractContextManager[tuple[SpanSink, str]]
_AT_ONCE = 2_000
"""How many spans are in memory of a long run that is over."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Which runs are to be told, and how."""

    directories: Sequence[RunDirectory]
    also: Sequence[str]
    content: bool

    def telling(self, directory: RunDirectory) -> RunTelling:
        sought = values_to_mask(definition_in(directory), self.also, os.environ)
        tell_unsought(sought)
        return RunTelling(directory, secrets=sought.values, content=self.content)


def collector_is_named(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in ENDPOINTS)


@contextmanager
def to_collector(endpoint: str | None) -> Iterator[tuple[SpanSink, str]]:
    """A collector and where it is. Raises UsageError."""
    if is_switched_off(os.environ):
        raise UsageError(
            "OTEL_SDK_DISABLED is set: nothing is sent.", fix="Unset it for this command, or use `-o FILE`."
        )
    collector = Collector(endpoint)
    try:
        yield collector, collector.endpoint
    finally:
        collector.close()


@contextmanager
def to_file(name: str, *, force: bool) -> Iterator[tuple[SpanSink, str]]:
    """A file of lines, and its name."""
    with output_file(name, force=force) as file:
        yield LinesOfJson(file), STDOUT if name == STDOUT else path_text(Path(name).absolute())


def write_traces(wish: Wish, sink: SpanSink, *, as_json: bool) -> tuple[list[dict[str, Any]], int]:
    """Hand the spans of each run to `sink` and say how many; what a program wants to know, and the exit code."""

    def write(directory: RunDirectory) -> dict[str, Any]:
        count, spans = 0, wish.telling(directory).spans(read_events(directory))
        while some := list(islice(spans, _AT_ONCE)):
            sink.send(some)
            count += len(some)
        return _told(directory, count)

    return one_by_one(wish.directories, write, as_json=as_json)


def follow_trace(wish: Wish, sink: SpanSink) -> dict[str, Any]:
    """The same of one run while it goes on, each span when it ends; until nobody moves the run any more."""
    (directory,) = wish.directories
    watch, telling, count = RunWatch(directory), wish.telling(directory), 0
    for _ in watch.wakeups():
        ended: list[Span] = list(telling.spans(watch.read_new()))
        if ended:
            sink.send(ended)
            count += len(ended)
    return _told(directory, count)


def _told(directory: RunDirectory, count: int) -> dict[str, Any]:
    run_id = directory.logged_run_id()
    say(f"{run_id}: {count} spans, trace {trace_id(run_id)}")
    return {"run_id": run_id, "spans": count, "trace_id": trace_id(run_id)}
