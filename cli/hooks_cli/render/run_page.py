"""The page of `hooks show`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from hooks_cli.render.attempts_page import answer_line, attempts_table, last_attempt_facts, stderr_lines
from hooks_cli.render.draws_page import draws_page, draws_word
from hooks_cli.render.gates import gates_page
from hooks_cli.render.text import duration, neutralise, neutralise_lines, one_line, short_json, table, took

_WIDTH = 400
_NODE_ERROR_WIDTH = 80
_OUTPUT_WIDTH = 20_000
_MOST_ITEMS = 100
_MOST_DECISIONS = 20


def run_page(document: dict[str, Any]) -> str:
    """A run for a person: the facts, its nodes, its error, and what to type next."""
    facts: list[tuple[str, str | None]] = [
        ("Run", document["run_id"]),
        ("Rerun of", _rerun_of(document["rerun_of"])),
        ("Workflow", f"{document['workflow_id']} (version {document['version']})"),
        ("Status", _status(document)),
        *(("Cancelled", _cancelled(cancel)) for cancel in document["cancels"]),
        ("Started", f"{document['created_at']} by {document['initiator']}, {duration(document['elapsed_ms'])}"),
        ("Driver", document["driver"]),
        ("Due", document["next_due_at"]),
        ("Directory", document["directory"]),
        ("Params", short_json(document["params"])),
        ("Metadata", short_json(document["metadata"])),
        ("Hooks", ", ".join(hook["name"] for hook in document["hooks"])),
    ]
    parts = [_facts(facts), _nodes(document["nodes"])]
    if document["decisions"]:
        parts.append(_decisions(document["decisions"]))
    if document["gates"]:
        parts.append(gates_page(document["gates"]))
    if document["error"]:
        error = document["error"]
        place = f"{error['node']}: " if error["node"] else ""
        parts.append(one_line(f"{place}{error['errorCode']}: {error['errorMessage']}", _WIDTH) + "\n")
    return "\n".join([*parts, *_next(document)])


def node_page(document: dict[str, Any]) -> str:
    """One node for a person, with its output."""
    facts = [
        ("Node", document["name"]),
        ("Run", document["run_id"]),
        ("Status", _node_status(document)),
        ("Cancelled", document["cancelled_by"] and _cancelled(document["cancelled_by"])),
        ("Performed by", document["performed_by"]),
        ("Depends", ", ".join(document["depends"])),
        ("Taken over", document["rerun_of"]["run_id"] if document["taken_over"] else None),
        ("Attempts", None if document["taken_over"] else str(document["attempts"])),
        ("Next try", _next_try(document)),
        ("Round", document["round"] and str(document["round"])),
        ("Started", document["started_at"]),
        ("Ended", document["ended_at"]),
        ("Took", None if document["ended_at"] is None or document["taken_over"] else took(document)),
    ]
    # Of a fan-out each item has attempts of its own, and a page of its own.
    history = document["history"] if document["items"] is None else []
    # What is in doubt has a paragraph with all there is to go by.
    parts = [_facts(facts if document["doubts"] else [*facts, *last_attempt_facts(history)])]
    if len(history) > 1:
        parts.append(attempts_table(history))
    parts += map(answer_line, document["answers"])
    if document["gates"]:
        parts.append(gates_page(document["gates"]))
    if document["error"]:
        error = document["error"]
        parts.append(neutralise_lines(f"{error['errorCode']} ({error['errorClass']}): {error['errorMessage']}\n"))
        parts += stderr_lines(history)
    parts += map(_doubt, document["doubts"])
    parts += map(_unsettled, document["unsettled"])
    parts += map(_decision, document["decisions"])
    if document["sampling"]:
        parts.append(draws_page(document["sampling"]))
    if document["items"]:
        parts.append(_items(document["items"]))
    if document["rounds"]:
        parts.append(_rounds(document["rounds"]))
    if document["body"]:
        parts.append(_nodes(document["body"]))
    if document["output"] is not None:
        parts.append(_output(document["output"]))
    return "\n".join([*parts, *_next(document)])


def _rerun_of(origin: dict[str, str] | None) -> str | None:
    return None if origin is None else f"{origin['run_id']}, from {origin['from']}"


def _cancelled(cancel: dict[str, Any]) -> str:
    what = f"{cancel['node']} " if cancel["node"] else ""
    why = f": {cancel['reason']}" if cancel["reason"] else ""
    return one_line(f"{what}by {cancel['by']}{why}", _WIDTH)


def _next_try(document: dict[str, Any]) -> str | None:
    due, number = document["next_try_at"], document["next_try"]
    return due if number is None else f"{due}, attempt {number} of {document['max_attempts']}"


def _next(document: dict[str, Any]) -> list[str]:
    steps = "".join(f"    {command}\n" for command in document["next"])
    return [f"Next:\n{steps}"] if steps else []


def _node_status(document: dict[str, Any]) -> str:
    word = _word(document)
    why = document["skipped_because"] or document["not_run_because"] or _answer(document).get("comment")
    return f"{word}: {why}" if why else word


def _word(node: dict[str, Any]) -> str:
    """The status of a node; of a decision what was decided, since it has done its work either way."""
    return "rejected" if _answer(node).get("approved") is False else str(node["status"])


def _answer(node: dict[str, Any]) -> dict[str, Any]:
    output = node["output"]
    return output if node["type"] == "decision" and isinstance(output, dict) else {}


def _doubt(document: dict[str, Any]) -> str:
    """What is known of an effect in doubt."""
    facts = [
        ("In doubt", f"{document['place']}, attempt {document['attempt']}: {document['reason_text']}"),
        ("Key", document["idempotency_key"]),
        ("Input", short_json(document["input"])),
        ("Stdout", document["stdout"]),
        ("Stderr", document["stderr"]),
    ]
    return _facts(facts)


def _unsettled(document: dict[str, Any]) -> str:
    """An effect of which nobody can say yet whether it happened."""
    facts = [
        ("Unsettled", f"{document['place']}, attempt {document['attempt']}: nobody can say yet whether it happened"),
        ("Asked last", document["looked_up_at"]),
        ("Asked again", "while the run is driven: after 1s, and then after twice as long each time, up to 1m"),
        ("Answer in", document["look_up"]),
    ]
    return _facts(facts)


def _decisions(decisions: list[dict[str, Any]]) -> str:
    """What hooks said, a row for each; what they changed stands on the page of the node."""
    rows = [
        [str(each["seq"]), each["node"] or "-", each["hook"], neutralise(each["name"]), each["outcome"], _reason(each)]
        for each in decisions[-_MOST_DECISIONS:]
    ]
    left_out = len(decisions) - len(rows)
    more = f"… ({left_out:,} before these; --json shows all)\n" if left_out else ""
    return table([["SEQ", "AT", "ASKED AT", "HOOK", "SAID", "REASON"], *rows]) + more


def _decision(decision: dict[str, Any]) -> str:
    """What one hook said at a node, with the values it changed."""
    reason = f" ({decision['reason']})" if decision["reason"] else ""
    lines = [f"{decision['hook']}: {decision['name']}: {decision['outcome']}{reason}"]
    for name, change in decision["changed"].items():
        lines += [
            f"  {name}:",
            *(f"    {sign} {_json(change[side])}" for sign, side in (("-", "before"), ("+", "after"))),
        ]
    return "".join(f"{one_line(line, _OUTPUT_WIDTH)}\n" for line in lines)


def _reason(decision: dict[str, Any]) -> str:
    what = f"changed {', '.join(decision['changed'])}" if decision["changed"] else decision["reason"] or ""
    return one_line(what, _NODE_ERROR_WIDTH)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _status(document: dict[str, Any]) -> str:
    """A run that goes on has no exit code yet."""
    status = str(document["status"])
    return status if status == "running" else f"{status} (exit code {document['exit_code']})"


def _facts(facts: list[tuple[str, str | None]]) -> str:
    return "".join(f"{name:<13}{neutralise(value)}\n" for name, value in facts if value)


def _nodes(nodes: dict[str, Any]) -> str:
    return table([["NODE", "STATUS", "ATTEMPTS", "TOOK", "BY", "ERROR"], *_rows(nodes)])


def _rows(nodes: dict[str, Any]) -> Iterator[list[str]]:
    """A row for each node; those of a loop's last round follow the loop."""
    for node in nodes.values():
        yield [
            node["name"],
            _word(node),
            _attempts(node),
            "-" if node["taken_over"] else took(node),
            neutralise(node["performed_by"]),
            _short_error(node) or node["not_run_because"] or "",
        ]
        yield from _rows(node["body"] or {})


def _attempts(node: dict[str, Any]) -> str:
    if node["taken_over"]:
        return "taken over"
    if node["type"] == "loop":
        return f"round {node['round']}" if node["round"] else "-"
    if node["items"] is None:
        return _tries(node)
    succeeded = sum(item["status"] == "succeeded" for item in node["items"])
    return f"{succeeded}/{len(node['items'])} items"


def _tries(document: dict[str, Any]) -> str:
    """The attempts, and the draws of the last one where there is more to them than one answer."""
    return ", ".join(filter(None, [str(document["attempts"]), draws_word(document)]))


def _items(items: list[dict[str, Any]]) -> str:
    rows = [
        [str(item["index"]), item["status"], _tries(item), took(item), _short_error(item)]
        for item in items[:_MOST_ITEMS]
    ]
    left_out = f"… ({len(items) - _MOST_ITEMS:,} more; --json shows all)\n" if items[_MOST_ITEMS:] else ""
    return table([["ITEM", "STATUS", "ATTEMPTS", "TOOK", "ERROR"], *rows]) + left_out


def _rounds(rounds: list[dict[str, Any]]) -> str:
    rows = [
        [str(each["round"]), each["outcome"] or "-", took(each), neutralise(each["by"] or "-"), _comment(each)]
        for each in rounds[-_MOST_ITEMS:]
    ]
    left_out = len(rounds) - len(rows)
    more = f"… ({left_out:,} before these; --json shows all)\n" if left_out else ""
    return table([["ROUND", "ENDED", "TOOK", "BY", "COMMENT"], *rows]) + more


def _comment(answered: dict[str, Any]) -> str:
    return one_line(answered["comment"], _NODE_ERROR_WIDTH)


def _short_error(document: dict[str, Any]) -> str:
    return one_line((document["error"] or {}).get("errorMessage", ""), _NODE_ERROR_WIDTH)


def _output(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    shown = neutralise_lines(text[:_OUTPUT_WIDTH])
    left_out = len(text) - _OUTPUT_WIDTH
    return f"{shown}\n" if left_out <= 0 else f"{shown}\n… ({left_out:,} more characters; --json shows all)\n"
