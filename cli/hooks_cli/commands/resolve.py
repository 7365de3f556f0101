"""`hooks resolve RUN NODE`: a person says what became of an effect that nobody else can tell of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from hooks import jsonio
from hooks.errors import JsonBorderError, NotFoundError, UsageError
from hooks.kernel.state import AttemptState
from hooks.runtime.reading import RunView, read_run
from hooks.runtime.requests import resolve_effect
from hooks.storage.run_directory import find_run
from hooks_cli.node_words import pick
from hooks_cli.options import (
    AsJson,
    By,
    NodeWord,
    Reason,
    RequestTimeout,
    RunsDir,
    RunWord,
    required_duration_ms,
    runs_directory,
)
from hooks_cli.render.node_names import name_in_id
from hooks_cli.requesting import require_granted, tell_granted
from hooks_cli.user import user_name


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
    attempt = _meant(view, node)
    answer = resolve_effect(
        view.directory,
        activity_id=attempt.activity_id,
        attempt_id=attempt.attempt_id,
        outcome=outcome,
        output=value,
        new_key=new_key,
        by=by or user_name(),
        reason=reason,
        timeout_ms=timeout_ms,
    )
    require_granted(answer)
    name = name_in_id(attempt.activity_id)
    facts = {"node": name, "attempt_id": attempt.attempt_id, "resolution": outcome}
    told = _TOLD["done_without_output" if outcome == "done" and value is None else outcome]
    return tell_granted(answer, f"{name} {told}.", facts, schema="hooks.resolve/1", as_json=as_json)


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


def _meant(view: RunView, node: str) -> AttemptState:
    dangling = [attempt for attempt in view.state.open.values() if attempt.is_dangling]
    offered = {name_in_id(attempt.activity_id): attempt for attempt in [*dangling, *view.state.in_doubt.values()]}
    attempt = pick(view.state, node, offered, what="effects in doubt")
    if attempt is not None:
        return attempt
    raise NotFoundError(
        f"No effect of {node} is in doubt in run {view.run_id}, which is {view.status.status}.",
        fix=f"`hooks show {view.run_id}` tells how it stands.",
        run=view.run_id,
    )
