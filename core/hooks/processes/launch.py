"""Starts a command under the launcher: a few lines of sh that outlive the driver and write down how the command ended.

The driver may be killed at any instant and its children go on. So nothing of a child hangs on the driver: stdin is
written before, stdout and stderr are files, there is no pipe; and the launcher, not the driver, writes exit.json.
stdin is a file in memory, since it may hold secrets, and what it holds otherwise is in the run already.

exit.json is written in place by one printf, not renamed into place: a rename would need a forked `mv`, half a
millisecond a step. It is safe because no proper prefix of {"exitCode":0} is a JSON object: what a crash, a full disk or
a power cut can leave (nothing, a part, zeros) reads as absent, never as another answer. A launcher that cannot open it
starts the command all the same: a driver that is there sees how it ends, and for another one the end is unknown.

The command is exec'd in a subshell, with TERM, INT and HUP back at their defaults; the launcher itself only notes
these signals and waits on.

To a shell `exit 143` and a death by TERM are one status. But it writes "Terminated" to its own stderr when its child
has died, so that is kept apart from the command's: it is exit.json itself, which is no JSON then and written anew at
the end. Shells pass over some signals (dash over INT and PIPE, bash over more). Where one has written nothing, it is
shown a death by that very signal: if it speaks of that one, the command had not died. Else death is assumed: a killed
effect is unknown, and not merely failed.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from hooks.errors import StorageError
from hooks.processes.exits import EXIT_FILE, LAST_SIGNAL
from hooks.processes.process_table import MARKER_VARIABLE
from hooks.secrets import Masker

STDOUT, STDERR = "stdout", "stderr"
ANSWER = "answer.json"
"""What a child of our own writes beside them."""

# The launcher's own stderr, which is exit.json: by this name it is the same file, whatever became of its path.
_NOTES = "/proc/self/fd/2"
# What does not end a process unless it is handled: a status that would name one of these is an exit code.
_NEVER_DEADLY = " ".join(
    str(int(number))
    for number in (
        signal.SIGCHLD,
        signal.SIGCONT,
        signal.SIGSTOP,
        signal.SIGTSTP,
        signal.SIGTTIN,
        signal.SIGTTOU,
        signal.SIGURG,
        signal.SIGWINCH,
    )
)

LAUNCHER = f"""\
directory=$1; shift
trap : TERM INT HUP
exec 3>&2 2>/dev/null
command exec 2>"$directory/{EXIT_FILE}"  # `command`, so that sh goes on where it cannot be opened
(exec "$@" 2>&3 3>&-)
status=$?
signal=0
if [ "$status" -gt 128 ] && [ "$status" -le {128 + LAST_SIGNAL} ]
then
  signal=$((status - 128))
  if [ ! -s {_NOTES} ]
  then
    case " {_NEVER_DEADLY} " in
    *" $signal "*) signal=0 ;;
    *)
      trap 'exit "$status"' EXIT  # also where there is no process to be had for this
      (ulimit -c 0; exec /bin/sh -c 'kill -"$1" $$' sh "$signal") <&- >&- 2>&- 3>&-
      if [ -s {_NOTES} ]; then signal=0; fi ;;
    esac
  fi
fi
if [ "$signal" -gt 0 ]
then printf '{{"signal":%d}}\\n' "$signal" >{_NOTES}
else printf '{{"exitCode":%d}}\\n' "$status" >{_NOTES}
fi
exit "$status"
"""
_SHOWN_PATH = 100
_SHELL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Errors that say nothing against the command: the machine was short of something.
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM})


class CouldNotStartError(Exception):
    """The command cannot be started as it is declared: certainly nothing of it ran."""


@dataclass(frozen=True, slots=True)
class Child:
    """A command to run. `directory`, made if need be, takes stdout, stderr, exit.json (and answer.json) of this start.

    `environment` is the whole environment of the command, apart from HOOKS_MARKER, which `marker` becomes: by it the
    command and all it starts are found again after a crash. `masker` is for what the command has printed.
    """

    argv: Sequence[str]
    working_directory: Path
    environment: Mapping[str, str]
    directory: Path
    marker: str
    stdin: bytes = b""
    masker: Masker | None = None


def launch(child: Child) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own.

    Raises CouldNotStartError for what is the command's own fault, StorageError when the machine is at fault (its disk,
    or it is short of descriptors, processes, memory); nothing was started then either.

    What an earlier start left in the directory is removed: a resubmission must not read its predecessor's answer.
    """
    working_directory = child.working_directory.absolute()
    program = find_program(child.argv[0], child.environment, working_directory)
    directory = child.directory.absolute()
    environment = {**child.environment, MARKER_VARIABLE: child.marker}
    argv = [*_hidden_from_shell(environment), program, *child.argv[1:]]
    command = ["/bin/sh", "-c", LAUNCHER, "hooks-launch", str(directory), *argv]
    with ExitStack() as files:
        stdin, stdout, stderr = _open_files(directory, child.stdin, files)
        try:
            return subprocess.Popen(
                # UTF-8 whatever the locale; surrogateescape gives back the bytes of a file name that is none.
                [word.encode("utf-8", "surrogateescape") for word in command],
                cwd=working_directory,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            refusal = StorageError if error.errno in _SHORTAGES else CouldNotStartError
            raise refusal(_explain(child, error)) from error
        except ValueError as error:
            raise CouldNotStartError(f"Could not start {child.argv[0]!r}: {error} in argv or environment.") from error


def find_program(name: str, environment: Mapping[str, str], working_directory: Path) -> str:
    """The path the command is to be executed by, looked up as its own shell would. Raises CouldNotStartError."""
    if "/" in name:
        candidates = [os.path.join(working_directory, name)]
    else:
        entries = environment.get("PATH", os.defpath).split(os.pathsep)
        candidates = [os.path.join(working_directory, entry, name) for entry in entries] if name else []
    if not os.path.isdir(working_directory):
        raise CouldNotStartError(f"Could not start {name!r}: there is no working directory {working_directory}.")
    unusable = ""
    for path in candidates:
        if "\0" not in path and os.path.isfile(path):
            if os.access(path, os.X_OK):
                _check_interpreter(path)
                return path
            unusable = unusable or path
    if unusable:
        raise CouldNotStartError(f"Could not start {name!r}: {unusable} is not executable; `chmod +x` makes it so.")
    if "/" in name and os.path.isdir(candidates[0]):
        raise CouldNotStartError(f"Could not start {name!r}: {candidates[0]} is a directory; name a program in it.")
    if "/" in name:
        raise CouldNotStartError(f"Could not start {name!r}: there is no file {candidates[0]}.")
    path_variable = environment.get("PATH", os.defpath)
    shown = path_variable if len(path_variable) <= _SHOWN_PATH else f"{path_variable[:_SHOWN_PATH]}…"
    raise CouldNotStartError(
        f"Could not start {name!r}: no such program in PATH ({shown}). Install it, or give its whole path."
    )


def _check_interpreter(path: str) -> None:
    """A script whose interpreter is missing is found by sh only after the start, as a bare 127."""
    try:
        with open(path, "rb", buffering=0) as file:
            first = file.read(256)
    except OSError:
        return  # executable but not readable: a program, then, and the system will say
    words = first[2:].split(b"\n", 1)[0].split() if first.startswith(b"#!") else []
    if words and not os.access(words[0], os.X_OK):
        interpreter = os.fsdecode(words[0])
        hint = " (the line ends with CR; save it with LF line ends)" if first.split(b"\n", 1)[0].endswith(b"\r") else ""
        raise CouldNotStartError(f"Could not start {path!r}: its first line asks for {interpreter!r}, not found{hint}.")


def _hidden_from_shell(environment: Mapping[str, str]) -> list[str]:
    """dash drops variables whose names are no shell names, as of exported bash functions; `env` sets them again."""
    hidden = [f"{name}={value}" for name, value in environment.items() if not _SHELL_NAME.match(name)]
    return ["/usr/bin/env", *hidden] if hidden else []


def _open_files(directory: Path, stdin: bytes, files: ExitStack) -> tuple[int, int, int]:
    """stdin, stdout and stderr of the start. Raises StorageError."""
    try:
        # Not synced: files of a start that a power cut takes away are read as absent, as exit.json is.
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in (EXIT_FILE, ANSWER, STDOUT, STDERR):
            (directory / left).unlink(missing_ok=True)
        _output(directory / EXIT_FILE, files)
        return (
            _stdin(stdin, files),
            _output(directory / STDOUT, files),
            _output(directory / STDERR, files),
        )
    except OSError as error:
        fix = "Raise `ulimit -n`, or run fewer at once (-j)." if error.errno in (errno.EMFILE, errno.ENFILE) else None
        raise StorageError(
            f"Cannot make the files of a step in {directory}: {error.strerror}.",
            fix=fix or "Remove the cause, then go on with `hooks recover`.",
        ) from error


def _stdin(data: bytes, files: ExitStack) -> int:
    if not data:
        return subprocess.DEVNULL
    descriptor = _closed_by(files, os.memfd_create("stdin"))
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
        file.seek(0)
    return descriptor


def _output(path: Path, files: ExitStack) -> int:
    # Appending keeps the bytes of several writers of one file from overwriting each other.
    return _closed_by(files, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600))


def _closed_by(files: ExitStack, descriptor: int) -> int:
    files.callback(os.close, descriptor)
    return descriptor


def _explain(child: Child, error: OSError) -> str:
    name = child.argv[0]
    if error.errno == errno.E2BIG:
        sizes = [len(word.encode("utf-8", "surrogateescape")) for word in child.argv]
        largest = max(range(len(sizes)), key=sizes.__getitem__)
        surroundings = sum(len(key) + len(value) + 2 for key, value in child.environment.items())
        return (
            f"Could not start {name!r}: argv has {sum(sizes)} bytes (argv[{largest}] alone {sizes[largest]}), the "
            f"environment {surroundings}; the system takes {128 * 1024} in one element and {os.sysconf('SC_ARG_MAX')} "
            "in all. Give the large value on stdin or in a file."
        )
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"Could not start {name!r}: too many open files. Raise `ulimit -n`, or run fewer at once (-j)."
    if not os.path.isdir(child.working_directory):
        return f"Could not start {name!r}: there is no working directory {child.working_directory}."
    if not os.access(child.working_directory, os.X_OK):
        return f"Could not start {name!r}: this user may not enter the working directory {child.working_directory}."
    return f"Could not start {name!r}: {error}."
