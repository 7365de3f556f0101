"""The page of `hooks show`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from hooks_cli.render.text import duration, neutralise, neutralise_lines, one_line, table

_WIDTH = 400
_NODE_ERROR_WIDTH = 80
_OUTPUT_WIDTH = 20_000


def run_page(document: dict[str, Any]) -> str:
    """A run for a person: the facts, its nodes, its error, and what to type next."""
    facts = [
        ("Run", document["run_id"]),
        ("Workflow", f"{document['workflow_id']} (version {document['version']})"),
        ("Status", _status(document)),
        ("Started", f"{document['created_at']} by {document['initiator']}, {duration(document['elapsed_ms'])}"),
        ("Driver", document["driver"]),
        ("Due", document["next_due_at"]),
        ("Directory", document["directory"]),
        ("Params", _short(document["params"])),
        ("Metadata", _short(document["metadata"])),
        ("Hooks", ", ".join(hook["name"] for hook in document["hooks"])),
    ]
    parts = [_facts(facts), _nodes(document["nodes"])]
    if document["error"]:
        error = document["error"]
        parts.append(one_line(f"{error['node']}: {error['errorCode']}: {error['errorMessage']}", _WIDTH) + "\n")
    if document["next"]:
        parts.append("Next:\n" + "".join(f"    {command}\n" for command in document["next"]))
    return "\n".join(parts)


def node_page(document: dict[str, Any]) -> str:
    """One node for a person, with its output."""
    facts = [
        ("Node", document["node"]),
        ("Run", document["run_id"]),
        ("Status", document["status"]),
        ("Performed by", document["performed_by"]),
        ("Depends", ", ".join(document["depends"])),
        ("Attempts", str(document["attempts"])),
        ("Started", document["started_at"]),
        ("Ended", document["ended_at"]),
    ]
    parts = [_facts(facts)]
    if document["error"]:
        error = document["error"]
        parts.append(neutralise_lines(f"{error['errorCode']} ({error['errorClass']}): {error['errorMessage']}\n"))
    if document["output"] is not None:
        parts.append(_output(document["output"]))
    return "\n".join(parts)


def _status(document: dict[str, Any]) -> str:
    """A run that goes on has no exit code yet."""
    status = str(document["status"])
    return status if status == "running" else f"{status} (exit code {document['exit_code']})"


def _facts(facts: list[tuple[str, str | None]]) -> str:
    return "".join(f"{name:<13}{neutralise(value)}\n" for name, value in facts if value)


def _nodes(nodes: dict[str, Any]) -> str:
    rows = [["NODE", "STATUS", "ATTEMPTS", "TOOK", "BY", "ERROR"]]
    for node_id, node in nodes.items():
        error = node["error"] or {}
        rows.append(
            [
                node_id,
                node["status"],
                str(node["attempts"]),
                _took(node),
                neutralise(node["performed_by"]),
                one_line(error.get("errorMessage", ""), _NODE_ERROR_WIDTH),
            ]
        )
    return table(rows)


def _took(node: dict[str, Any]) -> str:
    if node["started_at"] is None or node["ended_at"] is None:
        return "-"
    span = datetime.fromisoformat(node["ended_at"]) - datetime.fromisoformat(node["started_at"])
    return duration(round(span.total_seconds() * 1000))


def _short(value: Any) -> str:
    return one_line(orjson.dumps(value).decode(), _WIDTH) if value else ""


def _output(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    shown = neutralise_lines(text[:_OUTPUT_WIDTH])
    left_out = len(text) - _OUTPUT_WIDTH
    return f"{shown}\n" if left_out <= 0 else f"{shown}\n… ({left_out:,} more characters; --json shows all)\n"
