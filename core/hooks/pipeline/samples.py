"""A valid payload of each hook point, to try a policy on before there is a run.

Made field by field from one table, in the order of the point's class, so that every sample has every field.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from hooks.definition.hook_points import HookType
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.hook_points import HOOK_POINTS
from hooks.pipeline.payload_parts import context_value

RUN = "release-notes-20260102T090000Z-0a1b2c3d"
_WORK = f"{RUN}::work::draft"
_ATTEMPT = f"{_WORK}::att-1"
_PROMPT = "Write release notes for:\n1f2e3d Fix the parser"
_ANSWER = '{"title": "Parser fixed", "body": "…"}'

_ACTION = {"kind": "agent_step", "node_id": "draft", "agent": "writer", "prompt": _PROMPT}
_REQUIREMENT = {
    "name": "short-title",
    "origin": "node",
    "reason": "The title is longer than 60 characters.",
    "weight": 1.0,
    "check": "size(output.title) <= 60",
    "schema": None,
    "regex": None,
    "command": None,
    "python": None,
    "judge": None,
    "kind": None,
    "settings": {},
}
_VALIDATION = {
    "requirement": _REQUIREMENT,
    "passed": True,
    "effective_passed": True,
    "score": None,
    "reason": None,
    "changed_by": None,
}
_USAGE = {"input_tokens": 12, "output_tokens": 9}
_OUTPUT = {
    "text": _ANSWER,
    "value": {"title": "Parser fixed", "body": "…"},
    "model": "sonnet",
    "usage": _USAGE,
    "finish_reason": "stop",
}
_ERROR = {
    "error_code": "AgentError",
    "error_class": "retryable",
    "error_message": "rate limit",
    "details": {},
}
_CONTEXT: list[Json] = []
_AFTER: list[Json] = [{"role": "user", "content": _PROMPT}, {"role": "assistant", "content": _ANSWER}]
_GENERATE_LOG = {
    "prompt": _PROMPT,
    "model": "sonnet",
    "provider": "command",
    "model_options": {"temperature": 0.2},
    "usage": _USAGE,
    "started_at": "2026-01-02T09:00:01.000Z",
    "latency_ms": 840,
    "raw_ref": None,
}

_FIELDS: dict[str, Json] = {
    "schema_version": 1,
    "run_id": RUN,
    "workflow_id": "release-notes",
    "node_id": "draft",
    "activity_id": _WORK,
    "attempt_id": _ATTEMPT,
    "attempt": 1,
    "loop_iteration": None,
    "item_index": None,
    "session_id": RUN,
    "timestamp": "2026-01-02T09:00:02.000Z",
    "params": {"since": "v1.4.0"},
    "user_metadata": {"team": "docs"},
    "verdict": None,
    "action_id": f"{_ATTEMPT}::action",
    "sampling_id": f"{_ATTEMPT}::sampling",
    "generation_id": f"{_ATTEMPT}::gen-1",
    "validation_id": f"{_ATTEMPT}::val-1",
    "action": _ACTION,
    "component_type": "AgentStep",
    "context_view": [],
    "context": context_value(_CONTEXT),
    "context_before": context_value(_CONTEXT),
    "context_after": context_value(_AFTER),
    "final_context": context_value(_AFTER),
    "repair_context": context_value(_AFTER),
    "requirements": [_REQUIREMENT],
    "model_options": {"temperature": 0.2},
    "format": None,
    "strategy": None,
    "tool_calls_enabled": False,
    "strategy_name": "RejectionSamplingStrategy",
    "loop_budget": 4,
    "iteration": 1,
    "result": _OUTPUT,
    "validation_results": [_VALIDATION],
    "all_validations_passed": True,
    "valid_count": 1,
    "total_count": 1,
    "repair_type": "rejection",
    "failed_action": _ACTION,
    "failed_result": _OUTPUT,
    "failed_validations": [{**_VALIDATION, "passed": False, "effective_passed": False, "reason": "Too long."}],
    "repair_action": _ACTION,
    "repair_iteration": 2,
    "success": True,
    "iterations_used": 1,
    "final_result": _OUTPUT,
    "final_action": _ACTION,
    "failure_reason": None,
    "all_results": [_OUTPUT],
    "all_validations": [[_VALIDATION]],
    "purpose": "draw",
    "agent": "writer",
    "model": "sonnet",
    "prompt": _PROMPT,
    "model_output": _OUTPUT,
    "usage": _USAGE,
    "latency_ms": 840,
    "exception": _ERROR,
    "error_class": "retryable",
    "target": _OUTPUT,
    "results": [_VALIDATION],
    "passed_count": 1,
    "failed_count": 0,
    "generate_log": _GENERATE_LOG,
    "sampling_results": [_OUTPUT],
    "sampling_success": True,
    "error": _ERROR,
    "error_type": "AgentError",
    "stack_trace": "",
    "executor": "shell",
    "provider": "shell",
    "idempotency_key": "wf_" + sha256(b"sample").hexdigest()[:47],
    "read_only": False,
    "input": {"argv": ["git", "push", "origin", "v1.5.0"]},
    "outcome": "done",
    "output": {"stdout": "", "exit_code": 0, "stdout_bytes": 0, "truncated": False},
    "reason": "found",
    "evidence": None,
    "resolved_by": None,
    "initiator": "cli",
    "working_directory": "/srv/notes",
    "workflow_file": "/srv/notes/release-notes.yaml",
    "drivers": 2,
    "status": "succeeded",
    "failed_node": None,
    "cancel_reason": None,
    "activity_ids": [_WORK],
    "node_ids": ["draft"],
    "wait_id": f"{RUN}::gate::publish::1",
    "stage": "before",
    "subject": {"path": "NOTES.md", "mode": "append"},
    "digest": sha256(b"sample").hexdigest(),
    "approvers": ["ann"],
    "deadline": "2026-01-02T11:00:00.000Z",
    "on_timeout": "fail",
    "resolution": "approved",
    "timed_out": False,
    "by": "ann",
    "comment": "",
}

_OF_A_RUN = {HookType.RUN_STARTED, HookType.RUN_RESUMED, HookType.RUN_FINISHED, HookType.ACTIVITIES_CANCELLED}
_NO_ATTEMPT = dict.fromkeys(("node_id", "activity_id", "attempt_id", "attempt"))
_AT_A_GATE = {
    "node_id": "publish",
    "activity_id": f"{RUN}::gate::publish",
    "prompt": "Publish: Parser fixed?",
    "attempt_id": None,
    "attempt": None,
}
_OF_AN_EFFECT = {"node_id": "push", "activity_id": f"{RUN}::work::push", "attempt_id": f"{RUN}::work::push::att-1"}
_DIFFERENT: dict[HookType, dict[str, Any]] = {
    **dict.fromkeys(_OF_A_RUN, _NO_ATTEMPT),
    HookType.EFFECT_PRE_ATTEMPT: _OF_AN_EFFECT,
    HookType.EFFECT_POST_SETTLE: {**_OF_AN_EFFECT, "error": None},
    HookType.EFFECT_RECONCILED: {**_OF_AN_EFFECT, "error": None},
    HookType.RUN_FINISHED: {**_NO_ATTEMPT, "error": None},
    HookType.WAIT_CREATED: _AT_A_GATE,
    HookType.WAIT_RESOLVED: _AT_A_GATE,
}


SAMPLE_INPUTS: dict[str, dict[str, Json]] = {
    "shell": _FIELDS["input"],
    "file": {"path": "NOTES.md", "mode": "append", "content": "Parser fixed\n"},
    "http": {"method": "POST", "url": "https://example.org/hook", "json": {"text": "Parser fixed"}},
}
"""Executors that there are samples for, each with the input of one."""


def sample_payload(point: HookType, executor: str = "shell") -> PayloadDocument:
    """A payload as a hook of this point might get it, before any hook."""
    of_executor = {"executor": executor, "provider": executor, "input": SAMPLE_INPUTS[executor]}
    values = {**_FIELDS, **of_executor, **_DIFFERENT.get(point, {}), "hook": point.value}
    values["request_id"] = f"{values['attempt_id'] or RUN}::{point}::1"
    return {name: values[name] for name in HOOK_POINTS[point].model_fields}
