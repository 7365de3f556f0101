"""The payloads that hooks would have been shown in a run, made again from its log.

Payloads are pure functions of state and event, so they exist for every run, also for one that was made without hooks.
Here stands which event is the occasion for which hook points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.definition.hook_points import HookType
from hooks.definition.model import HostExecutorNode, SubagentNode, Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import (
    AttemptPayload,
    ComponentFailed,
    ComponentStarted,
    ComponentSucceeded,
    EffectAttempted,
    EffectSettled,
    GenerationFinished,
    GenerationStarted,
    ReconcileResult,
    ResumeStarted,
    RunBlocked,
    RunCancelled,
    RunFailed,
    RunStarted,
    RunSucceeded,
    SamplingIteration,
    SamplingLoopEnded,
    SamplingLoopStarted,
    SamplingRepair,
    ValidationFinished,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.ids import ActivityId, RevisionId, idempotency_key
from hooks.kernel.state import DrawState, RunState, WaitState
from hooks.pipeline import effect_payloads, payloads, run_payloads, sampling_payloads
from hooks.pipeline.dispatch import PayloadDocument
from hooks.pipeline.effective import values_before
from hooks.pipeline.payload_parts import Occasion, Resolve, RunOccasion


def payloads_after(
    state: RunState, workflow: Workflow, event: Event, resolve: Resolve, gates: dict[str, WaitState]
) -> list[PayloadDocument]:
    """The payloads that `event` is the occasion for, in the order of their points; `state` has the event folded in.

    A call is shown as it was bound, so that those that were blocked, or need no permit, have a payload as well.

    `gates` are the gates that were open before it, by id. Of what belongs to an attempt that is over with this very
    event nothing can be told any more.
    """
    run = RunOccasion(state, workflow, resolve)
    match event.payload:
        case RunStarted():
            return [run_payloads.run_started(run)]
        case ResumeStarted():
            return [run_payloads.run_resumed(run, event.timestamp, ordinal=len(state.sessions) - 1)]
        case RunSucceeded() | RunFailed() | RunBlocked() | RunCancelled() as ended:
            return [run_payloads.run_finished(run, ended, event.timestamp)]
        case WaitCreated() as created:
            return [run_payloads.wait_created(run, created, event.timestamp)]
        case WaitResolved() | WaitDeadlineExceeded() as answer:
            return [run_payloads.wait_resolved(run, gates[answer.wait_id], answer, event.timestamp)]
        case AttemptPayload() as payload if ActivityId(payload.activity_id) in state.open:
            return _of_attempt(state, workflow, payload, event.timestamp, resolve)
        case _:
            return []


def _of_attempt(
    state: RunState, workflow: Workflow, payload: AttemptPayload, at: int, resolve: Resolve
) -> list[PayloadDocument]:
    attempt = state.open[ActivityId(payload.activity_id)]
    node = state.definition_of(attempt)
    make = _MADE.get(type(payload))
    if make is None or attempt.component is None or not isinstance(node, SubagentNode | HostExecutorNode):
        return []
    return make(Occasion(state, workflow, node, attempt, resolve), payload, at)


def _component_started(here: Occasion, event: ComponentStarted, at: int) -> list[PayloadDocument]:
    made = [payloads.component_pre_execute(here)]
    if isinstance(here.node, HostExecutorNode):
        made.append(_call(here, here.node))
    return made


def _call(here: Occasion, node: HostExecutorNode) -> PayloadDocument:
    state, attempt = here.state, here.attempt
    assert state.created is not None
    key = idempotency_key(
        run_id=state.run_id,
        workflow_id=here.workflow.workflow_id,
        revision_id=RevisionId(state.created.revision_id),
        node_id=attempt.node_id,
        activity_id=attempt.activity_id,
        epoch=attempt.epoch,
    )
    return effect_payloads.effect_pre_attempt(here, idempotency_key=key, read_only=node.read_only)


def _effect_pre_attempt(here: Occasion, event: EffectAttempted, at: int) -> list[PayloadDocument]:
    return [effect_payloads.effect_pre_attempt(here, idempotency_key=event.idempotency_key, read_only=False)]


def _generation_started(here: Occasion, event: GenerationStarted, at: int) -> list[PayloadDocument]:
    """The call as it was before hooks changed it; what was permitted has their changes in it."""
    of_call = [logged for logged in here.attempt.hooks if logged.decided.ordinal == event.call]
    unchanged = values_before(of_call, HookType.GENERATION_PRE_CALL, here.resolve)
    call = sampling_payloads.changed_call(sampling_payloads.call_as_made(here, event), unchanged)
    return [sampling_payloads.generation_pre_call(here, call)]


def _generation_finished(here: Occasion, event: GenerationFinished, at: int) -> list[PayloadDocument]:
    loop = here.attempt.loop
    if event.interrupted or loop is None:
        return []
    started = loop.judging.get(event.generation_id) or loop.draws[event.draw].started
    if event.error is not None:
        return [sampling_payloads.generation_error(here, started, event, at)]
    return [sampling_payloads.generation_post_call(here, started, event, at)]


def _validation_finished(here: Occasion, event: ValidationFinished, at: int) -> list[PayloadDocument]:
    draw = _draw(here, event.draw)
    return [sampling_payloads.validation_pre_check(here, draw), sampling_payloads.validation_post_check(here, draw)]


def _draw(here: Occasion, number: int) -> DrawState:
    assert here.attempt.loop is not None, "what is told of a draw comes after it began"
    return here.attempt.loop.draws[number]


_MADE: dict[type[AttemptPayload], Callable[[Occasion, Any, int], list[PayloadDocument]]] = {
    ComponentStarted: _component_started,
    ComponentSucceeded: lambda here, event, at: [payloads.component_post_success(here, event, at)],
    ComponentFailed: lambda here, event, at: [payloads.component_post_error(here, event, at)],
    SamplingLoopStarted: lambda here, event, at: [sampling_payloads.sampling_loop_start(here, event, at)],
    GenerationStarted: _generation_started,
    GenerationFinished: _generation_finished,
    ValidationFinished: _validation_finished,
    SamplingIteration: lambda here, event, at: [sampling_payloads.sampling_iteration(here, _draw(here, event.draw))],
    SamplingRepair: lambda here, event, at: [sampling_payloads.sampling_repair(here, _draw(here, event.draw))],
    SamplingLoopEnded: lambda here, event, at: [sampling_payloads.sampling_loop_end(here, event, at)],
    EffectAttempted: _effect_pre_attempt,
    EffectSettled: lambda here, event, at: [effect_payloads.effect_post_settle(here, event, at)],
    ReconcileResult: lambda here, event, at: [effect_payloads.effect_reconciled(here, event, at)],
}

OCCASIONS: dict[HookType, tuple[str, ...]] = {
    HookType.RUN_STARTED: ("runStarted",),
    HookType.RUN_RESUMED: ("resumeStarted",),
    HookType.RUN_FINISHED: ("runSucceeded", "runFailed", "runBlocked", "runCancelled"),
    HookType.COMPONENT_PRE_EXECUTE: ("componentStarted",),
    HookType.COMPONENT_POST_SUCCESS: ("componentSucceeded",),
    HookType.COMPONENT_POST_ERROR: ("componentFailed",),
    HookType.SAMPLING_LOOP_START: ("samplingLoopStarted",),
    HookType.GENERATION_PRE_CALL: ("generationStarted",),
    HookType.GENERATION_POST_CALL: ("generationFinished",),
    HookType.GENERATION_ERROR: ("generationFinished",),
    HookType.VALIDATION_PRE_CHECK: ("validationFinished",),
    HookType.VALIDATION_POST_CHECK: ("validationFinished",),
    HookType.SAMPLING_ITERATION: ("samplingIteration",),
    HookType.SAMPLING_REPAIR: ("samplingRepair",),
    HookType.SAMPLING_LOOP_END: ("samplingLoopEnded",),
    HookType.EFFECT_PRE_ATTEMPT: ("componentStarted", "effectAttempted"),
    HookType.EFFECT_POST_SETTLE: ("effectSettled",),
    HookType.EFFECT_RECONCILED: ("reconcileResult",),
    HookType.WAIT_CREATED: ("waitCreated",),
    HookType.WAIT_RESOLVED: ("waitResolved", "waitDeadlineExceeded"),
}
"""By hook point: the types of the events that are its occasion. Those not named have none in a log yet.

A draw that has consequences is shown at effectAttempted only.
"""
