"""A hook point is one class: its name, its fields, and which of them a hook may change.

Everything else (schema, documentation, the check of what a hook gives back) is computed from the class. Instances are
frozen all the way down. `payloads.py` and its neighbours make the JSON they are read from; this module is loaded only
when somebody listens, since it stands on pydantic.

Every field is always present, null where it does not apply.
"""

from __future__ import annotations

from typing import Any

from hooks.pipeline.component_points import (
    ComponentPostErrorPayload,
    ComponentPostSuccessPayload,
    ComponentPreExecutePayload,
    EffectPostSettlePayload,
    EffectPreAttemptPayload,
    EffectReconciledPayload,
)
from hooks.pipeline.dispatch import PayloadDocument
from hooks.pipeline.payload_base import HookPayload
from hooks.pipeline.run_points import (
    ActivitiesCancelledPayload,
    RunFinishedPayload,
    RunResumedPayload,
    RunStartedPayload,
    WaitCreatedPayload,
    WaitResolvedPayload,
)
from hooks.pipeline.sampling_points import (
    GenerationErrorPayload,
    GenerationPostCallPayload,
    GenerationPreCallPayload,
    SamplingIterationPayload,
    SamplingLoopEndPayload,
    SamplingLoopStartPayload,
    SamplingRepairPayload,
    ValidationPostCheckPayload,
    ValidationPreCheckPayload,
)

HOOK_POINTS: dict[str, type[HookPayload]] = {
    payload.point: payload
    for payload in (
        RunStartedPayload,
        RunResumedPayload,
        RunFinishedPayload,
        ComponentPreExecutePayload,
        ComponentPostSuccessPayload,
        ComponentPostErrorPayload,
        SamplingLoopStartPayload,
        SamplingIterationPayload,
        SamplingRepairPayload,
        SamplingLoopEndPayload,
        GenerationPreCallPayload,
        GenerationPostCallPayload,
        GenerationErrorPayload,
        ValidationPreCheckPayload,
        ValidationPostCheckPayload,
        EffectPreAttemptPayload,
        EffectPostSettlePayload,
        EffectReconciledPayload,
        ActivitiesCancelledPayload,
        WaitCreatedPayload,
        WaitResolvedPayload,
    )
}


def read_payload(document: PayloadDocument) -> HookPayload:
    """The payload as hooks in Python see it. Raises pydantic.ValidationError where the document is none."""
    return HOOK_POINTS[document["hook"]].model_validate(document)


def to_document(payload: HookPayload) -> PayloadDocument:
    """The payload as JSON, the inverse of `read_payload`."""
    return payload.model_dump(mode="json", by_alias=True)


def payload_schema(point: str) -> dict[str, Any]:
    """The JSON Schema of a hook point's payload; writable fields are marked `"writable": true`."""
    return HOOK_POINTS[point].model_json_schema(by_alias=True, mode="serialization")
