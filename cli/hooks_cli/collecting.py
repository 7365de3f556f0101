"""`--otlp` of what moves runs: spans sent to a collector while a run is driven."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeAlias

import typer

from hooks.runtime.masking import values_to_mask
from hooks.runtime.runs import OpenRun
from hooks.runtime.telling import Drain, LiveTelling
from hooks.telemetry.otlp import Collector, is_switched_off
from hooks_cli.render.streams import say
from hooks_cli.render.text import neutralise


def _with_collector(value: bool) -> bool:
    """A callback: nothing is begun that could then not be told, as far as this machine can say."""
    if value and not is_switched_off(os.environ):
        Collector().close()
    return value


Otlp: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--otlp", help="Send spans to the OTLP collector that the OTEL_* variables name.", callback=_with_collector
    ),
]


def drain_for(otlp: bool) -> Drain | None:
    """What the runs of a command share if they are told: how long they wait at their end."""
    return Drain() if otlp else None


@contextmanager
def told_to_collector(run: OpenRun, drain: Drain) -> Iterator[None]:
    """While this is entered, what ends in `run` is sent as spans; what could not be sent is said, and no more.

    Nothing is sent where OTEL_SDK_DISABLED wants that.
    """
    if is_switched_off(os.environ):
        yield
        return
    secrets = values_to_mask(run.definition, [], os.environ).values
    with LiveTelling(run.directory, secrets, drain, opened_at=0 if run.is_new else run.state.seq) as telling:
        yield
    if telling.failure is not None:
        say(f"warning: {neutralise(telling.failure)}")
