"""What `approve`, `reject` and `resolve` share: a request to a run, and what is said of the answer.

A request is told as granted only when the event that grants it is durable. Nothing is started by it, so the next
command to type is told as well.
"""

from __future__ import annotations

from typing import Any

from hooks.runtime.requests import Answer
from hooks_cli.failures import QueuedError, RefusedError
from hooks_cli.render.documents import now_ms
from hooks_cli.render.next_steps import next_commands
from hooks_cli.render.run_end import end_document
from hooks_cli.render.streams import emit_json, say
from hooks_cli.render.text import neutralise

_LOOK = "`hooks show {0}` tells how it stands."
_FIX = {"NotAllowed": "Answer with `--by NAME`; `hooks show {0} --gates` names who may."}


def require_granted(answer: Answer) -> None:
    """Raise what a request that was not granted means: RefusedError, or QueuedError while nobody has answered."""
    run_id = answer.view.run_id
    if answer.queued:
        holder = answer.view.holder
        raise QueuedError(
            f"{holder or 'Nobody'} has not answered yet; the request is durable and will be taken.",
            fix=f"`hooks show {run_id}` tells when it has been.",
            run=run_id,
        )
    if answer.refusal is not None:
        raise RefusedError(answer.refusal.reason, fix=_FIX.get(answer.refusal.code, _LOOK).format(run_id), run=run_id)


def tell_granted(answer: Answer, what: str, facts: dict[str, Any], *, schema: str, as_json: bool) -> int:
    """Say what was granted and what to type next; the exit code, which is that of success."""
    view = answer.view
    if as_json:
        emit_json({"schema": schema, **end_document(view, now_ms()), **facts})
    else:
        lines = [neutralise(what), *(f"    {command}" for command in next_commands(view))]
        say("\n".join(lines))
    return 0
