"""Which file a hook's command consists of: the program itself, or the script that an interpreter is given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

SCRIPT_SUFFIXES = frozenset({".py", ".sh", ".bash", ".js", ".mjs", ".ts", ".rb", ".pl", ".php", ".lua"})
_INTERPRETER = re.compile(r"(python|pypy|ruby|perl|php|lua)[0-9.]*|node|deno|bun|sh|bash|dash|zsh|ksh|tsx|uv|env")
_LAUNCHERS = frozenset({"env", "uv", "deno", "bun"})
_SPACE = re.compile(r"\s")


def script_index(argv: Sequence[str]) -> int | None:
    """Where in `argv` the script of an interpreter stands; None where there is none, or nobody can say.

    After an option a word may be the option's value (`sh -c 'true'`), so that only a suffix tells.
    """
    if not argv or not _INTERPRETER.fullmatch(PurePath(argv[0]).name):
        return None
    is_launcher = PurePath(argv[0]).name in _LAUNCHERS
    after_option = False
    for index, word in enumerate(argv[1:], start=1):
        if word.startswith("-"):
            after_option = True
        elif PurePath(word).suffix in SCRIPT_SUFFIXES and not (after_option and _SPACE.search(word)):
            return index
        elif not is_launcher:
            return None if after_option else index
    return None


def file_of_command(argv: Sequence[str]) -> str | None:
    """The file that a command consists of, as it is written; None for a program that is looked up in PATH."""
    index = script_index(argv)
    if index is not None:
        return argv[index]
    return argv[0] if argv and "/" in argv[0] else None
