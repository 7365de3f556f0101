"""Hooks that are commands: the payload as one JSON document on stdin, the answer by exit code and stdout.

The document is the payload plus `protocol`, `hook_event_name`, `cwd`, `run_dir` and `transcript_path`; at effect points
also what hooks of CLI agents expect (tool_view.py). A long string comes as {path, bytes, sha256, head}: the file holds
it whole, and scripts that only look at small fields never meet a document of many megabytes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from hooks.definition.hook_files import script_index
from hooks.jsonio import canonical
from hooks.pipeline.command_answers import read_answer
from hooks.pipeline.command_process import Command, Ended, run_command
from hooks.pipeline.dispatch import Dispatch, Json, PayloadDocument, RunSetting
from hooks.pipeline.floor import Answer, Floor
from hooks.pipeline.listeners import Listener
from hooks.pipeline.tool_view import tool_view
from hooks.pipeline.verdicts import HookFault
from hooks.processes.launch import CouldNotStartError

PROTOCOL = 1
DEFAULT_TIMEOUT_MS = 30_000
LONGEST_STRING = 64 * 1024
HEAD = 1_000
"""Where below the run directory long strings are put, each under the sha256 of its bytes."""


class CommandHook:
    """One command of the hook set, run anew for every question."""

    def __init__(self, listener: Listener, setting: RunSetting) -> None:
        self.listener = listener
        self.timeout_ms = listener.entry.timeout_ms or DEFAULT_TIMEOUT_MS
        self._setting = setting

    async def ask(self, floor: Floor) -> None:
        """Run the command on the payload as it stands, and have its answer heard."""
        if not floor.invites(self.listener):
            return
        started = time.perf_counter()
        try:
            ended = _masked(await self.run(floor.document), floor.dispatch)
            answer: Answer | HookFault = read_answer(ended, floor.document, self.timeout_ms, self.listener.declared_as)
        except HookFault as fault:
            answer = fault
        floor.hear(self.listener, answer, round((time.perf_counter() - started) * 1000, 3))

    async def run(self, document: PayloadDocument) -> Ended:
        """Run the command and tell how it ended, whatever that means. Raises HookFault if it could not be started."""
        command = Command(
            argv=self._argv(),
            directory=self._setting.working_directory,
            environment=self._environment(document),
            # Of this start alone: another run of the same id, in another directory, must not lose its hook to this one.
            marker=f"{document['request_id']}::{self.listener.name}::{os.getpid()}-{time.monotonic_ns()}",
        )
        stdin = self._stdin(document)
        try:
            return await run_command(command, stdin, timeout_ms=self.timeout_ms, grace_ms=self._setting.grace_ms)
        except CouldNotStartError as error:
            raise HookFault(str(error)) from error

    def _argv(self) -> list[str]:
        """The command, with the files it consists of looked for beside the declaring file."""
        argv = list(self.listener.entry.argv or ())
        script = script_index(argv)
        if "/" in argv[0]:
            argv[0] = self._beside_declaration(argv[0])
        if script is not None:
            argv[script] = self._beside_declaration(argv[script])
        return argv

    def _beside_declaration(self, path: str) -> str:
        return str((self.listener.directory / path).absolute())

    def _environment(self, document: PayloadDocument) -> dict[str, str]:
        # bash and sh would run the file that these name before the hook.
        inherited = {name: value for name, value in os.environ.items() if name not in ("BASH_ENV", "ENV")}
        return {
            **inherited,
            **self.listener.entry.env,
            "HOOKS_RUN_ID": self._setting.run_id,
            "HOOKS_HOOK": document["hook"],
            "HOOKS_NODE": document["node_id"] or "",
            "HOOKS_PROTOCOL": str(PROTOCOL),
            **({"HOOKS_REPLAY": "1"} if self._setting.is_replay else {}),
        }

    def _stdin(self, document: PayloadDocument) -> bytes:
        setting = self._setting
        whole = {
            **document,
            **tool_view(document),
            "protocol": PROTOCOL,
            "hook_event_name": self.listener.declared_as,
            "cwd": str(setting.working_directory),
            "run_dir": str(setting.run_directory),
            "transcript_path": str(setting.transcript),
        }
        stdin = canonical(whole)
        if len(stdin) <= LONGEST_STRING:
            return stdin
        try:
            return canonical(_with_files(whole, setting.inputs))
        except OSError as error:
            raise HookFault(f"its input could not be written: {error}") from error


def _masked(ended: Ended, dispatch: Dispatch) -> Ended:
    """The same without secrets on stderr, of which an answer shows the end only: a secret must not be cut in two."""
    stderr: str = dispatch.mask(ended.stderr.decode("utf-8", "replace"))
    return replace(ended, stderr=stderr.encode())


def _with_files(value: Json, directory: Path) -> Json:
    """The value with every long string put into a file."""
    if isinstance(value, Mapping):
        return {key: _with_files(child, directory) for key, child in value.items()}
    if isinstance(value, list):
        return [_with_files(child, directory) for child in value]
    if isinstance(value, str) and len(value) * 4 > LONGEST_STRING:
        return _in_file(value, directory)
    return value


def _in_file(text: str, directory: Path) -> Json:
    data = text.encode()
    if len(data) <= LONGEST_STRING:
        return text
    digest = sha256(data).hexdigest()
    path = directory / digest
    # Anew for each hook: one before may have changed it.
    _write(path, data)
    return {"path": str(path), "bytes": len(data), "sha256": digest, "head": text[:HEAD]}


def _write(path: Path, data: bytes) -> None:
    """Write the file whole or not at all; not synced, since a hook that is asked again gets it anew."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        draft.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            draft.unlink()
        raise
