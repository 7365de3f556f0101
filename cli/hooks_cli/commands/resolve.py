"""`hooks resolve RUN NODE`: a person says what became of an effect that nobody else can tell of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from hooks import jsonio
from hooks.errors import JsonBorderError, UsageError
from hooks.runtime import asking
from hooks.runtime.driving import in_own_loop
from hooks.runtime.meant import meant_effect
from hooks.runtime.node_names import name_in_id
from hooks.runtime.reading import read_run
from hooks.storage.run_directory import find_run
from hooks_cli.options import (
    AsJson,
    By,
    NodeWord,
    Quiet,
    Reason,
    RequestTimeout,
    RunsDir,
    RunWord,
    required_duration_ms,
    runs_directory,
)
from hooks_cli.requesting import tell_granted


def resolve(
    run: RunWord,
    node: NodeWord,
    done: Annotated[bool, typer.Option("--done", help="It happened.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", metavar="JSON", help="With --done: the output of the step.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="It did not happen, or may happen again: do it.")] = False,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="With --retry: under a new idempotency key, so that no provider drops it.")
    ] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It did not happen and shall not.")] = False,
    reason: Reason = None,
    by: By = None,
    timeout: RequestTimeout = "30s",
    quiet: Quiet = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Settle an effect in doubt: --done, --retry or --failed.

    It is durable when this returns, and starts no work: `hooks recover` goes on.
    """
    outcome = _outcome(done=done, retry=retry, failed=failed)
    value = _output(outcome, output)
    if new_key and outcome != "retry":
        raise UsageError("--new-key only goes with --retry.", fix="Leave it out.")
    timeout_ms = required_duration_ms("--timeout", timeout)
    view = read_run(find_run(runs_directory(runs_dir), run))
    attempt = meant_effect(view, node)
    report = in_own_loop(
        asking.resolve(
            view.directory,
            attempt.activity_id,
            outcome,
            output=value,
            new_key=new_key,
            by=by,
            reason=reason,
            timeout_ms=timeout_ms,
        )
    )
    name = name_in_id(attempt.activity_id)
    facts = {"node": name, "attempt_id": attempt.attempt_id, "resolution": outcome}
    told = _TOLD["done_without_output" if outcome == "done" and value is None else outcome]
    return tell_granted(report.view, f"{name} {told}.", facts, schema="hooks.resolve/1", quiet=quiet, as_json=as_json)


_Outcome = Literal["done", "retry", "failed"]
_TOLD = {
    "done": "counts as done",
    "done_without_output": "counts as done, with no output; `--output JSON` gives one",
    "retry": "will be done again",
    "failed": "counts as failed",
}


def _outcome(*, done: bool, retry: bool, failed: bool) -> _Outcome:
    flags: dict[_Outcome, bool] = {"done": done, "retry": retry, "failed": failed}
    said = [word for word, is_said in flags.items() if is_said]
    if len(said) != 1:
        raise UsageError("Say exactly one of --done, --retry and --failed.", fix="`hooks resolve --help` tells which.")
    return said[0]


def _output(outcome: _Outcome, text: str | None) -> Any:
    if text is None:
        return None
    if outcome != "done":
        raise UsageError("--output only goes with --done.", fix="Leave it out.")
    try:
        return jsonio.parse(text.encode())
    except (JsonBorderError, UnicodeEncodeError) as error:
        raise UsageError(
            f"--output is no JSON: {error}.", fix="""Quote it for the shell: --output '{"id": 7}'"""
        ) from error
