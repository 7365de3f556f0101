"""Payloads are pure functions of state and event, and what the classes of the hook points say they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.events.payloads import ComponentSucceeded, HookChange, HookDecided, HookDecision
from hooks.ids import attempt_directory
from hooks.kernel.state import DecidedHook
from hooks.pipeline.effective import effective_fields, payload_digest
from hooks.pipeline.hook_points import read_payload, to_document
from hooks.pipeline.payloads import component_post_success, component_pre_execute
from tests.pipeline.builders import (
    POINTS,
    RUN,
    START,
    document_at,
    drawn,
    occasion,
    started_run,
    who,
)

ATTEMPT = f"{RUN}::work::draft::att-1"
COMMON = {
    "schema_version": 1,
    "run_id": RUN,
    "workflow_id": "notes",
    "node_id": "draft",
    "activity_id": f"{RUN}::work::draft",
    "attempt_id": ATTEMPT,
    "attempt": 1,
    "loop_iteration": None,
    "item_index": None,
    "session_id": RUN,
    "params": {"since": "v1"},
    "user_metadata": {"team": "docs", "tier": 1, "ticket": "T-1"},
    "verdict": None,
    "action_id": f"{ATTEMPT}::action",
    "component_type": "AgentStep",
    "action": {"kind": "agent_step", "node_id": "draft", "agent": "writer", "prompt": "Write."},
}
EMPTY = {"messages": [], "digest": "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"}


def test_component_pre_execute_of_an_agent_step() -> None:
    assert document_at("component_pre_execute") == {
        **COMMON,
        "hook": "component_pre_execute",
        "request_id": f"{ATTEMPT}::component_pre_execute::1",
        "timestamp": "2026-01-01T12:00:00.003Z",
        "context_view": [],
        "requirements": [],
        "model_options": {"temperature": 1},
        "format": None,
        "strategy": None,
        "tool_calls_enabled": False,
    }


def test_component_pre_execute_of_an_executor_call() -> None:
    document = document_at("component_pre_execute", "publish")

    assert document["component_type"] == "HostExecutorCall"
    assert document["action"] == {
        "kind": "host_executor",
        "node_id": "publish",
        "executor": "file",
        "input": {"path": "NOTES.md"},
    }
    model_fields = ("context_view", "requirements", "model_options", "format", "strategy", "tool_calls_enabled")
    assert [document[name] for name in model_fields] == [None, [], {}, None, None, False]


def test_component_post_success_of_an_agent_step() -> None:
    document = document_at("component_post_success")

    result = {"text": "Notes.", "value": None, "model": "m", "usage": {"tokens": 7}, "finish_reason": None}
    context_after = document.pop("context_after")
    assert document == {
        **COMMON,
        "hook": "component_post_success",
        "request_id": f"{ATTEMPT}::component_post_success::1",
        "timestamp": "2026-01-01T12:00:00.000Z",
        "result": result,
        "context_before": EMPTY,
        "generate_log": {
            "prompt": "Write.",
            "model": "m",
            "provider": "command",
            "model_options": {"temperature": 1},
            "usage": {"tokens": 7},
            "started_at": "2026-01-01T12:00:00.006Z",
            "latency_ms": 12,
            "raw_ref": f"attempts/{attempt_directory(who('draft')['activity_id'], 1)}/stdout",
        },
        "sampling_results": [result],
        "sampling_success": True,
        "latency_ms": 34,
    }
    assert context_after["messages"] == [
        {"role": "user", "content": "Write."},
        {"role": "assistant", "content": "Notes."},
    ]


def test_component_post_success_of_an_executor_call() -> None:
    document = document_at("component_post_success", "publish")

    assert document["result"] == {
        "text": None,
        "value": "Notes.",
        "model": None,
        "usage": None,
        "finish_reason": None,
    }
    nulls = ("generate_log", "sampling_results", "sampling_success")
    assert [document[name] for name in nulls] == [None, None, None]
    assert document["context_before"] == document["context_after"] == EMPTY


def test_component_post_error_of_an_agent_step() -> None:
    assert document_at("component_post_error") == {
        **COMMON,
        "hook": "component_post_error",
        "request_id": f"{ATTEMPT}::component_post_error::1",
        "timestamp": "2026-01-01T12:00:00.000Z",
        "error": {
            "error_code": "AgentError",
            "error_class": "retryable",
            "error_message": "rate limit",
            "details": {},
        },
        "error_type": "AgentError",
        "stack_trace": "at line 1",
        "context": EMPTY,
        "model_options": {"temperature": 1},
    }


def test_the_value_a_step_made_of_an_answer_is_the_value_of_its_result() -> None:
    state = drawn(started_run(), text='{"title": "t"}')

    document = component_post_success(occasion(state), ComponentSucceeded(**who("draft"), output={"title": "t"}), START)

    assert (document["result"]["text"], document["result"]["value"]) == ('{"title": "t"}', {"title": "t"})


def test_values_are_read_from_their_blobs() -> None:
    blobs = {"blob:prompt": "Write.", "blob:options": {"temperature": 1}}
    state = started_run(bound="blob:prompt", model_options="blob:options")

    def resolve(value: Any) -> Any:
        return blobs.get(value, value) if isinstance(value, str) else value

    assert component_pre_execute(occasion(state, resolve=resolve)) == document_at("component_pre_execute")


def decided(seq: int, ordinal: int, *changes: dict[str, Any]) -> DecidedHook:
    decisions = [
        HookDecision(
            plugin="p",
            origin="workflow",
            digest="0",
            mode="sequential",
            outcome="changed",
            changed={name: HookChange(before=None, after=value) for name, value in fields.items()},
        )
        for fields in changes
    ]
    return DecidedHook(
        seq,
        HookDecided(
            hook="component_pre_execute",
            **who("draft"),
            ordinal=ordinal,
            payload_digest="0",
            verdict="changed",
            decisions=decisions,
        ),
    )


def test_what_is_in_force_is_what_was_bound_with_the_logged_changes_applied_in_order() -> None:
    state = started_run()
    here = occasion(state)
    superseded = decided(7, 1, {"format": {"title": "old"}, "strategy": {}})
    here.attempt.hooks += [superseded, decided(8, 1, {"format": {"title": "a"}}, {"format": {"title": "b"}})]

    assert effective_fields(here) == {
        "requirements": [],
        "model_options": {"temperature": 1},
        "format": {"title": "b"},
        "strategy": None,
        "tool_calls_enabled": False,
    }


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("node", ["draft", "publish"])
def test_a_payload_round_trips_through_the_class_of_its_point(point: str, node: str) -> None:
    document = document_at(point, node)

    assert to_document(read_payload(document)) == document


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    params=st.dictionaries(st.text(), JSON, max_size=3),
    prompt=st.text(),
    options=st.dictionaries(st.text(), JSON, max_size=3),
)
def test_any_json_round_trips(params: dict[str, Any], prompt: str, options: dict[str, Any]) -> None:
    state = started_run(bound=prompt, model_options=options)
    document = {**component_pre_execute(occasion(state)), "params": params}

    assert to_document(read_payload(document)) == document


def test_a_digest_tells_what_is_asked_and_not_when() -> None:
    document = document_at("component_post_success")
    again = document_at("component_post_success")
    later = {
        **again,
        "timestamp": "2030-01-01T00:00:00.000Z",
        "request_id": "another",
        "latency_ms": 99,
        "generate_log": {**again["generate_log"], "latency_ms": 99, "started_at": "2030-01-01T00:00:00.000Z"},
    }
    other = {**again, "result": {**again["result"], "text": "Other notes."}}

    assert payload_digest(document) == payload_digest(later)
    assert payload_digest(document) != payload_digest(other)
