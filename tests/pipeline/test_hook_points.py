"""What is computed from the class of a hook point."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest
from pydantic import ValidationError

from hooks.definition.hook_points import HookType
from hooks.pipeline.frozen import freeze
from hooks.pipeline.hook_points import HOOK_POINTS, payload_schema, read_payload
from tests.pipeline.builders import POINTS, document_at


def test_every_hook_type_has_its_class() -> None:
    assert list(HOOK_POINTS) == list(HookType)


def test_the_writable_fields_are_those_of_the_specification() -> None:
    writable = {point: payload.writable_fields() for point, payload in HOOK_POINTS.items() if payload.writable_fields()}

    assert writable == {
        "component_pre_execute": ("requirements", "model_options", "format", "strategy", "tool_calls_enabled"),
        "sampling_loop_start": ("loop_budget",),
        "generation_pre_call": ("prompt", "model_options", "format", "tool_calls_enabled"),
        "validation_pre_check": ("requirements", "model_options"),
        "validation_post_check": ("results",),
        "effect_pre_attempt": ("input",),
    }


@pytest.mark.parametrize("point", POINTS)
def test_the_schema_describes_the_payload_and_marks_what_is_writable(point: str) -> None:
    schema = payload_schema(point)

    assert jsonschema_rs.Draft202012Validator(schema).is_valid(document_at(point))
    writable = [name for name, field in schema["properties"].items() if field.get("writable")]
    assert tuple(writable) == HOOK_POINTS[point].writable_fields()
    assert set(schema["required"]) == set(schema["properties"])


def test_a_payload_with_a_field_too_many_is_none() -> None:
    with pytest.raises(ValidationError):
        read_payload({**document_at("component_pre_execute"), "extra": 1})


def test_frozen_json_reads_like_json_and_cannot_be_changed() -> None:
    plain = {"a": [1, {"b": None}]}
    frozen = freeze(plain)

    assert frozen == plain
    assert json.loads(json.dumps(frozen)) == plain
    assert freeze(frozen) is frozen
    changes: list[Callable[[], Any]] = [
        lambda: frozen.update(a=1),
        lambda: frozen.__setitem__("a", 1),
        lambda: frozen.__ior__({"a": 1}),
        lambda: frozen["a"].append(2),
        lambda: frozen["a"].__iadd__([2]),
        lambda: frozen["a"][1].clear(),
        lambda: frozen["a"].sort(),
    ]
    for change in changes:
        with pytest.raises(TypeError, match="cannot be changed in place"):
            change()
    assert frozen == plain


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_of_frozen_json_is_ordinary_all_the_way_down(copied: Callable[[Any], Any]) -> None:
    ordinary = copied(freeze({"a": [1, {"b": None}]}))

    ordinary["a"][1]["b"] = 2
    ordinary["a"].append(3)
    assert ordinary == {"a": [1, {"b": 2}, 3]}
