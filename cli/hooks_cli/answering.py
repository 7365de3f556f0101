"""`hooks approve` and `hooks reject`: which gate is meant, and what is said of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hooks.runtime import asking
from hooks.runtime.driving import in_own_loop
from hooks.runtime.gate_history import answer_word
from hooks.runtime.meant import meant_gate, place_of_gate
from hooks.runtime.reading import read_run
from hooks.runtime.user import user_name
from hooks.storage.run_directory import find_run
from hooks_cli.options import required_duration_ms, runs_directory
from hooks_cli.requesting import tell_granted


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person has said about a gate."""

    approved: bool
    by: str | None
    comment: str
    digest: str | None
    timeout: str


def answer(run: str, node: str | None, reply: Reply, *, runs_dir: Path | None, quiet: bool, as_json: bool) -> int:
    """Answer the gate of `run` that `node` means, or its only one; durable when this returns. Exit code 0.

    Raises NotFoundError for no gate or several, RefusedError with what became of one that is not open any more.
    """
    timeout_ms = required_duration_ms("--timeout", reply.timeout)
    view = read_run(find_run(runs_directory(runs_dir), run))
    gate = meant_gate(view, node).created
    by = reply.by or user_name()
    say_it = asking.approve if reply.approved else asking.reject
    report = in_own_loop(
        say_it(view.directory, gate.wait_id, comment=reply.comment, digest=reply.digest, by=by, timeout_ms=timeout_ms)
    )
    word = answer_word(reply.approved)
    facts = {"gate": place_of_gate(gate), "wait_id": gate.wait_id, "answer": word, "by": by}
    what = f"{place_of_gate(gate)} of {view.run_id} is {word}."
    return tell_granted(
        report.view, what, facts, schema=f"hooks.{_VERB[reply.approved]}/1", quiet=quiet, as_json=as_json
    )


_VERB = {True: "approve", False: "reject"}
