"""What `approve`, `reject` and `resolve` share: what is said of a request that was granted.

A request is told as granted only when the event that grants it is durable. Nothing is started by it, so the next
command to type is told as well.
"""

from __future__ import annotations

from typing import Any

from hooks.runtime.reading import RunView
from hooks_cli.render.documents import now_ms
from hooks_cli.render.next_steps import next_commands
from hooks_cli.render.run_end import end_document
from hooks_cli.render.streams import emit_json, say
from hooks_cli.render.text import neutralise


def tell_granted(view: RunView, what: str, facts: dict[str, Any], *, schema: str, quiet: bool, as_json: bool) -> int:
    """Say what was granted and what to type next, unless `quiet`; the exit code, which is that of success."""
    if as_json:
        emit_json({"schema": schema, **end_document(view, now_ms()), **facts})
    elif not quiet:
        lines = [neutralise(what), *(f"    {command}" for command in next_commands(view))]
        say("\n".join(lines))
    return 0
