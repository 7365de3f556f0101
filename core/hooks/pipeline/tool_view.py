"""An effect as the tool call that hooks of CLI agents know: tool_name, tool_input, tool_use_id, tool_response.

`tool_input` is the input of the effect; for shell it also has `command`, for file `file_path`, the words that such
hooks look for. What they give back as `updatedInput` replaces the input; where one of these added words was changed, it
is mapped back to what it stands for.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from hooks.definition.hook_points import HookType
from hooks.pipeline.dispatch import Json, PayloadDocument

_TOOLS = {"shell": "Bash", "file": "Write"}
_CALLS = frozenset({HookType.EFFECT_PRE_ATTEMPT, HookType.EFFECT_POST_SETTLE, HookType.EFFECT_RECONCILED})


def tool_view(document: PayloadDocument) -> dict[str, Json]:
    """The keys that are added to the payload of an effect point; none at other points."""
    if document["hook"] not in _CALLS:
        return {}
    executor = document["executor"]
    view: dict[str, Json] = {
        "tool_name": _TOOLS.get(executor, executor),
        "tool_input": {**document["input"], **_added(executor, document["input"])},
        "tool_use_id": document["idempotency_key"],
    }
    if document["hook"] != HookType.EFFECT_PRE_ATTEMPT:
        view["tool_response"] = document["output"]
    return view


def input_of_update(document: PayloadDocument, updated: Mapping[str, Any]) -> dict[str, Json]:
    """The input that an `updatedInput` stands for."""
    executor, before = document["executor"], document["input"]
    added = _added(executor, before)
    after = {key: value for key, value in updated.items() if key not in added}
    for key, was in added.items():
        if key in updated and updated[key] != was:
            after |= _meant_by(key, updated[key])
        elif key in updated:
            # It was left as it is, and so is what it stands for, also where only the added word came back.
            after = {name: before[name] for name in _STANDS_FOR[key] if name in before} | after
    return {name: value for name, value in after.items() if not _is_replaced(name, updated, added)}


_STANDS_FOR = {"command": ("argv", "script"), "file_path": ("path",)}


def _added(executor: str, given: Mapping[str, Any]) -> dict[str, Json]:
    if executor == "shell" and "command" not in given:
        argv = given.get("argv")
        return {"command": shlex.join(map(str, argv)) if isinstance(argv, list) else given.get("script")}
    if executor == "file" and "file_path" not in given:
        return {"file_path": given.get("path")}
    return {}


def _meant_by(key: str, value: Any) -> dict[str, Json]:
    return {"argv": ["sh", "-c", value]} if key == "command" else {"path": value}


def _is_replaced(name: str, updated: Mapping[str, Any], added: Mapping[str, Any]) -> bool:
    """Whether this is the script of a shell call whose command was changed: it would be one way too many to say it."""
    return name == "script" and "command" in added and updated.get("command", added["command"]) != added["command"]
