"""Commands that begin in one instant: each a process of its own, with everything imported before the word is given.

    python racing.py < RACES > RESULTS        races: [[[word…]…]…], results: [[[code, stdout, stderr]…]…], as JSON

Started the usual way, commands are apart by what their interpreters take to start, and hardly ever meet. Here they are
forked from one process that has loaded what they need, and wait for the end of a pipe.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from os import _exit  # as it is before a command keeps others from ending it
from pathlib import Path
from typing import IO, NoReturn

from hooks_cli import command_line
from tests.cli.command import CommandLine, Ended

_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 120
"""For each race, so that many of them may take their time on a busy machine."""


def race(cli: CommandLine, *races: Sequence[Sequence[str]]) -> list[list[Ended]]:
    """How the commands of each race ended, one race after the other."""
    done = subprocess.run(
        [sys.executable, __file__],
        cwd=cli.directory,
        env={**cli.environment, "PYTHONPATH": str(_ROOT)},
        input=json.dumps(races).encode(),
        stdout=subprocess.PIPE,
        timeout=_PATIENCE_S * len(races),
        check=True,
    )
    return [[Ended(*ended) for ended in results] for results in json.loads(done.stdout)]


def _race(commands: Sequence[Sequence[str]]) -> list[tuple[int, str, str]]:
    ready, word = os.pipe()
    with ExitStack() as files:
        outputs = [tuple(files.enter_context(tempfile.TemporaryFile()) for _ in range(2)) for _ in commands]
        children = []
        for words, (out, err) in zip(commands, outputs, strict=True):
            pid = os.fork()
            if pid == 0:
                os.close(word)
                _run(words, ready, out, err)
            children.append(pid)
        os.close(word)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        os.close(ready)
        return [(code, _all_of(out), _all_of(err)) for code, (out, err) in zip(codes, outputs, strict=True)]


def _run(words: Sequence[str], ready: int, out: IO[bytes], err: IO[bytes]) -> NoReturn:
    """Be the command, as soon as nobody holds the other end of `ready`."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    os.read(ready, 1)
    os.close(ready)
    sys.argv = ["hooks", *words]
    code = 70
    try:
        command_line.main(sys.argv[1:])
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        _exit(code)


def _all_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def main() -> None:
    races = json.loads(sys.stdin.buffer.read())
    json.dump([_race(commands) for commands in races], sys.stdout)


if __name__ == "__main__":
    main()
