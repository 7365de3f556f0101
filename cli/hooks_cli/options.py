"""The options that several commands share, and what their words mean."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from hooks.definition.config import load_config, resolve_runs_dir
from hooks.definition.durations import parse_duration
from hooks.errors import NotFoundError, UsageError


def _said_before(name: str) -> Any:
    """A callback for an option that may stand before the command as well."""

    def fall_back(context: typer.Context, value: Any) -> Any:
        return value or getattr(context.obj, name, value)

    return fall_back


RunsDir: TypeAlias = Annotated[
    Path | None,
    typer.Option("--runs-dir", help="Where the runs are.", metavar="DIR", callback=_said_before("runs_dir")),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="One JSON document instead of text.", callback=_said_before("as_json"))
]
RUN_WORDS = "Id, unique prefix (4 characters or more), last, last~N, last:WORKFLOW, or a directory."
RunWord: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help=RUN_WORDS)]
RunWords: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="RUN…", help=RUN_WORDS)]
All: TypeAlias = Annotated[bool, typer.Option("--all", help="Every run of the runs dir that is meant.")]


def runs_directory(flag: Path | None) -> Path:
    """The runs dir: flag, environment, project, user, default. Raises NotFoundError for a flag that names none.

    One that nobody named, or that an environment names for every day, may not be there yet: it has no runs.
    """
    if flag is not None and not flag.is_dir():
        raise NotFoundError(f"There is no directory {flag}.", fix="Correct `--runs-dir`; `hooks run` makes it.")
    start = Path.cwd()
    return resolve_runs_dir(flag, os.environ, start, load_config(start, os.environ))


def duration_ms(option: str, text: str | None) -> int | None:
    """The milliseconds that `text` names. Raises UsageError naming the option."""
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}", fix="Write it like 90s, 15m or 2h.") from error


def key_values(option: str, words: Sequence[str]) -> dict[str, str]:
    """The pairs of a repeated `k=v` option. Raises UsageError."""
    pairs = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {word!r} is not of the form key=value.", fix=f"{option} {key or 'key'}=value")
        pairs[key] = value
    return pairs
