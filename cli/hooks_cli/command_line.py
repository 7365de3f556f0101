"""The command line proper: finds the command, runs it, and turns whatever happens into an exit code.

`--runs-dir` and `--json` may stand before or after the command; `Settings` holds what stood before it.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hooks import __version__
from hooks.errors import HooksError, UsageError
from hooks_cli.commands import ALIASES, COMMANDS, NOT_SUPPORTED_YET
from hooks_cli.failures import EXIT_CODES, die_by_signal, leave, report_failure
from hooks_cli.render.streams import abandon_stdout, emit, emit_json, say


@dataclass(frozen=True, slots=True)
class Settings:
    """What was said before the command."""

    runs_dir: Path | None
    as_json: bool


def main(words: Sequence[str]) -> None:
    """Run the command that `words` ask for and exit with its code."""
    try:
        leave(_run(words))
    except BrokenPipeError:
        # Only what reads lets this pass (render/streams.py): the reader has seen enough.
        abandon_stdout()
        leave(0)
    except KeyboardInterrupt:
        die_by_signal(signal.SIGINT)
    except Exception as error:  # noqa: BLE001 - the last line: what nobody foresaw becomes exit 70
        leave(report_failure(error, as_json=_wants_json(words)))


def _run(words: Sequence[str]) -> int:
    try:
        command = typer.main.get_command(_app)
        if not words:
            with command.make_context("hooks", [], resilient_parsing=True) as context:
                say(context.get_help())
            return UsageError.exit_code
        with command.make_context("hooks", list(words)) as context:
            code = command.invoke(context)
    except typer.Exit as exit_:
        return exit_.exit_code
    except typer.TyperException as error:
        raise _usage_error(error) from error
    return code if isinstance(code, int) else 0


def _wants_json(words: Sequence[str]) -> bool:
    """Whether errors are to be JSON; asked of the bare words, because the error may be that they make no sense."""
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options or "--jsonl" in options


class _Commands(TyperGroup):
    """The commands of the table, each loaded when it is used."""

    def list_commands(self, _: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: Any, name: str) -> Any:
        name = ALIASES.get(name, name)
        if name in COMMANDS:
            return _load(name)
        if name in NOT_SUPPORTED_YET:
            raise UsageError(f"`hooks {name}` is not supported yet.", fix="`hooks --help` lists what is.")
        raise UsageError(f"There is no command `{name}`.", fix=_did_you_mean(name, COMMANDS) or "See `hooks --help`.")

    def format_commands(self, _: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])


_app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@_app.callback(invoke_without_command=True)
def hooks(
    context: typer.Context,
    runs_dir: Annotated[Path | None, typer.Option("--runs-dir", help="Where the runs are.", metavar="DIR")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead of text.")] = False,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    """Run agent workflows durably, with nothing but files."""
    if version and as_json:
        emit_json({"schema": "hooks.version/1", "version": __version__})
    elif version:
        emit(f"hooks {__version__}\n")
    elif context.invoked_subcommand is None:
        raise UsageError("No command is named.", fix="`hooks --help` lists them.")
    if version:
        raise typer.Exit
    context.obj = Settings(runs_dir, as_json)


def _load(name: str) -> Any:
    function = getattr(import_module(f"hooks_cli.commands.{name}"), name)
    if isinstance(function, typer.Typer):
        return typer.main.get_command(function)  # a word with words of its own
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    single.command(name, context_settings={"help_option_names": ["-h", "--help"]})(function)
    return typer.main.get_command(single)


def _usage_error(error: Exception) -> HooksError:
    """What the parser had to say, in our words."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "hooks"
    help_fix = f"`{path} --help` shows how it is used."
    if (option := getattr(error, "option_name", None)) and hasattr(error, "possibilities"):
        known = [name for parameter in context.command.params for name in parameter.opts] if context else []
        return UsageError(f"`{path}` has no option `{option}`.", fix=_did_you_mean(option, known) or help_fix)
    return UsageError(error.format_message() if isinstance(error, typer.TyperException) else str(error), fix=help_fix)


def _did_you_mean(word: str, known: Any) -> str | None:
    matches = get_close_matches(word, list(known), n=1)
    return f"Did you mean `{matches[0]}`?" if matches else None
