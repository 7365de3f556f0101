"""`hooks schema WHAT`: JSON Schemas, for editors and for who writes hooks."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hooks.definition.hook_points import HookType
from hooks.errors import UsageError
from hooks.pipeline.hook_points import payload_schema
from hooks_cli.commands.policy import required_point
from hooks_cli.render.streams import emit_json

_LATER = ("workflow", "event", "config", "result")


def schema(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="payload")],
    point: Annotated[str | None, typer.Argument(metavar="[HOOK]", help="Of payload: only of this hook point.")] = None,
) -> int:
    """Print a JSON Schema. `schema payload` has that of every hook point; fields a hook may change are `writable`."""
    if what in _LATER:
        raise UsageError(f"`hooks schema {what}` is not supported yet.", fix="`hooks schema payload` is.")
    if what != "payload":
        raise UsageError(f"There is no schema of {what!r}.", fix="`hooks schema payload`")
    emit_json(_payloads() if point is None else payload_schema(required_point(point)))
    return 0


def _payloads() -> dict[str, Any]:
    """One schema for all payloads: which one it is, `hook` says."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Payloads of hooks",
        "oneOf": [
            {**payload_schema(point), "$id": f"hooks:payload/{point}", "properties": _properties(point)}
            for point in HookType
        ],
    }


def _properties(point: HookType) -> dict[str, Any]:
    properties: dict[str, Any] = payload_schema(point)["properties"]
    return {**properties, "hook": {**properties["hook"], "const": point.value}}
