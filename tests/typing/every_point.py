"""A hook at every point, each with the payload of its point and one of its fields. Checked by mypy, never run."""

from __future__ import annotations

from hooks import (
    ActivitiesCancelledPayload,
    ComponentPostErrorPayload,
    ComponentPostSuccessPayload,
    ComponentPreExecutePayload,
    EffectPostSettlePayload,
    EffectPreAttemptPayload,
    EffectReconciledPayload,
    GenerationErrorPayload,
    GenerationPostCallPayload,
    GenerationPreCallPayload,
    HookType,
    Plugin,
    RunFinishedPayload,
    RunResumedPayload,
    RunStartedPayload,
    SamplingIterationPayload,
    SamplingLoopEndPayload,
    SamplingLoopStartPayload,
    SamplingRepairPayload,
    ValidationPostCheckPayload,
    ValidationPreCheckPayload,
    WaitCreatedPayload,
    WaitResolvedPayload,
    hook,
)


class Everywhere(Plugin):
    @hook(HookType.RUN_STARTED)
    def run_started(self, payload: RunStartedPayload) -> None:
        print(payload.initiator)

    @hook(HookType.RUN_RESUMED)
    def run_resumed(self, payload: RunResumedPayload) -> None:
        print(payload.drivers)

    @hook(HookType.RUN_FINISHED)
    def run_finished(self, payload: RunFinishedPayload) -> None:
        print(payload.latency_ms)

    @hook(HookType.COMPONENT_PRE_EXECUTE)
    def component_pre_execute(self, payload: ComponentPreExecutePayload) -> None:
        print(payload.tool_calls_enabled)

    @hook(HookType.COMPONENT_POST_SUCCESS)
    def component_post_success(self, payload: ComponentPostSuccessPayload) -> None:
        print(payload.component_type)

    @hook(HookType.COMPONENT_POST_ERROR)
    def component_post_error(self, payload: ComponentPostErrorPayload) -> None:
        print(payload.error_type)

    @hook(HookType.SAMPLING_LOOP_START)
    def sampling_loop_start(self, payload: SamplingLoopStartPayload) -> None:
        print(payload.strategy_name)

    @hook(HookType.SAMPLING_ITERATION)
    def sampling_iteration(self, payload: SamplingIterationPayload) -> None:
        print(payload.iteration)

    @hook(HookType.SAMPLING_REPAIR)
    def sampling_repair(self, payload: SamplingRepairPayload) -> None:
        print(payload.repair_type)

    @hook(HookType.SAMPLING_LOOP_END)
    def sampling_loop_end(self, payload: SamplingLoopEndPayload) -> None:
        print(payload.success)

    @hook(HookType.GENERATION_PRE_CALL)
    def generation_pre_call(self, payload: GenerationPreCallPayload) -> None:
        print(payload.agent)

    @hook(HookType.GENERATION_POST_CALL)
    def generation_post_call(self, payload: GenerationPostCallPayload) -> None:
        print(payload.purpose)

    @hook(HookType.GENERATION_ERROR)
    def generation_error(self, payload: GenerationErrorPayload) -> None:
        print(payload.generation_id)

    @hook(HookType.VALIDATION_PRE_CHECK)
    def validation_pre_check(self, payload: ValidationPreCheckPayload) -> None:
        print(payload.validation_id)

    @hook(HookType.VALIDATION_POST_CHECK)
    def validation_post_check(self, payload: ValidationPostCheckPayload) -> None:
        print(payload.validation_id)

    @hook(HookType.EFFECT_PRE_ATTEMPT)
    def effect_pre_attempt(self, payload: EffectPreAttemptPayload) -> None:
        print(payload.read_only)

    @hook(HookType.EFFECT_POST_SETTLE)
    def effect_post_settle(self, payload: EffectPostSettlePayload) -> None:
        print(payload.outcome)

    @hook(HookType.EFFECT_RECONCILED)
    def effect_reconciled(self, payload: EffectReconciledPayload) -> None:
        print(payload.outcome)

    @hook(HookType.ACTIVITIES_CANCELLED)
    def activities_cancelled(self, payload: ActivitiesCancelledPayload) -> None:
        print(payload.node_ids)

    @hook(HookType.WAIT_CREATED)
    def wait_created(self, payload: WaitCreatedPayload) -> None:
        print(payload.digest)

    @hook(HookType.WAIT_RESOLVED)
    def wait_resolved(self, payload: WaitResolvedPayload) -> None:
        print(payload.wait_id)
