"""Runs a command: `argv` as it is, or `script` by a shell. No value is ever pasted into the text of a script.

What the command is sent (argv or script, its shell, stdin) is fixed by `prepare`; `execute` adds only the environment.
Exit 0 is done, another code failed; killed by a signal is unknown, since nobody can say how far it came.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from hooks.definition.durations import parse_duration
from hooks.executors.base import EffectCall, InputError, Prepared, Settled
from hooks.executors.inputs import check_keys, flag_at, text_at, word_at, words_at
from hooks.executors.settling import unsettled
from hooks.processes.exits import Exit
from hooks.processes.launch import STDERR, STDOUT, Child, CouldNotStartError
from hooks.processes.outputs import read_tail, read_text
from hooks.processes.running import adopt_child, run_child

KEPT_OUTPUT_BYTES = 1024 * 1024
_KEYS = ("argv", "script", "shell", "stdin", "lookup", "idempotent", "settle", "idempotency_ttl")
_DEFAULT_TTL_MS = 24 * 3_600_000
_MESSAGE_LIMIT = 2_000


class ShellExecutor:
    """Provider `shell`; the command finds HOOKS_IDEMPOTENCY_KEY and HOOKS_ATTEMPT in its environment."""

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        check_keys(resolved_input, _KEYS)
        canonical = _command(resolved_input)
        if resolved_input.get("stdin") is not None:
            canonical["stdin"] = text_at("input.stdin", resolved_input["stdin"])
        if "lookup" in resolved_input:
            canonical["lookup"] = words_at("input.lookup", resolved_input["lookup"])
        if "settle" in resolved_input:
            canonical["settle"] = _duration_at("input.settle", resolved_input["settle"])
        idempotent = flag_at("input.idempotent", resolved_input.get("idempotent", False))
        ttl_ms = _duration_at("input.idempotency_ttl", resolved_input.get("idempotency_ttl", _DEFAULT_TTL_MS))
        if idempotent:
            canonical["idempotent"] = True
            canonical["idempotency_ttl"] = ttl_ms
        return Prepared(canonical, provider="shell", idempotency_ttl_ms=ttl_ms if idempotent else None)

    async def execute(self, call: EffectCall) -> Settled:
        try:
            ended = await run_child(_child(call), grace_ms=call.grace_ms)
        except CouldNotStartError as error:
            return unsettled("not_done", "CouldNotStart", "userFault", f"{error}{_beside(call)}")
        return _settle(ended, call)

    async def adopt(self, call: EffectCall) -> Settled | None:
        ended = await adopt_child(call.directory, call.marker, grace_ms=call.grace_ms)
        return _settle(ended, call) if ended is not None else None


def _beside(call: EffectCall) -> str:
    """Where the program is if it was looked for in the wrong directory."""
    program = (call.input.get("argv") or [""])[0]
    beside = call.workflow_directory / program
    if "/" not in program or (call.working_directory / program).exists() or not beside.is_file():
        return ""
    return f" There is {beside}, but the paths of a step resolve from where the run was started."


def _command(resolved_input: dict[str, Any]) -> dict[str, Any]:
    if ("argv" in resolved_input) == ("script" in resolved_input):
        raise InputError("input: give either `argv` (a list of words) or `script` (text for a shell).")
    if "argv" in resolved_input:
        if "shell" in resolved_input:
            raise InputError("input.shell: only a `script` has a shell; write `argv` as [shell, …] instead.")
        return {"argv": words_at("input.argv", resolved_input["argv"])}
    if not isinstance(resolved_input["script"], str):
        raise InputError("input.script: the text of a script is expected.")
    script = word_at("input.script", resolved_input["script"])
    return {"script": script, "shell": _shell(resolved_input.get("shell"))}


def _shell(declared: Any) -> list[str]:
    """The words before the script; one word stands for that shell as it is, without -e."""
    if declared is None:
        return ["bash", "-eo", "pipefail", "-c"] if shutil.which("bash") else ["sh", "-e", "-c"]
    if isinstance(declared, str):
        return [*words_at("input.shell", [declared]), "-c"]
    return words_at("input.shell", declared)


def _duration_at(place: str, value: Any) -> int:
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InputError(f"{place}: {value!r} is no duration; write it like 90s or 2h.")


def _child(call: EffectCall) -> Child:
    script = call.input.get("script")
    return Child(
        argv=call.input["argv"] if script is None else [*call.input["shell"], script],
        working_directory=call.working_directory,
        environment={**os.environ, **call.environment, "HOOKS_IDEMPOTENCY_KEY": call.key},
        directory=call.directory,
        marker=call.marker,
        stdin=call.input.get("stdin", "").encode(),
    )


def _settle(ended: Exit, call: EffectCall) -> Settled:
    """The outcome, from what the command left in the attempt's directory."""
    if ended.code == 0:
        return Settled("done", _output(call))
    stderr = read_tail(call.directory / STDERR, _MESSAGE_LIMIT).strip()
    said = f" It said: {stderr}" if stderr else ""
    if ended.code is not None:
        message = f"The command ended with exit code {ended.code}.{said}"
        return unsettled("failed", "ExitStatus", "retryable", message, exitCode=ended.code)
    if ended.signal is not None:
        message = f"The command was ended by signal {ended.signal}; how far it came is not known.{said}"
        return unsettled("unknown", "Signalled", "retryable", message, signal=ended.signal)
    return unsettled("unknown", "OutcomeUnknown", "retryable", f"The command ended, nobody saw how.{said}")


def _output(call: EffectCall) -> dict[str, Any]:
    limit = KEPT_OUTPUT_BYTES if call.max_output_bytes is None else call.max_output_bytes
    captured = read_text(call.directory / STDOUT, limit)
    output: dict[str, Any] = {
        "stdout": captured.text,
        "exit_code": 0,
        "stdout_bytes": captured.bytes_total,
        "truncated": captured.truncated,
    }
    if captured.replaced:
        output["decoded_with_replacement"] = True
    return output
