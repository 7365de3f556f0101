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
from hooks_cli.failures import ACCEPTABLE


def _said_before(name: str) -> Any:
    """A callback for an option that may stand before the command as well."""

    def fall_back(context: typer.Context, value: Any) -> Any:
        return value or getattr(context.obj, name, value)

    return fall_back


def _text(name: str) -> Any:
    """A callback for text that goes into the log, which is UTF-8."""

    def require_utf8(value: str | None) -> str | None:
        require_text(name, value or "")
        return value

    return require_utf8


def require_text(name: str, value: str) -> None:
    """Raise UsageError naming the option whose value the log, which is UTF-8, could not keep."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name} {os.fsencode(value)!r} is not UTF-8; it is to be kept in the log.") from None


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
_NODE = "A node, node[i], loop.n/node, or an activity id."
NodeWord: TypeAlias = Annotated[str, typer.Argument(metavar="NODE", help=_NODE)]
OptionalNodeWord: TypeAlias = Annotated[str | None, typer.Argument(metavar="[NODE]", help=_NODE)]
By: TypeAlias = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who says so. [default: the user of the system]", callback=_text("--by")),
]
Comment: TypeAlias = Annotated[
    str,
    typer.Option(
        "--comment",
        metavar="T",
        help="Kept with the answer; the next round of a loop may read it.",
        callback=_text("--comment"),
    ),
]
Reason: TypeAlias = Annotated[
    str | None, typer.Option("--reason", metavar="T", help="Kept in the log.", callback=_text("--reason"))
]
Digest: TypeAlias = Annotated[
    str | None,
    typer.Option("--digest", metavar="D", help="Only if the gate asks about exactly this; its beginning is enough."),
]
MoreHooks: TypeAlias = Annotated[
    list[Path] | None, typer.Option("--hooks", metavar="F", help="More hooks, from a file; repeatable.")
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, metavar="N", help="Steps at once. [default: that of the workflow, else 4]"),
]
StayAtGates: TypeAlias = Annotated[
    bool, typer.Option("--wait", help="Stay while gates are open, until they are answered.")
]
Timeout: TypeAlias = Annotated[
    str | None,
    typer.Option("--timeout", metavar="D", help="Give up after this time with exit code 124; the run stays unharmed."),
]
Accept: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--accept", metavar="LIST", help=f"Exit 0 also for these, separated by commas: {', '.join(ACCEPTABLE)}."
    ),
]
RequestTimeout: TypeAlias = Annotated[
    str,
    typer.Option("--timeout", metavar="D", help="How long to wait for the run's driver; then exit code 8: queued."),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Since: TypeAlias = Annotated[
    str | None, typer.Option("--since", metavar="D", help="With --all: only runs of the last 2h, 30d, …")
]
All: TypeAlias = Annotated[bool, typer.Option("--all", help="The runs of the runs dir, as said above.")]


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
    return None if text is None else required_duration_ms(option, text)


def required_duration_ms(option: str, text: str) -> int:
    """The milliseconds that `text` names. Raises UsageError naming the option."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}", fix="Write it like 90s, 15m or 2h.") from error


def accepted_codes(text: str | None) -> frozenset[int]:
    """The exit codes that `--accept` turns into 0. Raises UsageError."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    unknown = [word for word in words if word not in ACCEPTABLE]
    if unknown:
        raise UsageError(f"--accept {unknown[0]!r} is none of {', '.join(ACCEPTABLE)}.", fix="--accept waiting,busy")
    return frozenset(ACCEPTABLE[word] for word in words)


def key_values(option: str, words: Sequence[str]) -> dict[str, str]:
    """The pairs of a repeated `k=v` option, to be kept in the log. Raises UsageError."""
    pairs = {}
    for word in words:
        require_text(option, word)
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {word!r} is not of the form key=value.", fix=f"{option} {key or 'key'}=value")
        pairs[key] = value
    return pairs
