"""A run as its log has it, for assertions."""

from __future__ import annotations

from typing import TypeVar

from hooks.events.envelope import Event
from hooks.events.payloads import Payload
from hooks.runtime.reading import RunView, read_events, read_run
from hooks.storage.run_directory import RunDirectory

P = TypeVar("P", bound=Payload)


class Recorded:
    """The log of a run, read anew at each question."""

    def __init__(self, directory: RunDirectory) -> None:
        self.directory = directory

    @property
    def events(self) -> list[Event]:
        return list(read_events(self.directory))

    @property
    def types(self) -> list[str]:
        """The types of the events, in order: runCreated, runStarted, …"""
        return [event.payload.type for event in self.events]

    def all(self, payload_type: type[P]) -> list[P]:
        """The payloads of that type, in order."""
        return [event.payload for event in self.events if isinstance(event.payload, payload_type)]

    def only(self, payload_type: type[P]) -> P:
        """The one payload of that type. Raises AssertionError where there is none, or several."""
        found = self.all(payload_type)
        assert len(found) == 1, f"{len(found)} events are {payload_type.__name__}"
        return found[0]

    def view(self) -> RunView:
        """The run folded: its state, definition, status."""
        return read_run(self.directory)
