"""An output schema as an endpoint takes it: strict where every object is closed and whole."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.agents.response_format import is_strict, response_format

CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (None, None),
        (False, None),
        (True, {"type": "json_object"}),
        ({}, {"type": "json_object"}),
        (CLOSED, {"type": "json_schema", "json_schema": {"name": "answer", "schema": CLOSED, "strict": True}}),
        (
            {"type": "array", "title": "All the notes!"},
            {
                "type": "json_schema",
                "json_schema": {
                    "name": "All_the_notes",
                    "schema": {"type": "array", "title": "All the notes!"},
                    "strict": False,
                },
            },
        ),
    ],
)
def test_a_schema_becomes_a_response_format(schema: Any, expected: Any) -> None:
    assert response_format(schema) == expected


@pytest.mark.parametrize(
    ("change", "strict"),
    [
        ({}, True),
        ({"properties": {"a": CLOSED}}, True),
        ({"properties": {"a": {"type": "array", "items": CLOSED}}}, True),
        ({"required": []}, False),
        ({"additionalProperties": True}, False),
        ({"minProperties": 1}, False),
        ({"properties": {"a": {"type": "object"}}}, False),
        ({"properties": {"a": {"type": ["object", "null"]}}}, False),
        ({"properties": {"a": {"anyOf": [CLOSED, {"type": "string", "pattern": "x"}]}}}, False),
        ({"properties": {"a": True}}, False),
    ],
)
def test_a_schema_that_says_more_is_not_strict(change: dict[str, Any], strict: bool) -> None:
    assert is_strict({**CLOSED, **change}) is strict
