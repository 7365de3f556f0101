"""Replayed runs for a person and for a program: the timeline, where it parts, and what other hooks would have said."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import orjson

from hooks.events.envelope import Event
from hooks.events.payloads import Payload
from hooks.replay.backtest import Finding, Said, Totals
from hooks.replay.decisions import Divergence
from hooks.runtime.node_names import event_place, reference_name
from hooks.runtime.replaying import Backtested
from hooks_cli.render.event_line import event_line
from hooks_cli.render.streams import on_terminal
from hooks_cli.render.text import neutralise, one_line

_WORDS = {
    "would_block": "would block",
    "would_ask": "would ask",
    "would_change": "would change",
    "would_allow": "would allow",
    "hook_error": "hook fails",
    "unknown": "unknown",
    "same": "same",
    "audit": "audit",
}
_WIDEST = 160
_MOST_DIFF_LINES = 12
_RED, _GREEN, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"

Steps = Iterable[tuple[Event, Divergence | None]]


def tell_decisions(run_id: str, steps: Steps, tell: Callable[[str], None], *, with_timeline: bool) -> bool:
    """Tell, as it goes, what was decided and where that would be otherwise; whether all is the same."""
    events = decisions = 0
    for event, divergence in steps:
        if divergence is not None:
            tell(f"{run_id}: {neutralise(_told(divergence))}\n" + "".join(_diffs(divergence.changed)))
            return False
        events += 1
        decisions += event.payload.kind == "decision"
        if with_timeline:
            tell(event_line(event) + "\n")
    tell(f"{run_id}: the same: {decisions} decisions among {events} events\n")
    return True


def decisions_document(run_id: str, steps: Steps) -> dict[str, Any]:
    events = decisions = 0
    for event, divergence in steps:
        if divergence is not None:
            return {
                "run_id": run_id,
                "same": False,
                "events": events,
                "decisions": decisions,
                "first_difference": {
                    "seq": event.seq,
                    "type": event.payload.type,
                    "recorded": msgspec.to_builtins(event.payload),
                    "would_be": [
                        {"type": payload.type, **msgspec.to_builtins(payload)} for payload in divergence.enabled
                    ],
                    "changed": _changes(divergence.changed),
                    "text": _told(divergence),
                },
            }
        events += 1
        decisions += event.payload.kind == "decision"
    return {"run_id": run_id, "same": True, "events": events, "decisions": decisions, "first_difference": None}


def decisions_totals(same: Sequence[bool], unread: int) -> dict[str, int]:
    """Of how many runs everything would be the same; `unread` are those that could not be replayed."""
    return {"runs": len(same) + unread, "same": sum(same), "differ": len(same) - sum(same), "unread": unread}


def decisions_totals_line(totals: Mapping[str, int]) -> str:
    unread = f", {totals['unread']} could not be replayed" if totals["unread"] else ""
    differ = f"{totals['differ']} {'differs' if totals['differ'] == 1 else 'differ'}"
    return f"{_counted(totals['runs'], 'run')}: {totals['same']} the same, {differ}{unread}\n"


def _told(divergence: Divergence) -> str:
    event = divergence.event
    recorded = f"event {event.seq} is {_named(event.payload)}"
    if divergence.reason is not None:
        return f"{recorded}, which could not be: {divergence.reason}"
    if divergence.changed:
        return f"{recorded}; its {' and '.join(divergence.changed)} would be different"
    if not divergence.enabled:
        return f"{recorded}; nothing would be decided there"
    return f"{recorded}; it would be {', or '.join(_named(payload) for payload in divergence.enabled[:3])}"


def _named(payload: Payload) -> str:
    place = event_place(payload)
    return f"{payload.type} of {place}" if place else payload.type


# ---- hooks ---------------------------------------------------------------------------------------------------------


def backtest_lines(tested: Backtested) -> Iterator[str]:
    """What these hooks would have said in a run; nothing where it is all the same."""
    if tested.findings:
        yield f"{tested.run_id}\n"
    for finding in tested.findings:
        if finding.said != "audit":
            yield _line(finding, finding.said, finding.plugin, finding.reason)
        yield from _diffs(finding.changed)
        yield from (_line(finding, "audit", audit.plugin, audit.reason) for audit in finding.audits)


def _line(finding: Finding, said: Said, plugin: str | None, reason: str | None) -> str:
    who = "" if plugin is None else f"{plugin}: "
    why = one_line(f"{who}{reason or ''}".rstrip(": "), _WIDEST)
    what = _WORDS[said] + (" (assumed)" if finding.assumed else "")
    where = neutralise(_place(finding) or "run")
    return f"  {finding.seq:>6}  {where}  {finding.point}  {what}{f'  {why}' if why else ''}\n"


def _place(finding: Finding) -> str | None:
    return None if finding.place is None else reference_name(finding.place)


def _diffs(changed: Mapping[str, tuple[Any, Any]]) -> Iterator[str]:
    for name, (before, after) in changed.items():
        yield from _diff(name, before, after)


def _changes(changed: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    return {name: {"before": before, "after": after} for name, (before, after) in changed.items()}


def _diff(name: str, before: Any, after: Any) -> Iterator[str]:
    lines = _parting(list(difflib.unified_diff(_lines(before), _lines(after), n=1, lineterm=""))[2:])
    yield f"          {neutralise(name)}:\n"
    for line in lines[:_MOST_DIFF_LINES]:
        if not line.startswith("@@"):
            yield f"            {_coloured(one_line(line, _WIDEST))}\n"
    if len(lines) > _MOST_DIFF_LINES:
        yield f"            … (+{len(lines) - _MOST_DIFF_LINES} lines)\n"


def _parting(lines: list[str]) -> list[str]:
    """The lines of a difference; two long ones that begin alike from shortly before they part, lest that is cut off."""
    shown = [*lines]
    for index, (old, new) in enumerate(pairwise(lines)):
        pairs = enumerate(zip(old[1:], new[1:], strict=False))
        alike = next((count for count, (one, other) in pairs if one != other), min(len(old), len(new)) - 1)
        if old.startswith("-") and new.startswith("+") and alike > _WIDEST // 2:
            first = 1 + alike - _WIDEST // 4
            shown[index : index + 2] = f"-…{old[first:]}", f"+…{new[first:]}"
    return shown


def _lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode().splitlines()


def _coloured(line: str) -> str:
    from_terminal = on_terminal_with_colour()
    if from_terminal and line.startswith("-"):
        return f"{_RED}{line}{_PLAIN}"
    if from_terminal and line.startswith("+"):
        return f"{_GREEN}{line}{_PLAIN}"
    return line


def on_terminal_with_colour() -> bool:
    """stdout is a terminal, and nobody has said NO_COLOR."""
    return on_terminal() and not os.environ.get("NO_COLOR")


def totals_lines(done: list[Backtested]) -> Iterator[str]:
    """How many runs and points there were, and what came of them, by hook."""
    total = _sum(tested.totals for tested in done)
    different = sum(tested.differs for tested in done)
    stopped = sum(tested.stops for tested in done)
    yield (
        f"{_counted(len(done), 'run')}, {_counted(total.events, 'event')}, {_counted(total.asked, 'point')} asked: "
        f"{_counted(different, 'run')} {'differs' if different == 1 else 'differ'}, {stopped} would be stopped\n"
    )
    for plugin, said in sorted(total.by_plugin.items()):
        counts = ", ".join(f"{_WORDS[word]} {count}" for word, count in sorted(said.items()))
        yield f"  {neutralise(plugin)}: {counts}\n"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def backtest_document(done: list[Backtested], code: int) -> dict[str, Any]:
    total = _sum(tested.totals for tested in done)
    return {
        "schema": "hooks.backtest/1",
        "exit_code": code,
        "totals": _totals(total),
        "runs": [
            {
                "run_id": tested.run_id,
                "stops": tested.stops,
                "totals": _totals(tested.totals),
                "findings": [_finding(finding) for finding in tested.findings],
            }
            for tested in done
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "seq": finding.seq,
        "point": finding.point.value,
        "node": finding.node_id,
        "place": _place(finding),
        "activity_id": finding.activity_id,
        "said": finding.said,
        "assumed": finding.assumed,
        "plugin": finding.plugin,
        "reason": finding.reason,
        "code": finding.code,
        "changed": _changes(finding.changed),
        "audit": [audit._asdict() for audit in finding.audits],
    }


def _totals(totals: Totals) -> dict[str, Any]:
    return {
        "events": totals.events,
        "asked": totals.asked,
        "findings": totals.findings,
        "by_plugin": totals.by_plugin,
    }


def _sum(totals: Iterable[Totals]) -> Totals:
    total = Totals()
    for each in totals:
        total.events += each.events
        total.asked += each.asked
        for said, count in each.findings.items():
            total.findings[said] = total.findings.get(said, 0) + count
        for plugin, counts in each.by_plugin.items():
            of_plugin = total.by_plugin.setdefault(plugin, {})
            for said, count in counts.items():
                of_plugin[said] = of_plugin.get(said, 0) + count
    return total
