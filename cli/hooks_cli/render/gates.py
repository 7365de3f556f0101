"""Open gates as a person and a program see them: what is asked, about what exactly, of whom, and until when.

Prompts and subjects come from a run, so everything that reaches a terminal is neutralised.
"""

from __future__ import annotations

import shlex
from typing import Any

import orjson

from hooks.events.payloads import WaitCreated
from hooks.kernel.state import WaitState
from hooks.runtime.meant import open_gates, place_of_gate
from hooks.runtime.reading import RunView
from hooks.runtime.user import user_name
from hooks.times import iso_time
from hooks_cli.render.text import iso_time_or_none, neutralise, neutralise_lines, one_line

_SUBJECT_WIDTH = 2_000
_PROMPT_WIDTH = 200


def gate_documents(view: RunView) -> list[dict[str, Any]]:
    """Every open gate with all that is known of it."""
    return [_document(view, name, wait) for name, wait in open_gates(view).items()]


def gates_page(documents: list[dict[str, Any]]) -> str:
    """The open gates for a person, one block each."""
    return "\n".join(map(_block, documents)) or "No gate is open.\n"


def gate_line(view: RunView, name: str, wait: WaitState) -> str:
    """A gate on one line: its name, what it asks, of whom, and until when."""
    terms = gate_terms(wait.created)
    prompt = str(view.blobs.resolve(wait.created.prompt))
    if wait.created.stage == "ask":  # one line for each hook that asks
        prompt = "; ".join(prompt.splitlines())
    return f"{name}: {one_line(prompt, _PROMPT_WIDTH)}{terms}" if prompt else f"{name}{terms}"


def gate_terms(gate: WaitCreated) -> str:
    """Of whom a gate asks and until when, in parentheses; empty where it is anybody at any time."""
    approvers = f"of {', '.join(map(neutralise, gate.approvers))}" if gate.approvers else ""
    until = f"until {iso_time(gate.deadline_at)}" if gate.deadline_at is not None else ""
    terms = ", ".join(filter(None, [approvers, until]))
    return f" ({terms})" if terms else ""


def gate_commands(run_id: str, gate: WaitCreated) -> list[str]:
    """The commands that answer a gate; in the name of an approver where the user is none."""
    place = shlex.quote(place_of_gate(gate))
    by = f" --by {shlex.quote(gate.approvers[0])}" if gate.approvers and user_name() not in gate.approvers else ""
    return [f"hooks {verb} {run_id} {place}{by}" for verb in ("approve", "reject")]


def answers_text(run_id: str, gate: WaitCreated) -> str:
    """The same, one a line, to stand below what is told of the gate."""
    return "\n".join(f"      {command}" for command in gate_commands(run_id, gate))


def is_overdue(gate: WaitCreated, now: int) -> bool:
    """Whether the deadline has passed (ms): then only that counts, as soon as somebody moves the run."""
    return gate.deadline_at is not None and now >= gate.deadline_at


def _document(view: RunView, name: str, wait: WaitState) -> dict[str, Any]:
    created = wait.created
    return {
        "gate": name,
        "wait_id": created.wait_id,
        "stage": created.stage,
        "prompt": view.blobs.resolve(created.prompt),
        "subject": view.blobs.resolve(created.subject),
        "digest": created.digest,
        "approvers": created.approvers,
        "opened_at": iso_time(wait.created_at),
        "deadline_at": iso_time_or_none(created.deadline_at),
        "on_timeout": created.on_timeout,
    }


def _block(document: dict[str, Any]) -> str:
    deadline = document["deadline_at"]
    facts = [
        ("Gate", document["gate"]),
        ("Stage", document["stage"]),
        ("Opened", document["opened_at"]),
        ("Deadline", f"{deadline}, then {_THEN[document['on_timeout']]}" if deadline else "none"),
        ("Approvers", ", ".join(document["approvers"]) or "anybody"),
        ("Digest", document["digest"]),
        ("About", _subject(document.get("about", document["subject"]))),
    ]
    lines = "".join(f"{name:<13}{neutralise(value)}\n" for name, value in facts if value)
    return lines + "".join(f"    {line}\n" for line in neutralise_lines(document["prompt"]).splitlines())


_THEN = {"fail": "the step fails", "success": "it counts as approved"}


def _subject(value: Any) -> str:
    if value is None:
        return ""
    return one_line(value if isinstance(value, str) else orjson.dumps(value).decode(), _SUBJECT_WIDTH)
