"""Hooks for a person and for a program: the effective order, and what one of them said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from hooks.definition.hook_points import HookType
from hooks.pipeline.inspection import file_faults, member_faults
from hooks.pipeline.listeners import Listener
from hooks.pipeline.trial import Trial
from hooks.runtime.node_names import name_in_id
from hooks_cli.policies import Policies
from hooks_cli.render.text import neutralise, neutralise_lines, one_line, table

_WIDEST = 60
_MATCH = ("node", "component_type", "executor", "agent", "workflow")


async def listing_document(policies: Policies) -> dict[str, Any]:
    """The hooks by hook point, in the order they are asked. Python hooks are loaded, to learn what they declare."""
    here = Path.cwd()
    pipeline = policies.pipeline(
        run_id="", run_directory=here, working_directory=here, transcript=here / "events.jsonl"
    )
    await pipeline.open()
    try:
        points = {
            point: [_hook(each, policies, pipeline.chain.fault_of(each)) for each in pipeline.listeners(point)]
            for point in HookType
        }
    finally:
        await pipeline.close()
    return {
        "schema": "hooks.policies/1",
        "points": [{"point": point.value, "hooks": hooks} for point, hooks in points.items() if hooks],
    }


def _hook(listener: Listener, policies: Policies, fault: str | None) -> dict[str, Any]:
    entry, member = listener.entry, listener.member
    faults = member_faults(member) if policies.is_pinned else file_faults(entry)
    return {
        "name": listener.name,
        "mode": listener.mode,
        "priority": listener.priority,
        "final": entry.final,
        "on_error": "fail" if listener.error_blocks else "ignore",
        "origin": member.origin,
        "node": member.node_id,
        "declared_in": member.declared_in,
        "command": entry.argv,
        "python": entry.python,
        "match": {key: globs for key in _MATCH if (globs := getattr(entry.match, key))},
        "if": entry.condition,
        "file": member.file,
        "problems": [*faults, *([fault] if fault else [])],
    }


def listing_text(document: dict[str, Any]) -> str:
    if not document["points"]:
        return "There are no hooks.\n"
    told: set[str] = set()
    return "\n".join(_point_text(point, told) for point in document["points"])


def _point_text(point: dict[str, Any], told: set[str]) -> str:
    """One hook point; of problems only those that were not `told` at an earlier one."""
    rows = [["#", "NAME", "MODE", "PRIORITY", "FROM", "WHAT", "MATCH"]]
    rows += [_row(number, hook) for number, hook in enumerate(point["hooks"], start=1)]
    found = dict.fromkeys(f"  ! {hook['name']}: {problem}" for hook in point["hooks"] for problem in hook["problems"])
    problems = [problem for problem in found if problem not in told]
    told.update(problems)
    return f"{point['point']}\n" + table(rows) + "".join(f"{neutralise(problem)}\n" for problem in problems)


def _row(number: int, hook: dict[str, Any]) -> list[str]:
    mode = f"{hook['mode']}, final" if hook["final"] else hook["mode"]
    origin = f"node {hook['node']}" if hook["node"] else hook["origin"]
    what = hook["python"] or " ".join(hook["command"] or [])
    match = " ".join(f"{key}={'|'.join(globs)}" for key, globs in hook["match"].items())
    condition = f" if {hook['if']}" if hook["if"] else ""
    cells = [str(number), hook["name"], mode, str(hook["priority"]), origin, what, f"{match}{condition}".strip()]
    return [one_line(cell, _WIDEST) for cell in cells]


# ---- one hook ------------------------------------------------------------------------------------------------------


def trial_document(trial: Trial, *, seq: int | None = None, of: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What one hook printed and what that means; `seq`, and the payload `of` there, say on what that happened. Every
    key is always there."""
    ended, decision = trial.ended, trial.decision
    node, activity_id = (None, None) if of is None else (of["node_id"], of["activity_id"])
    return {
        "schema": "hooks.policy_test/1",
        "name": trial.listener.name,
        "hook": trial.listener.point.value,
        "mode": trial.listener.mode,
        "seq": seq,
        "node": node,
        "place": name_in_id(activity_id) if activity_id else node,
        "asked": trial.was_asked,
        "exit": None if ended is None else ended.exit,
        "timed_out": ended is not None and ended.is_timed_out,
        "stdout": None if ended is None else ended.stdout.decode("utf-8", "replace"),
        "stderr": None if ended is None else ended.stderr.decode("utf-8", "replace"),
        "outcome": decision.outcome,
        "reason": decision.reason,
        "code": decision.code,
        "details": dict(decision.details),
        "changed": {name: {"before": before, "after": after} for name, (before, after) in trial.changed.items()},
        "messages": trial.messages,
    }


def trial_text(document: dict[str, Any]) -> str:
    outcome = document["outcome"] if document["asked"] else "not asked, its `if` is false"
    lines = [f"{document['name']} at {document['hook']} ({document['mode']}): {outcome}"]
    if document["seq"] is not None:
        lines.append(f"on: event {document['seq']}" + (f", {document['place']}" if document["place"] else ""))
    if document["reason"]:
        lines.append(f"reason: {document['reason']}")
    if document["code"]:
        lines.append(f"code: {document['code']}")
    for name, change in document["changed"].items():
        lines += [f"{name}:", f"  - {_json(change['before'])}", f"  + {_json(change['after'])}"]
    lines += [f"message: {message}" for message in document["messages"]]
    if document["exit"] is not None:
        lines.append(f"exit: {document['exit']}" + (" (timed out)" if document["timed_out"] else ""))
        lines += [f"stdout: {line}" for line in document["stdout"].splitlines()]
        lines += [f"stderr: {line}" for line in document["stderr"].splitlines()]
    return neutralise_lines("".join(f"{line}\n" for line in lines))


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
