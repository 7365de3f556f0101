"""`hooks export RUN…`: runs to give away, as archives without their secrets or as spans."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated

import typer

from hooks.errors import UsageError
from hooks_cli.archives import write_archives
from hooks_cli.options import All, AsJson, RunsDir, RunWords, Since, runs_directory
from hooks_cli.output_file import STDOUT
from hooks_cli.render.streams import emit_json
from hooks_cli.selection import is_young, oldest_ms, select
from hooks_cli.tidy_end import tidy_end
from hooks_cli.traces import Wish, collector_is_named, follow_trace, to_collector, to_file, write_traces


@tidy_end()
def export(
    runs: RunWords = None,
    every: All = False,
    since: Since = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="- is stdout. [default: RUN-ID.tar.gz]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    mask: Annotated[
        list[str] | None,
        typer.Option("--mask", metavar="NAME", help="Also mask the value of this variable; may be repeated."),
    ] = None,
    otlp: Annotated[bool, typer.Option("--otlp", help="Spans instead of archives: OpenTelemetry.")] = False,
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", metavar="URL", help="Send spans there. [default: what OTEL_* name, else stdout]"),
    ] = None,
    content: Annotated[bool, typer.Option("--content", help="Spans with prompts and answers.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Spans as they end, of a run that goes on.")] = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Write runs as archives that can be unpacked, read, verified and replayed anywhere; with --otlp, as spans.

    What leaves is searched for the values of the secrets that the workflow names, of the keys of its agents, and of
    --mask, as far as they are set here. A live run is written as far as it has come.
    """
    if not otlp and (endpoint is not None or content or follow):
        option = "--endpoint" if endpoint is not None else "--content" if content else "--follow"
        raise UsageError(f"{option} is for spans.", fix=f"hooks export --otlp {option} …")
    if output == "":
        raise UsageError("-o '': this is no name of a file.", fix="Name a file, or leave `-o` out.")
    meant = partial(is_young, oldest=oldest_ms(since, every=every))
    directories = select(runs_directory(runs_dir), runs, every=every, meant=meant)
    if not otlp:
        archives, code = write_archives(directories, output, force=force, also=mask or [], as_json=as_json)
        if as_json:
            emit_json({"schema": "hooks.export/1", "exit_code": code, "archives": archives})
        return code
    if output is not None and endpoint is not None:
        raise UsageError("-o writes spans and --endpoint sends them.", fix="Leave one of them out.")
    if follow and len(directories) != 1:
        raise UsageError(f"--follow follows one run, and {len(directories)} are meant.", fix="Name one.")
    wish = Wish(directories, also=mask or [], content=content)
    if output is None and (endpoint is not None or collector_is_named(os.environ)):
        destination = to_collector(endpoint)
    else:
        output = output or STDOUT
        if output == STDOUT and as_json:
            raise UsageError("stdout cannot be the spans and the --json document.", fix="Name a file with `-o`.")
        destination = to_file(output, force=force)
    with destination as (sink, place):
        traces, code = ([follow_trace(wish, sink)], 0) if follow else write_traces(wish, sink, as_json=as_json)
    if as_json:
        emit_json({"schema": "hooks.export-otlp/1", "exit_code": code, "to": place, "traces": traces})
    return code
