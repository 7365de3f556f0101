"""Documents as tests: what one tells its reader to write is written, and what it tells them to type is typed.

Two conventions make a document readable by a person and by this file:

- a paragraph that ends in `` `NAME`: `` names the file that the fence below it is; its reader makes it a program;
- a ```console fence is a session: `$ ` begins a command, `# exit 3` at its end is its exit code where that is not 0,
  and the lines below it are what it prints, to stdout and stderr.

What is printed is compared but for what differs each time: ids, digests, times and durations stand for any, runs of
spaces for one, and `…` for anything at all, on a line of its own for any lines.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cli.command import CommandLine

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`(?P<name>[\w./-]+)`:\s*\Z")
_EXIT = re.compile(r"\s+# exit (?P<code>\d+)$")
_DIFFERENT_EACH_TIME = [
    (re.compile(r"\b\d{8}T\d{6}Z-[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"\b(wf_)?[0-9a-f]{12,64}\b"), "DIGEST"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d(\.\d+)?"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b"), "DURATION"),
    (re.compile(r"[ \t]+"), " "),
]
_PATIENCE_S = 60


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language, its text, and the file it is said to be, if any."""

    language: str
    text: str
    name: str | None


@dataclass(frozen=True)
class Command:
    """A command of a session, and what the document says of it."""

    line: str
    code: int
    output: str


def fences(document: str) -> list[Fence]:
    found = []
    for match in _FENCE.finditer(document):
        named = _NAMED.search(document[: match.start()])
        found.append(Fence(match["language"], match["text"], named and named["name"]))
    return found


def blocks(document: str, language: str) -> list[str]:
    """The text of the fences in one language."""
    return [fence.text for fence in fences(document) if fence.language == language]


def table_of(document: str, *head: str) -> list[list[str]]:
    """The rows of the first table whose head begins with these cells."""
    lines = document.splitlines()
    first = next(number for number, line in enumerate(lines) if _cells(line)[: len(head)] == [*head])
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[first + 2 :])
    return [_cells(row) for row in rows]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


def commands(session: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        exits = _EXIT.search(line)
        yield Command(_EXIT.sub("", line), int(exits["code"]) if exits else 0, output)


class Reader:
    """Somebody who does what a document says, in a directory of their own, where `hooks` and `python` are on PATH."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "reader"
        programs = directory / "bin"
        self.directory.mkdir()
        programs.mkdir()
        for name, words in (("hooks", "-m hooks_cli "), ("python", "")):
            write_file(programs / name, f'#!/bin/sh\nexec {sys.executable} {words}"$@"\n')
            (programs / name).chmod(0o755)
        environment = CommandLine(self.directory).environment
        del environment["HOOKS_RUNS_DIR"]
        self.environment = {**environment, "PATH": f"{programs}:{environment['PATH']}"}

    def follow(self, document: str) -> list[str]:
        """What did not come out as the document says, told command by command."""
        problems: list[str] = []
        for fence in fences(document):
            if fence.name is not None:
                write_file(self.directory / fence.name, fence.text)
            elif fence.language == "console":
                problems += [problem for command in commands(fence.text) if (problem := self._problem(command))]
        return problems

    def type(self, line: str) -> tuple[int, str]:
        """The exit code of a command, as a shell tells it, and what it has printed."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE_S,
            check=False,
        )
        return (128 - done.returncode if done.returncode < 0 else done.returncode), done.stdout.decode()

    def _problem(self, command: Command) -> str:
        code, output = self.type(command.line)
        if code == command.code and is_as_told(command.output, output):
            return ""
        return f"$ {command.line}  # exit {code}, not {command.code}\n{output}\n--- the document has\n{command.output}"


def write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def is_as_told(told: str, output: str) -> bool:
    lines = [re.escape(line).replace("…", ".*") for line in _neutral(told)]
    pattern = "".join(r"(?:.*\n)*?" if line == ".*" else f"{line}\n" for line in lines)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _neutral(output))) is not None


def _neutral(text: str) -> Iterator[str]:
    """The lines of a text without what is different each time, and without empty ones."""
    for line in text.splitlines():
        for pattern, instead in _DIFFERENT_EACH_TIME:
            line = pattern.sub(instead, line)
        if line.strip():
            yield line.strip()
