"""A run told as spans while it is read: after the fact, as it goes on, or from the process that drives it.

There is one way: the log is read on, and what has ended is handed on. A driver has a thread do that beside it, so that
neither the reading nor a collector that does not answer can hold up the run or change what becomes of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Self

from hooks.errors import HooksError, message_of
from hooks.events.envelope import Event
from hooks.runtime.reading import definition_of, read_events
from hooks.secrets import Masker
from hooks.storage.log_reader import LogReader
from hooks.storage.run_directory import RunDirectory
from hooks.telemetry.builder import SpanBuilder
from hooks.telemetry.otlp import Collector, SpanSink
from hooks.telemetry.spans import Span

_LOOK_S = 0.2
"""How often the log of a driver is looked at."""
_DRAIN_S = 5.0
"""How long a driver that is done waits for its spans to be sent."""
_MOST_UNSENT = 20_000
"""How many spans are kept for a collector that is not there."""


class RunTelling:
    """The spans of one run, from its events in the order they are read."""

    def __init__(self, directory: RunDirectory, *, secrets: Mapping[str, str], content: bool = False) -> None:
        """`secrets`, by name, are masked in everything that is told; `content` has prompts and answers told."""
        self._directory = directory
        self._mask: Callable[[str], str] = Masker(secrets).mask if secrets else str
        self._content = content
        self._builder: SpanBuilder | None = None
        self._seq = 0

    def spans(self, events: Iterable[Event], *, after: int = 0) -> Iterator[Span]:
        """What ends with `events`, which follow those before; of those up to seq `after` nothing is told."""
        for event in events:
            if event.seq <= self._seq:
                self._begin_again(until=event.seq)
            ended = self._receive(event)
            if event.seq > after:
                yield from ended

    def _receive(self, event: Event) -> list[Span]:
        if self._builder is None:
            self._builder = SpanBuilder(
                self._directory.logged_run_id(),
                definition_of(self._directory, event),
                resolve=self._directory.blob_store().resolve,
                content=self._content,
                mask=self._mask,
            )
        self._seq = event.seq
        return self._builder.receive(event)

    def _begin_again(self, *, until: int) -> None:
        # The writer took its last group back (the disk was full) and wrote another in its place.
        self._builder, self._seq = None, 0
        for event in read_events(self._directory):
            if event.seq == until:
                return
            self._receive(event)


class LiveTelling:
    """Sends what ends while a run is driven in this process; entered before, left after.

    Nothing it meets reaches the driver: at the end `failure` says what was not sent, and why.
    """

    def __init__(self, directory: RunDirectory, secrets: Mapping[str, str], *, after: int) -> None:
        """Spans that ended with event `after` or before are another driver's to send."""
        self._directory = directory
        self._after = after
        self._telling = RunTelling(directory, secrets=secrets)
        self._reader = LogReader(directory.log)
        self._collector = Collector()
        self._unsent: list[Span] = []
        self._dropped = 0
        self._reason: str | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="telemetry", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join(_DRAIN_S)
        if self._thread.is_alive():
            self._collector.close()

    @property
    def failure(self) -> str | None:
        """What to say of spans that were not sent; None if all were."""
        unsent = len(self._unsent) + self._dropped
        if not unsent and self._reason is None:
            return None
        reason = self._reason or self._collector.trouble or "the collector takes too long"
        return (
            f"telemetry: {unsent} spans were not sent ({reason}); "
            f"`hooks export {self._directory.run_id} --otlp` sends them"
        )

    def _tell(self) -> None:
        try:
            is_last = False
            while not is_last:
                # Asked before the reading: what was written before the end is then read after it.
                is_last = self._is_over.wait(_LOOK_S)
                self._unsent += self._telling.spans(self._reader.stream(), after=self._after)
                self._send(self._collector)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has nothing to do with it
            self._reason = message_of(error)

    def _send(self, sink: SpanSink) -> None:
        if not self._unsent:
            return
        try:
            sink.send(self._unsent)
        except HooksError as error:
            self._reason = error.message
            excess = max(0, len(self._unsent) - _MOST_UNSENT)
            self._dropped += excess
            del self._unsent[:excess]
        else:
            self._reason = None
            self._unsent.clear()
