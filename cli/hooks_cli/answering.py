"""`hooks approve` and `hooks reject`: which gate is meant, and what is said of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hooks.errors import NotFoundError
from hooks.kernel.state import WaitState
from hooks.runtime.reading import RunView, read_run
from hooks.runtime.requests import answer_gate
from hooks.storage.run_directory import find_run
from hooks_cli.failures import RefusedError
from hooks_cli.gate_history import how_gate_ended
from hooks_cli.node_words import only_one, pick
from hooks_cli.options import required_duration_ms, runs_directory
from hooks_cli.render.event_line import answer_word
from hooks_cli.render.gates import gate_name, open_gates
from hooks_cli.requesting import require_granted, tell_granted
from hooks_cli.user import user_name

_WHAT = "open gates"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person has said about a gate."""

    approved: bool
    by: str | None
    comment: str
    digest: str | None
    timeout: str


def answer(run: str, node: str | None, reply: Reply, *, runs_dir: Path | None, as_json: bool) -> int:
    """Answer the gate of `run` that `node` means, or its only one; durable when this returns. Exit code 0.

    Raises NotFoundError for no gate or several, RefusedError with what became of one that is not open any more.
    """
    timeout_ms = required_duration_ms("--timeout", reply.timeout)
    view = read_run(find_run(runs_directory(runs_dir), run))
    wait = _meant(view, node)
    by = reply.by or user_name()
    answered = answer_gate(
        view.directory,
        wait_id=wait.created.wait_id,
        approved=reply.approved,
        by=by,
        comment=reply.comment,
        digest=reply.digest,
        timeout_ms=timeout_ms,
    )
    if answered.refusal is not None and answered.refusal.code == "AlreadyAnswered":
        raise _too_late(view, wait.created.wait_id)
    require_granted(answered)
    word = answer_word(reply.approved)
    facts = {"gate": gate_name(wait), "wait_id": wait.created.wait_id, "answer": word, "by": by}
    what = f"{gate_name(wait)} of {view.run_id} is {word}."
    return tell_granted(answered, what, facts, schema=f"hooks.{_VERB[reply.approved]}/1", as_json=as_json)


_VERB = {True: "approve", False: "reject"}


def _meant(view: RunView, node: str | None) -> WaitState:
    offered = open_gates(view)
    if node is None:
        wait = only_one(view.state, offered, what=_WHAT)
    elif node in view.state.waits:
        wait = view.state.waits[node]
    else:
        wait = pick(view.state, node, offered, what=_WHAT)
    if wait is not None:
        return wait
    if how_gate_ended(view.directory, node) is not None:
        raise _too_late(view, node)
    place = "No gate is open" if node is None else f"{node} has no open gate"
    raise NotFoundError(
        f"{place} in run {view.run_id}, which is {view.status.status}.",
        fix=f"`hooks show {view.run_id} --gates` lists those that are.",
        run=view.run_id,
    )


def _too_late(view: RunView, word: str | None) -> RefusedError:
    told = how_gate_ended(view.directory, word) or f"The gate {word} is not open any more."
    return RefusedError(f"Too late: {told}", fix=f"`hooks show {view.run_id}` tells how it stands.", run=view.run_id)
