"""The payload of each hook point that is dispatched, made from the run of builders.py as the runtime makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.definition.hook_points import RULES, HookType
from hooks.events.payloads import (
    EffectAttempted,
    EffectSettled,
    ErrorInfo,
    ReconcileResult,
    RunFailed,
    WaitCreated,
    WaitResolved,
)
from hooks.kernel.state import RunState, WaitState
from hooks.pipeline import effect_payloads, run_payloads
from hooks.pipeline.dispatch import Subject
from hooks.pipeline.payload_parts import RunOccasion
from tests.pipeline.builders import RUN, START, SUBJECTS, WORKFLOW, add, document_at, occasion, started_run, who

DISPATCHED = [point for point, rules in RULES.items() if rules.is_dispatched]
KEY = "wf_" + "0" * 47
ERROR = ErrorInfo(error_code="ShellExit", error_class="retryable", error_message="exit 1")
GATE = WaitCreated(
    wait_id=f"{RUN}::gate::publish::1",
    activity_id=f"{RUN}::gate::publish",
    node_id="publish",
    work_activity_id=who("publish")["activity_id"],
    stage="before",
    prompt="Publish?",
    subject={"path": "NOTES.md"},
    digest="d" * 64,
    approvers=["ann"],
    deadline_at=START + 60_000,
)


def attempted() -> RunState:
    state = started_run()
    add(
        state,
        EffectAttempted(
            **who("publish"), idempotency_key=KEY, input_hash="0" * 64, idempotency_ttl_ms=None, provider="file"
        ),
    )
    return state


def settled() -> EffectSettled:
    return EffectSettled(**who("publish"), idempotency_key=KEY, outcome="done", output={"bytes": 3}, latency_ms=4)


def _run_started() -> dict[str, Any]:
    return run_payloads.run_started(run_occasion())


def _run_resumed() -> dict[str, Any]:
    return run_payloads.run_resumed(run_occasion(), START + 9)


def _run_finished() -> dict[str, Any]:
    return run_payloads.run_finished(run_occasion(), RunFailed(node_id="publish", error=ERROR), START + 9)


def _effect_pre_attempt() -> dict[str, Any]:
    here = occasion(started_run(), "publish")
    return effect_payloads.effect_pre_attempt(
        here, bound_input={"path": "NOTES.md"}, idempotency_key=KEY, read_only=False
    )


def _effect_post_settle() -> dict[str, Any]:
    return effect_payloads.effect_post_settle(occasion(attempted(), "publish"), settled(), START + 9)


def _effect_reconciled() -> dict[str, Any]:
    result = ReconcileResult(**who("publish"), idempotency_key=KEY, outcome="in_doubt", reason="NoReconciler")
    return effect_payloads.effect_reconciled(occasion(attempted(), "publish"), result, START + 9)


def _activities_cancelled() -> dict[str, Any]:
    return run_payloads.activities_cancelled(run_occasion(), [who("draft")["activity_id"]], ["draft"], START + 9)


def _wait_created() -> dict[str, Any]:
    return run_payloads.wait_created(run_occasion(), GATE, START + 9)


def _wait_resolved() -> dict[str, Any]:
    answer = WaitResolved(
        wait_id=GATE.wait_id, approved=True, by="ann", comment="go", answered_at=START + 8, request_id="r"
    )
    return run_payloads.wait_resolved(run_occasion(), WaitState(GATE, START + 7), answer, START + 9)


_MADE: dict[HookType, Callable[[], dict[str, Any]]] = {
    HookType.RUN_STARTED: _run_started,
    HookType.RUN_RESUMED: _run_resumed,
    HookType.RUN_FINISHED: _run_finished,
    HookType.EFFECT_PRE_ATTEMPT: _effect_pre_attempt,
    HookType.EFFECT_POST_SETTLE: _effect_post_settle,
    HookType.EFFECT_RECONCILED: _effect_reconciled,
    HookType.ACTIVITIES_CANCELLED: _activities_cancelled,
    HookType.WAIT_CREATED: _wait_created,
    HookType.WAIT_RESOLVED: _wait_resolved,
}


def run_occasion() -> RunOccasion:
    return RunOccasion(started_run(), WORKFLOW, lambda value: value)


def payload_at(point: HookType) -> dict[str, Any]:
    made = _MADE.get(point)
    return document_at(point) if made is None else made()


def question_at(point: HookType) -> dict[str, Any]:
    """What `dispatch_of` needs for a question at this point."""
    if "node" not in RULES[point].match:
        return {"point": point, "subject": Subject(workflow="notes"), "document": payload_at(point)}
    node = "draft" if point.startswith("component") else "publish"
    return {"point": point, "node": node, "subject": SUBJECTS[node], "document": payload_at(point)}
