"""Runs a command: `argv` as it is, or `script` by a shell. No value is ever pasted into the text of a script.

What the command is sent (argv or script, its shell, stdin) is fixed by `prepare`; `execute` adds only the environment.
What an exit means is said in `command_call.py`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hooks.executors.base import CannotTell, EffectCall, Executor, InputError, LookUp, Prepared, Settled
from hooks.executors.command_call import Command, adopt_command, execute_command, look_up_by_command
from hooks.executors.inputs import TERMS, check_keys, filled_text, terms_at, text_or_secret_at, word_at, words_at
from hooks.executors.settling import unsettled
from hooks.processes.outputs import CapturedText

_KEYS = ("argv", "script", "shell", "stdin", "lookup", *TERMS)


class ShellExecutor(Executor):
    """Provider `shell`; output {stdout, exit_code, stdout_bytes, truncated}.

    The command and its look-up find HOOKS_IDEMPOTENCY_KEY in their environment. The output of a call that was found by
    its look-up is that of the look-up.
    """

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        check_keys(resolved_input, _KEYS)
        canonical = {**_command(resolved_input), **terms_at(resolved_input)}
        if resolved_input.get("stdin") is not None:
            canonical["stdin"] = text_or_secret_at("input.stdin", resolved_input["stdin"])
        if "lookup" in resolved_input:
            canonical["lookup"] = words_at("input.lookup", resolved_input["lookup"])
        return Prepared(canonical, provider="shell", idempotency_ttl_ms=canonical.get("idempotency_ttl"))

    async def execute(self, call: EffectCall) -> Settled:
        script = call.input.get("script")
        argv = call.input["argv"] if script is None else [*call.input["shell"], script]
        try:
            stdin = filled_text("input.stdin", call.input.get("stdin", ""))
        except InputError as error:
            return unsettled("not_done", "InvalidInput", "userFault", str(error))
        return await execute_command(Command(argv, stdin.encode()), call, _output)

    async def adopt(self, call: EffectCall) -> Settled | None:
        return await adopt_command(call, _output)

    def can_look_up(self, canonical_input: Mapping[str, Any]) -> bool:
        return "lookup" in canonical_input

    async def look_up(self, call: EffectCall) -> LookUp:
        if "lookup" not in call.input:
            return CannotTell("The input has no `lookup`.")
        return await look_up_by_command(Command(call.input["lookup"]), call, _output)


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


def _output(captured: CapturedText) -> Settled:
    output: dict[str, Any] = {
        "stdout": captured.text,
        "exit_code": 0,
        "stdout_bytes": captured.bytes_total,
        "truncated": captured.truncated,
    }
    if captured.truncated:
        output["truncated_fields"] = ["stdout"]
    if captured.replaced:
        output["decoded_with_replacement"] = True
    return Settled("done", output)
