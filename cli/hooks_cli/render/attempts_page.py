"""The attempts of a node on its page: the last one whole, and a row for each where there were more."""

from __future__ import annotations

from typing import Any, TypeAlias

from hooks.runtime.gate_history import ENDED
from hooks_cli.render.errors import doubt_reason
from hooks_cli.render.text import neutralise_lines, one_line, short_json, table, took

Document: TypeAlias = dict[str, Any]

_ERROR_WIDTH = 80
_LINE_WIDTH = 400
_MOST_ATTEMPTS = 100


def last_attempt_facts(history: list[Document]) -> list[tuple[str, str | None]]:
    """What the last attempt was given to do, its effect, and where its files are."""
    if not history:
        return []
    last = history[-1]
    effect = last["effect"]
    return [
        ("Given", short_json(last["given"])),
        ("Effect", None if effect is None else _effect(effect)),
        ("Key", None if effect is None else effect["idempotency_key"]),
        ("Files", last["directory"]),
    ]


def attempts_table(history: list[Document]) -> str:
    """A row for each attempt."""
    rows = [
        [str(each["attempt"]), each["started_at"], took(each), each["ended"] or "-", _said(each), _why(each)]
        for each in history[-_MOST_ATTEMPTS:]
    ]
    left_out = len(history) - len(rows)
    more = f"… ({left_out:,} before these; --json shows all)\n" if left_out else ""
    return table([["ATTEMPT", "STARTED", "TOOK", "ENDED", "EFFECT", "ERROR"], *rows]) + more


def stderr_lines(history: list[Document]) -> list[str]:
    """The end of what the process of the last attempt wrote to stderr, where the attempt failed."""
    lines = history[-1]["stderr"] if history else []
    return ["".join(f"  | {one_line(line, _LINE_WIDTH)}\n" for line in lines)] if lines else []


def answer_line(answer: Document) -> str:
    """How a gate was answered, or why it needs no answer, and what it asked."""
    asked = "".join(f"    {line}\n" for line in neutralise_lines(str(answer["prompt"])).splitlines())
    return one_line(_how_it_ended(answer), _LINE_WIDTH) + "\n" + asked


def _how_it_ended(answer: Document) -> str:
    when = f"at {answer['at']}"
    if answer["closed_because"] is not None:
        return f"Closed ({answer['stage']}) {when}: {ENDED[answer['closed_because']]}"
    said = "Approved" if answer["approved"] else "Rejected"
    by = "nobody, by its deadline" if answer["by"] is None else answer["by"]
    comment = f": {answer['comment']}" if answer["comment"] else ""
    return f"{said} ({answer['stage']}) by {by} {when}{comment}"


def _effect(effect: Document) -> str:
    by, reason = effect["settled_by"], effect["reason"]
    told = [f"settled by {by}" if by else None, doubt_reason(reason) if reason else None]
    settled = f" ({': '.join(filter(None, told))})" if any(told) else ""
    return f"{_outcome(effect)}{settled}, by {effect['provider']}, epoch {effect['epoch']}"


def _said(attempt: Document) -> str:
    return "-" if attempt["effect"] is None else _outcome(attempt["effect"])


def _outcome(effect: Document) -> str:
    return str(effect["outcome"] or "attempted").replace("_", " ")


def _why(attempt: Document) -> str:
    error = attempt["error"]
    return "" if error is None else one_line(f"{error['errorCode']}: {error['errorMessage']}", _ERROR_WIDTH)
