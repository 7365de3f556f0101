"""The payloads that hooks would have been shown in a run, made again from its log.

Payloads are pure functions of state and event, so they exist for every run, also for one that was made without hooks.
Here stands which event is the occasion for which hook points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

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
from hooks.ids import ActivityId, NodeId, RevisionId, idempotency_key
from hooks.kernel.state import AttemptState, DrawState, NodeState, RunState, WaitState
from hooks.pipeline import effect_payloads, payloads, run_payloads, sampling_payloads
from hooks.pipeline.dispatch import PayloadDocument
from hooks.pipeline.effective import values_before
from hooks.pipeline.payload_parts import Occasion, Resolve, RunOccasion


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of a run at which hooks would be asked: which, for the how-manieth time, about what.

    `make` makes the payload of this very moment; it is to be called before the next event is folded in.
    """

    point: HookType
    ordinal: int
    make: Callable[[], PayloadDocument]
    attempt: AttemptState | None = None
    agent: str | None = None
    """Who is called, where that may be another than the step's."""


def payloads_after(
    state: RunState, workflow: Workflow, event: Event, resolve: Resolve, gates: dict[str, WaitState]
) -> list[PayloadDocument]:
    """The payloads of the moments that `event` brings about."""
    return [moment.make() for moment in moments_after(state, workflow, event, resolve, gates)]


def moments_after(
    state: RunState, workflow: Workflow, event: Event, resolve: Resolve, gates: dict[str, WaitState]
) -> list[Moment]:
    """The moments that `event` brings about, in the order of their points; `state` has the event folded in.

    A call is shown as it was bound, so that those that were blocked, or need no permit, have a payload as well.

    `gates` are the gates that were open before it, by id. Of what belongs to an attempt that is over with this very
    event nothing can be told any more.
    """
    payload, at = event.payload, event.timestamp
    if isinstance(payload, AttemptPayload):
        return _of_attempt(state, workflow, payload, at, resolve)
    run = RunOccasion(state, workflow, resolve)
    match payload:
        case RunStarted():
            return [Moment(HookType.RUN_STARTED, 1, lambda: run_payloads.run_started(run))]
        case ResumeStarted():
            ordinal = len(state.sessions) - 1
            make = partial(run_payloads.run_resumed, run, at, ordinal=ordinal)
            return [Moment(HookType.RUN_RESUMED, ordinal, make)]
        case RunCancelled() as cancelled:
            activities, nodes = cancelled_in(state)
            told = partial(run_payloads.activities_cancelled, run, activities, nodes, at)
            ended = partial(run_payloads.run_finished, run, cancelled, at)
            return [Moment(HookType.ACTIVITIES_CANCELLED, 1, told), Moment(HookType.RUN_FINISHED, 1, ended)]
        case RunSucceeded() | RunFailed() | RunBlocked() as ending:
            return [Moment(HookType.RUN_FINISHED, 1, partial(run_payloads.run_finished, run, ending, at))]
        case WaitCreated() as created:
            return [Moment(HookType.WAIT_CREATED, 1, partial(run_payloads.wait_created, run, created, at))]
        case WaitResolved() | WaitDeadlineExceeded() as answer:
            gate = gates[answer.wait_id]
            return [Moment(HookType.WAIT_RESOLVED, 1, partial(run_payloads.wait_resolved, run, gate, answer, at))]
        case _:
            return []


def cancelled_in(state: RunState) -> tuple[list[str], list[str]]:
    """The activities and nodes that a cancel of the run has ended."""
    cancelled = [
        (node_id, node)
        for scope in state.scopes.values()
        for node_id, node in scope.nodes.items()
        if node.status == "cancelled"
    ]
    activities = [activity_id for _, node in cancelled for activity_id in _activities(node)]
    return activities, [*dict.fromkeys(node_id for node_id, _ in cancelled)]


def cancelled_with(state: RunState, scope: str, node_id: NodeId) -> list[str]:
    """The activities that a cancel of this node has ended: its own, of a fan-out its items, of a loop its round."""
    node = state.scopes[scope].nodes.get(node_id)
    inside = [
        body
        for round_ in state.scopes.values()
        if round_.loop == node_id
        for body in round_.nodes.values()
        if body.status not in ("succeeded", "failed", "skipped")
    ]
    return [activity_id for one in [node, *inside] if one is not None for activity_id in _activities(one)]


def _activities(node: NodeState) -> list[str]:
    return [activity.activity_id for activity in [node.activity, *node.items] if activity is not None]


def _of_attempt(
    state: RunState, workflow: Workflow, payload: AttemptPayload, at: int, resolve: Resolve
) -> list[Moment]:
    moments, attempt = _MOMENTS.get(type(payload)), state.open.get(ActivityId(payload.activity_id))
    if moments is None or attempt is None or attempt.component is None:
        return []
    node = state.definition_of(attempt)
    if not isinstance(node, SubagentNode | HostExecutorNode):
        return []
    here = Occasion(state, workflow, node, attempt, resolve)
    return moments(here, payload, at)


def _component_started(here: Occasion, event: ComponentStarted, at: int) -> list[Moment]:
    make = partial(payloads.component_pre_execute, here)
    moments = [Moment(HookType.COMPONENT_PRE_EXECUTE, 1, make, here.attempt)]
    if isinstance(here.node, HostExecutorNode):
        moments.append(Moment(HookType.EFFECT_PRE_ATTEMPT, 1, partial(_call, here, here.node), here.attempt))
    return moments


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


def _effect_attempted(here: Occasion, event: EffectAttempted, at: int) -> list[Moment]:
    make = partial(effect_payloads.effect_pre_attempt, here, idempotency_key=event.idempotency_key, read_only=False)
    return [Moment(HookType.EFFECT_PRE_ATTEMPT, 1, make, here.attempt)]


def _generation_started(here: Occasion, event: GenerationStarted, at: int) -> list[Moment]:
    """The call as it was before hooks changed it; what was permitted has their changes in it."""

    def make() -> PayloadDocument:
        of_call = [logged for logged in here.attempt.hooks if logged.decided.ordinal == event.call]
        unchanged = values_before(of_call, HookType.GENERATION_PRE_CALL, here.resolve)
        call = sampling_payloads.changed_call(sampling_payloads.call_as_made(here, event), unchanged)
        return sampling_payloads.generation_pre_call(here, call)

    return [Moment(HookType.GENERATION_PRE_CALL, event.call, make, here.attempt, event.agent)]


def _generation_finished(here: Occasion, event: GenerationFinished, at: int) -> list[Moment]:
    loop = here.attempt.loop
    if event.interrupted or loop is None:
        return []
    started = loop.judging.get(event.generation_id) or loop.draws[event.draw].started
    if event.error is not None:
        make = partial(sampling_payloads.generation_error, here, started, event, at)
        return [Moment(HookType.GENERATION_ERROR, started.call, make, here.attempt, started.agent)]
    make = partial(sampling_payloads.generation_post_call, here, started, event, at)
    return [Moment(HookType.GENERATION_POST_CALL, started.call, make, here.attempt, started.agent)]


def _validation_finished(here: Occasion, event: ValidationFinished, at: int) -> list[Moment]:
    return [
        _of_draw(HookType.VALIDATION_PRE_CHECK, sampling_payloads.validation_pre_check, here, event.draw),
        _of_draw(HookType.VALIDATION_POST_CHECK, sampling_payloads.validation_post_check, here, event.draw),
    ]


def _of_draw(
    point: HookType, make: Callable[[Occasion, DrawState], PayloadDocument], here: Occasion, number: int
) -> Moment:
    assert here.attempt.loop is not None, "what is told of a draw comes after it began"
    return Moment(point, number, partial(make, here, here.attempt.loop.draws[number]), here.attempt)


def _once(point: HookType, make: Callable[[Occasion, Any, int], PayloadDocument]) -> _Moments:
    """A point that an attempt passes once, with a payload of the event itself."""
    return lambda here, event, at: [Moment(point, 1, partial(make, here, event, at), here.attempt)]


def _counted(point: HookType, make: Callable[[Occasion, DrawState], PayloadDocument]) -> _Moments:
    return lambda here, event, at: [_of_draw(point, make, here, event.draw)]


_Moments: TypeAlias = Callable[[Occasion, Any, int], list[Moment]]
_MOMENTS: dict[type[AttemptPayload], _Moments] = {
    ComponentStarted: _component_started,
    ComponentSucceeded: _once(HookType.COMPONENT_POST_SUCCESS, payloads.component_post_success),
    ComponentFailed: _once(HookType.COMPONENT_POST_ERROR, payloads.component_post_error),
    SamplingLoopStarted: _once(HookType.SAMPLING_LOOP_START, sampling_payloads.sampling_loop_start),
    GenerationStarted: _generation_started,
    GenerationFinished: _generation_finished,
    ValidationFinished: _validation_finished,
    SamplingIteration: _counted(HookType.SAMPLING_ITERATION, sampling_payloads.sampling_iteration),
    SamplingRepair: _counted(HookType.SAMPLING_REPAIR, sampling_payloads.sampling_repair),
    SamplingLoopEnded: _once(HookType.SAMPLING_LOOP_END, sampling_payloads.sampling_loop_end),
    EffectAttempted: _effect_attempted,
    EffectSettled: _once(HookType.EFFECT_POST_SETTLE, effect_payloads.effect_post_settle),
    ReconcileResult: _once(HookType.EFFECT_RECONCILED, effect_payloads.effect_reconciled),
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
    HookType.ACTIVITIES_CANCELLED: ("runCancelled",),
    HookType.WAIT_CREATED: ("waitCreated",),
    HookType.WAIT_RESOLVED: ("waitResolved", "waitDeadlineExceeded"),
}
"""By hook point: the types of the events that are its occasion. Those not named have none in a log yet.

A draw that has consequences is shown at effectAttempted only.
"""
