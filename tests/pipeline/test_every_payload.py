"""The payloads of runs, effects, gates and cancels: every field, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hooks.definition.hook_points import RULES, HookType
from hooks.events.payloads import HookChange, HookDecided, HookDecision, WaitDeadlineExceeded
from hooks.kernel.state import DecidedHook, WaitState
from hooks.pipeline.effect_payloads import effect_post_settle
from hooks.pipeline.hook_points import HOOK_POINTS, read_payload, to_document
from hooks.pipeline.lazy_payload import payload_of
from hooks.pipeline.payload_parts import context_value
from hooks.pipeline.payloads import component_pre_execute
from hooks.pipeline.run_payloads import wait_resolved
from hooks.pipeline.samples import SAMPLE_INPUTS, sample_payload
from tests.pipeline.builders import RUN, START, occasion, started_run, who
from tests.pipeline.every_point import GATE, KEY, attempted, payload_at, run_occasion, settled

OF_THE_RUN = {
    "schema_version": 1,
    "run_id": RUN,
    "workflow_id": "notes",
    "node_id": None,
    "activity_id": None,
    "attempt_id": None,
    "attempt": None,
    "loop_iteration": None,
    "item_index": None,
    "session_id": RUN,
    "params": {"since": "v1"},
    "user_metadata": {"team": "all", "tier": 1, "ticket": "T-1"},
    "verdict": None,
}
ERROR = {"error_code": "ShellExit", "error_class": "retryable", "error_message": "exit 1", "details": {}}
GATE_FIELDS = {
    "node_id": "publish",
    "activity_id": f"{RUN}::gate::publish",
    "wait_id": f"{RUN}::gate::publish::1",
    "stage": "before",
    "prompt": "Publish?",
    "subject": {"path": "NOTES.md"},
    "digest": "d" * 64,
}
OF_THE_EFFECT = {
    **OF_THE_RUN,
    "node_id": "publish",
    "activity_id": f"{RUN}::work::publish",
    "attempt_id": f"{RUN}::work::publish::att-1",
    "attempt": 1,
    "executor": "file",
    "idempotency_key": KEY,
    "input": {"path": "NOTES.md"},
}
OWN_FIELDS: dict[HookType, dict[str, Any]] = {
    HookType.RUN_STARTED: {
        **OF_THE_RUN,
        "timestamp": "2026-01-01T12:00:00.000Z",
        "initiator": "test",
        "working_directory": "/w",
        "workflow_file": None,
    },
    HookType.RUN_RESUMED: {**OF_THE_RUN, "drivers": 1},
    HookType.RUN_FINISHED: {
        **OF_THE_RUN,
        "status": "failed",
        "failed_node": "publish",
        "error": ERROR,
        "cancel_reason": None,
        "latency_ms": 8,
    },
    HookType.ACTIVITIES_CANCELLED: {
        **OF_THE_RUN,
        "activity_ids": [f"{RUN}::work::draft"],
        "node_ids": ["draft"],
    },
    HookType.WAIT_CREATED: {
        **OF_THE_RUN,
        **GATE_FIELDS,
        "approvers": ["ann"],
        "deadline": "2026-01-01T12:01:00.000Z",
        "on_timeout": "fail",
    },
    HookType.WAIT_RESOLVED: {
        **OF_THE_RUN,
        **GATE_FIELDS,
        "resolution": "approved",
        "timed_out": False,
        "by": "ann",
        "comment": "go",
    },
    HookType.EFFECT_PRE_ATTEMPT: {
        **OF_THE_EFFECT,
        "timestamp": "2026-01-01T12:00:00.005Z",
        "user_metadata": OF_THE_RUN["user_metadata"],
        "read_only": False,
    },
    HookType.EFFECT_POST_SETTLE: {
        **OF_THE_EFFECT,
        "provider": "file",
        "outcome": "done",
        "output": {"bytes": 3},
        "error": None,
        "latency_ms": 4,
    },
    HookType.EFFECT_RECONCILED: {
        **OF_THE_EFFECT,
        "provider": "file",
        "outcome": "in_doubt",
        "reason": "NoReconciler",
        "output": None,
        "evidence": None,
        "error": None,
        "resolved_by": None,
    },
}


@pytest.mark.parametrize("point", OWN_FIELDS)
def test_a_payload_has_these_fields(point: HookType) -> None:
    about = f"{RUN}::work::publish::att-1" if point.startswith("effect") else RUN

    assert payload_at(point) == {
        "timestamp": "2026-01-01T12:00:00.009Z",
        **OWN_FIELDS[point],
        "hook": point.value,
        "request_id": f"{about}::{point}::1",
    }


@pytest.mark.parametrize("point", list(HookType))
def test_a_payload_is_what_its_class_says(point: HookType) -> None:
    document = payload_at(point)

    assert to_document(read_payload(document)) == document
    assert list(HOOK_POINTS[point].model_fields) == list(sample_payload(point))


@pytest.mark.parametrize("point", list(HookType))
@pytest.mark.parametrize("executor", SAMPLE_INPUTS)
def test_a_sample_is_a_payload(point: HookType, executor: str) -> None:
    sample = sample_payload(point, executor)

    assert to_document(read_payload(sample)) == sample


def test_the_input_after_an_effect_is_the_one_that_was_used() -> None:
    """What effect_pre_attempt changed is in force."""
    here = occasion(attempted(), "publish")
    change = HookDecision(
        plugin="p",
        origin="workflow",
        digest="0",
        mode="sequential",
        outcome="changed",
        changed={"input": HookChange(before={"path": "NOTES.md"}, after={"path": "OTHER.md"})},
    )
    decided = HookDecided(
        hook="effect_pre_attempt",
        **who("publish"),
        ordinal=1,
        payload_digest="0",
        verdict="changed",
        decisions=[change],
    )
    here.attempt.hooks.append(DecidedHook(9, decided))

    assert effect_post_settle(here, settled(), START)["input"] == {"path": "OTHER.md"}


def test_a_deadline_is_nobodys_answer() -> None:
    late = WaitDeadlineExceeded(wait_id=GATE.wait_id, approved=False)
    document = wait_resolved(run_occasion(), WaitState(GATE, START), late, START)

    assert {name: document[name] for name in ("resolution", "timed_out", "by", "comment")} == {
        "resolution": "rejected",
        "timed_out": True,
        "by": None,
        "comment": None,
    }


def test_the_results_of_a_check_can_be_turned_and_not_be_added_to() -> None:
    point = HOOK_POINTS[HookType.VALIDATION_POST_CHECK]
    document = sample_payload(HookType.VALIDATION_POST_CHECK)
    (result,) = document["results"]

    assert point.why_not_changed(document, "results", [{**result, "effective_passed": False, "reason": "no"}]) is None
    assert point.why_not_changed(document, "results", []) == (
        "there are 1 results, in this order; none can be added or removed, but 0 came"
    )
    assert point.why_not_changed(document, "results", [{**result, "passed": False}]) == (
        "only effective_passed and reason of a result can be changed, not passed of results[0]"
    )


def test_metadata_is_that_of_the_workflow_then_of_the_node_then_of_the_run() -> None:
    """runCreated holds the workflow's and the run's together."""
    state = started_run()
    assert state.created is not None
    state.created = msgspec.structs.replace(state.created, metadata={"team": "all", "tier": 2, "ticket": "T-1"})

    assert component_pre_execute(occasion(state))["user_metadata"] == {"team": "docs", "tier": 2, "ticket": "T-1"}


# ---- the sampling loop ---------------------------------------------------------------------------------------------

MESSAGES = [{"role": "user", "content": "Write."}, {"role": "assistant", "content": "Notes."}]
ATTEMPT = f"{RUN}::work::draft::att-1"
FULL: dict[str, Any] = {
    "name": "short",
    "origin": "node",
    "reason": "Too long.",
    "weight": 2.0,
    "check": "size(output) < 3",
    **dict.fromkeys(("schema", "regex", "command", "python", "judge", "kind")),
    "settings": {},
}
REFUSED = {
    "requirement": FULL,
    "passed": False,
    "effective_passed": False,
    "score": None,
    "reason": "Too long.",
    "changed_by": None,
}
NOTES = {"text": "Notes.", "value": None, "model": "m", "usage": {"tokens": 7}, "finish_reason": None}


def asking(prompt: str) -> dict[str, Any]:
    return {"kind": "agent_step", "node_id": "draft", "agent": "writer", "prompt": prompt}


EMPTY = context_value([])
OF_THE_LOOP: dict[HookType, dict[str, Any]] = {
    HookType.SAMPLING_LOOP_START: {
        "action": asking("Write."),
        "strategy_name": "RepairTemplateStrategy",
        "context": EMPTY,
        "requirements": [FULL],
        "loop_budget": 2,
    },
    HookType.SAMPLING_ITERATION: {
        "action": asking("Write."),
        "strategy_name": "RepairTemplateStrategy",
        "iteration": 1,
        "result": NOTES,
        "validation_results": [REFUSED],
        "all_validations_passed": False,
        "valid_count": 0,
        "total_count": 1,
    },
    HookType.SAMPLING_REPAIR: {
        "action": asking("Write."),
        "repair_type": "template",
        "failed_action": asking("Write."),
        "failed_result": NOTES,
        "failed_validations": [REFUSED],
        "repair_action": asking("Write. Shorter."),
        "repair_context": EMPTY,
        "repair_iteration": 2,
    },
    HookType.SAMPLING_LOOP_END: {
        "action": asking("Write."),
        "strategy_name": "RepairTemplateStrategy",
        "success": False,
        "iterations_used": 1,
        "final_result": NOTES,
        "final_action": asking("Write."),
        "final_context": context_value(MESSAGES),
        "failure_reason": "rate limit",
        "all_results": [NOTES],
        "all_validations": [[REFUSED]],
    },
    HookType.GENERATION_PRE_CALL: {
        "action": asking("Write."),
        "generation_id": f"{ATTEMPT}::gen-2",
        "purpose": "draw",
        "agent": "writer",
        "context": EMPTY,
        "model": None,
        "prompt": "Write. Shorter.",
        "model_options": {"temperature": 1},
        "format": None,
        "tool_calls_enabled": False,
    },
    HookType.GENERATION_POST_CALL: {
        "action": asking("Write."),
        "generation_id": f"{ATTEMPT}::gen-1",
        "purpose": "draw",
        "agent": "writer",
        "prompt": "Write.",
        "model_output": NOTES,
        "usage": {"tokens": 7},
        "latency_ms": 12,
    },
    HookType.GENERATION_ERROR: {
        "action": asking("Write."),
        "generation_id": f"{ATTEMPT}::gen-2",
        "purpose": "draw",
        "agent": "writer",
        "prompt": "Write. Shorter.",
        "exception": ERROR,
        "error_class": "retryable",
        "latency_ms": 3,
    },
    HookType.VALIDATION_PRE_CHECK: {
        "action": asking("Write."),
        "validation_id": f"{ATTEMPT}::val-1",
        "requirements": [FULL],
        "target": NOTES,
        "context": EMPTY,
        "model_options": {"temperature": 1},
    },
    HookType.VALIDATION_POST_CHECK: {
        "action": asking("Write."),
        "validation_id": f"{ATTEMPT}::val-1",
        "requirements": [FULL],
        "results": [REFUSED],
        "all_validations_passed": False,
        "passed_count": 0,
        "failed_count": 1,
    },
}
COUNTED_BY_CALL = {HookType.GENERATION_PRE_CALL: 2, HookType.GENERATION_ERROR: 2}


@pytest.mark.parametrize("point", OF_THE_LOOP)
def test_a_payload_of_the_loop_has_these_fields(point: HookType) -> None:
    document = payload_at(point)
    common = {name: document.pop(name) for name in (*OF_THE_RUN, "hook", "request_id", "timestamp", "action_id")}
    document.pop("sampling_id", None)

    assert document == OF_THE_LOOP[point]
    assert common["request_id"] == f"{ATTEMPT}::{point}::{COUNTED_BY_CALL.get(point, 1)}"
    assert (common["attempt_id"], common["action_id"]) == (ATTEMPT, f"{ATTEMPT}::action")


# ---- made at the first look ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        lambda payload: payload.hook,
        lambda payload: payload.model_dump(),
        repr,
        lambda payload: payload == payload,
        lambda payload: payload.__dict__,
        lambda payload: payload.model_copy(),
    ],
)
def test_a_payload_is_made_once_at_the_first_look_and_is_then_what_it_always_was(look: Any) -> None:
    document, made = payload_at(HookType.RUN_STARTED), []

    def make() -> dict[str, Any]:
        made.append(1)
        return document

    payload = payload_of("run_started", make)
    assert isinstance(payload, HOOK_POINTS[HookType.RUN_STARTED])
    assert made == []

    look(payload)
    look(payload)

    assert made == [1]
    assert type(payload) is HOOK_POINTS[HookType.RUN_STARTED]
    assert payload == read_payload(document)
    assert to_document(payload) == document


def test_every_point_has_rules() -> None:
    assert list(RULES) == list(HookType) == list(HOOK_POINTS)
