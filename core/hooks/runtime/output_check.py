"""Checking an output against the node's output_schema (JSON Schema 2020-12): as a requirement's `schema` is checked."""

from __future__ import annotations

from hooks.sampling.checks import schema_problem

__all__ = ["schema_problem"]
