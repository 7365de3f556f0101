"""The payload of each hook point, made from the run of builders.py as the runtime makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.definition.hook_points import RULES, HookType
from hooks.events.payloads import (
    EffectAttempted,
    EffectSettled,
    ErrorInfo,
    GenerationFinished,
    ReconcileResult,
    RunFailed,
    SamplingLoopEnded,
    WaitCreated,
    WaitResolved,
)
from hooks.kernel.state import DrawState, RunState, WaitState
from hooks.pipeline import effect_payloads, run_payloads, sampling_payloads
from hooks.pipeline.dispatch import Subject
from hooks.pipeline.payload_parts import Occasion, RunOccasion
from tests.pipeline.builders import (
    RUN,
    START,
    SUBJECTS,
    WORKFLOW,
    add,
    document_at,
    occasion,
    sampled,
    started_run,
    who,
)

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
    return effect_payloads.effect_pre_attempt(here, idempotency_key=KEY, read_only=False)


def _effect_post_settle() -> dict[str, Any]:
    return effect_payloads.effect_post_settle(occasion(attempted(), "publish"), settled(), START + 9)


def _effect_reconciled() -> dict[str, Any]:
    result = ReconcileResult(**who("publish"), idempotency_key=KEY, outcome="in_doubt", reason="NoReconciler")
    return effect_payloads.effect_reconciled(occasion(attempted(), "publish"), result, START + 9)


def _sampling_loop_start() -> dict[str, Any]:
    here = occasion(sampled())
    return sampling_payloads.sampling_loop_start(here, _loop(here).started, START + 9)


def _sampling_loop_end() -> dict[str, Any]:
    here = occasion(sampled())
    ended = SamplingLoopEnded(
        **who("draft"), success=False, draw=1, iterations=1, failure_reason="rate limit", error=ERROR
    )
    return sampling_payloads.sampling_loop_end(here, ended, START + 9)


def _of_draw(make: Callable[[Occasion, DrawState], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """The payload of the first draw, which was refused."""

    def made() -> dict[str, Any]:
        here = occasion(sampled())
        return make(here, _loop(here).draws[1])

    return made


def _generation_pre_call() -> dict[str, Any]:
    here = occasion(sampled())
    return sampling_payloads.generation_pre_call(here, sampling_payloads.call_before_hooks(here, number=2, draw=2))


def _generation_post_call() -> dict[str, Any]:
    here = occasion(sampled())
    draw = _loop(here).draws[1]
    return sampling_payloads.generation_post_call(here, draw.started, draw.finished, START + 9)


def _generation_error() -> dict[str, Any]:
    here = occasion(sampled())
    draw = _loop(here).draws[2]
    failed = GenerationFinished(
        **who("draft"), generation_id=draw.started.generation_id, draw=2, error=ERROR, latency_ms=3
    )
    return sampling_payloads.generation_error(here, draw.started, failed, START + 9)


def _loop(here: Occasion) -> Any:
    return here.attempt.loop


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
    HookType.SAMPLING_LOOP_START: _sampling_loop_start,
    HookType.SAMPLING_ITERATION: _of_draw(sampling_payloads.sampling_iteration),
    HookType.SAMPLING_REPAIR: _of_draw(sampling_payloads.sampling_repair),
    HookType.SAMPLING_LOOP_END: _sampling_loop_end,
    HookType.GENERATION_PRE_CALL: _generation_pre_call,
    HookType.GENERATION_POST_CALL: _generation_post_call,
    HookType.GENERATION_ERROR: _generation_error,
    HookType.VALIDATION_PRE_CHECK: _of_draw(sampling_payloads.validation_pre_check),
    HookType.VALIDATION_POST_CHECK: _of_draw(sampling_payloads.validation_post_check),
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
    node = "publish" if point.startswith(("effect", "wait")) else "draft"
    return {"point": point, "node": node, "subject": SUBJECTS[node], "document": payload_at(point)}
