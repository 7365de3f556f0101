"""The page of `hooks run --dry-run`: what would run, and with what."""

from __future__ import annotations

from typing import Any

import orjson

from hooks_cli.render.text import neutralise, one_line, table

_WIDTH = 400


def plan_page(plan: dict[str, Any]) -> str:
    """A plan for a person: the params as they were understood, and the nodes in the order of the file."""
    lines = [f"{neutralise(plan['workflow_id'])}: ok, nothing was started\n"]
    lines += [
        f"  {name} = {one_line(orjson.dumps(value).decode(), _WIDTH)}\n" for name, value in plan["params"].items()
    ]
    rows = [[node["node"], neutralise(node["performed_by"]), ", ".join(node["depends"])] for node in plan["nodes"]]
    return "".join(lines) + "\n" + table([["NODE", "BY", "DEPENDS"], *rows])
