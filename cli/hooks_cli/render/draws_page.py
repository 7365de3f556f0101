"""The draws of an agent step for a person: a row for each, and under it what was wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hooks_cli.render.text import duration, neutralise, one_line, table

_WIDTH = 200
_PLACES = 2


def draws_word(document: dict[str, Any]) -> str:
    """How far a step has come with its draws, in a cell of a table; empty where there is nothing to tell."""
    draws, budget = document["draws"], document["loop_budget"]
    if not draws or budget == 1:
        return ""
    return f"{draws} draw{'s' * (draws > 1)}" if document["ended_at"] is not None else f"draw {draws} of {budget}"


def draws_page(sampling: dict[str, Any]) -> str:
    """The loop of a step; empty for one plain answer, of which its output tells all."""
    draws = sampling["draws"]
    if sampling["success"] and len(draws) == 1 and not _has_more_to_tell(draws[0]) and not sampling["removed"]:
        return ""
    head = f"{_loop(sampling)}\n" + "".join(f"  {_removed(each)}\n" for each in sampling["removed"])
    is_over = sampling["success"] is not None
    rows = table([_HEADER, *(_row(draw, is_over=is_over) for draw in draws)]).splitlines()
    lines = [f"{rows[0]}\n"]
    for row, draw in zip(rows[1:], draws, strict=True):
        lines += [f"{row}\n", *(f"    {one_line(line, _WIDTH)}\n" for line in _remarks(draw))]
    return "".join([head, *lines])


_HEADER = ["DRAW", "CAME TO", "SCORE", "REPAIR", "TOOK", "TOKENS", "CALL", "BY"]


def _has_more_to_tell(draw: dict[str, Any]) -> bool:
    return bool(draw["validations"] or draw["removed"] or draw["errors"] or draw["usage"])


def _loop(sampling: dict[str, Any]) -> str:
    budget = sampling["loop_budget"]
    begun = f"{sampling['strategy'] or 'One draw'}, {len(sampling['draws'])} of {budget} draw{'s' * (budget > 1)}"
    if sampling["next_try_at"] is not None:
        return f"{begun}; asks again at {sampling['next_try_at']}"
    if sampling["success"] is None:
        return begun
    if sampling["success"]:
        return f"{begun}; draw {sampling['chosen']} was chosen"
    best = f"; the best is draw {sampling['chosen']}" if sampling["chosen"] is not None else ""
    return one_line(f"{begun}; none was chosen: {sampling['failure_reason']}{best}", _WIDTH)


def _row(draw: dict[str, Any], *, is_over: bool) -> list[str]:
    return [
        str(draw["draw"]),
        _came_to(draw, is_over=is_over),
        "-" if draw["score"] is None else f"{draw['score']:g}",
        draw["repair_type"] or "-",
        "-" if draw["latency_ms"] is None else duration(draw["latency_ms"]),
        _tokens(draw["usage"]),
        str(draw["call"]),
        neutralise(draw["agent"]),
    ]


def _came_to(draw: dict[str, Any], *, is_over: bool) -> str:
    if draw["passed"] is None:
        if draw["text"] is None and draw["errors"]:
            return "error"
        return "not counted" if is_over else "under way"
    word = _PASSED[draw["passed"]]
    if not draw["chosen"]:
        return word
    return f"{word}, chosen" if draw["passed"] else f"{word}, best"


def _tokens(usage: dict[str, Any] | None) -> str:
    """What an answer took, by the names that OpenAI-compatible endpoints and command-line agents give it."""
    for name in ("total_tokens", "completion_tokens", "output_tokens"):
        if usage is not None and isinstance(usage.get(name), int):
            return f"{usage[name]:,}"
    return "-"


def _remarks(draw: dict[str, Any]) -> Iterator[str]:
    for error in draw["errors"]:
        yield f"call {error['call']}: {error['errorCode']}: {error['errorMessage']}"
        yield from _raised_at(error["stack_trace"])
    yield from map(_removed, draw["removed"])
    for verdict in draw["validations"]:
        if remark := _verdict(verdict):
            yield remark


def _raised_at(trace: str) -> list[str]:
    """The innermost places of a Python traceback; what a process wrote to stderr, `logs --stderr` has."""
    if not trace.startswith("Traceback "):
        return []
    return [line for line in trace.splitlines() if line.startswith('  File "')][-_PLACES:]


def _removed(removed: dict[str, Any]) -> str:
    return f"{removed['requirement']}: not checked, removed by {removed['removed_by']}"


def _verdict(verdict: dict[str, Any]) -> str:
    """What is not plain in a verdict: why it failed, its score, and what it was before a hook turned it."""
    word = _PASSED[verdict["effective_passed"]]
    details = [] if verdict["score"] is None else [f"score {verdict['score']:g}"]
    if verdict["effective_passed"] != verdict["passed"]:
        raw = f": {verdict['raw_reason']}" if verdict["raw_reason"] else ""
        details.append(f"by {verdict['changed_by']}; without it {_PASSED[verdict['passed']]}{raw}")
    elif verdict["changed_by"] is not None:
        details.append(f"the reason is of {verdict['changed_by']}")
    if verdict["effective_passed"] and not details:
        return ""
    aside = f" ({', '.join(details)})" if details else ""
    is_raw = verdict["effective_passed"] != verdict["passed"] and verdict["reason"] == verdict["raw_reason"]
    reason = f": {verdict['reason']}" if verdict["reason"] and not is_raw else ""
    return f"{verdict['requirement']}: {word}{aside}{reason}"


_PASSED = {True: "passed", False: "failed"}
