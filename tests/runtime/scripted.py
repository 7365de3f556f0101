"""Agents that answer from a script, and hooks that keep a record of when they are asked: real files beside a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hooks.definition.hook_points import RULES, HookType
from hooks.definition.model import HookEntry, PythonAgent

AGENT = '''\
import fcntl
import json
from pathlib import Path
from hooks.agents.base import AgentError
from hooks.events.payloads import ErrorInfo

HERE = Path(__file__).parent

def answer(prompt, options=None, messages=None):
    """The next line of the script of this agent; what it was asked is kept."""
    name = Path(__file__).stem
    asked = HERE / f"{name}.asked.jsonl"
    with asked.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several may be asked at once, and each answer is given to one
        file.write(json.dumps({"prompt": prompt, "options": options, "messages": messages}) + "\\n")
        file.flush()
        turn = len(asked.read_text().splitlines())
    script = json.loads((HERE / f"{name}.script.json").read_text())
    said = script[turn - 1]
    if isinstance(said, dict) and "error_class" in said:
        error = ErrorInfo(error_code="Scripted", error_class=said["error_class"], error_message=said["message"])
        raise AgentError(error)
    return said
'''

HOOK = '''\
import json
from pathlib import Path
from hooks import ask, block, modify

HERE = Path(__file__).parent

def look(payload):
    """Say what the plan has for this question: the hook point and the ordinal of the question."""
    ordinal = payload.request_id.rsplit("::", 1)[1]
    with (HERE / "points.jsonl").open("a") as file:
        file.write(json.dumps([payload.hook, int(ordinal), payload.node_id]) + "\\n")
    said = json.loads((HERE / "plan.json").read_text()).get(f"{payload.hook} {ordinal}")
    if said is None:
        return None
    if "block" in said:
        return block(said["block"])
    if "ask" in said:
        return ask(said["ask"])
    return modify(**said)
'''


def scripted(directory: Path, name: str, answers: Sequence[Any], **fields: Any) -> PythonAgent:
    """An agent that gives these answers, in order; {error_class, message} is an error."""
    (directory / f"{name}.py").write_text(AGENT)
    (directory / f"{name}.script.json").write_text(json.dumps(list(answers)))
    return PythonAgent(name=name, callable=f"{name}.py:answer", **fields)


def failing(error_class: str, message: str = "broken") -> dict[str, str]:
    return {"error_class": error_class, "message": message}


def asked(directory: Path, name: str) -> list[dict[str, Any]]:
    """What the agent was asked, in order."""
    file = directory / f"{name}.asked.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def looking(directory: Path, plan: dict[str, Any] | None = None) -> HookEntry:
    """A hook at every point where hooks decide; `plan` has what it says, by "<hook point> <ordinal>"."""
    (directory / "look.py").write_text(HOOK)
    (directory / "plan.json").write_text(json.dumps(plan or {}))
    points = [str(point) for point in HookType if not RULES[point].observe_only]
    return HookEntry(name="look", on=points, python="look.py:look", declared_in=str(directory / "workflow.yaml"))


def points(directory: Path, *left_out: str) -> list[tuple[str, int]]:
    """The points at which the hook was asked, each with its ordinal, in order."""
    lines = [json.loads(line) for line in (directory / "points.jsonl").read_text().splitlines()]
    return [(point, ordinal) for point, ordinal, _ in lines if point not in left_out]
