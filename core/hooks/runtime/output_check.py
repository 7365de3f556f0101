"""Checking an output against the node's output_schema (JSON Schema 2020-12)."""

from __future__ import annotations

from typing import Any


def schema_problem(schema: Any, value: Any) -> str | None:
    """The first thing in `value` that `schema` does not allow, with the path to it, or None."""
    import jsonschema_rs  # 20 ms that a run without schemas need not pay

    error = next(jsonschema_rs.Draft202012Validator(schema).iter_errors(value), None)
    if error is None:
        return None
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
    return f"at {path or 'the top'}: {error.message}"
