"""The entry point of `hooks`: what must work before anything else is imported.

A shell prompt or a Makefile may ask for the version a hundred times, so `--version` is answered before typer is
imported: the command line proper is loaded by name, and only if it is needed.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module

from hooks import __version__


def main() -> None:
    """Run the command line and exit with its code."""
    words = sys.argv[1:]
    _open_standard_streams()
    if words in (["--version"], ["-V"]):
        with suppress(OSError):  # said again, and this time with what is wrong, by the command line proper
            os.write(1, f"hooks {__version__}\n".encode())
            return
    import_module("hooks_cli.command_line").main(words)


def _open_standard_streams() -> None:
    # With `hooks run … >&-` the next file opened would become descriptor 1, and whatever a child or a library prints
    # would land in it: in the log, for example.
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
