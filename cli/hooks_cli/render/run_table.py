"""The table of `hooks ls`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hooks_cli.render.text import duration, neutralise, one_line, table

_ERROR_WIDTH = 60


def run_table(documents: Sequence[dict[str, Any]]) -> str:
    """One row for each run document; only the header when there is none."""
    header = ["RUN", "STATUS", "WORKFLOW", "STARTED", "ELAPSED", "SUCCEEDED", "ERROR"]
    return table([header, *map(_row, documents)])


def _row(document: dict[str, Any]) -> list[str]:
    error = document["error"] or {}
    message = error.get("errorMessage") or error.get("message") or ""
    cells = [neutralise(document["run_id"]), _status(document)]
    if "created_at" in document:
        cells += [
            document["workflow_id"],
            document["created_at"][:19] + "Z",
            duration(document["elapsed_ms"]),
            f"{document['nodes_succeeded']}/{document['nodes_total']}",
        ]
    else:
        cells += ["-", "-", "-", "-"]
    node = f"{error['node']}: " if error.get("node") else ""
    return [*cells, one_line(node + message, _ERROR_WIDTH)]


def _status(document: dict[str, Any]) -> str:
    """One that has ended may have left something in doubt, which a person still has to settle."""
    status = document["status"] or "unreadable"
    return f"{status}, in doubt" if document.get("in_doubt") and status != "in_doubt" else status
