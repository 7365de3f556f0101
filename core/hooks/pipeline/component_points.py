"""The points around an agent step or an executor call, and around an effect."""

from __future__ import annotations

from typing import Annotated, Literal

from hooks.definition.hook_points import HookType
from hooks.pipeline.dispatch import PayloadDocument
from hooks.pipeline.payload_base import ActionPayload, HookPayload, Writable
from hooks.pipeline.payload_values import (
    Context,
    Error,
    Frozen,
    FrozenJson,
    FrozenObject,
    GenerateLog,
    Message,
    Output,
    Requirement,
)


class ComponentPayload(ActionPayload):
    """What the hooks around an agent step or an executor call are shown."""

    component_type: Literal["AgentStep", "HostExecutorCall"]


class ComponentPreExecutePayload(ComponentPayload):
    """Before an agent step or an executor call: what it will do, and under which conditions."""

    point = HookType.COMPONENT_PRE_EXECUTE

    context_view: Frozen[Message] | None
    requirements: Annotated[Frozen[Requirement], Writable]
    model_options: Annotated[FrozenObject, Writable]
    format: Annotated[FrozenObject | bool | None, Writable]
    """A JSON Schema (a schema may be true or false)."""
    strategy: Annotated[FrozenObject | None, Writable]
    tool_calls_enabled: Annotated[bool, Writable]

    @classmethod
    def why_not_writable(cls, document: PayloadDocument) -> str | None:
        if document["component_type"] == "HostExecutorCall":
            return "this is an executor call, which has no model to set anything for"
        return None


class ComponentPostSuccessPayload(ComponentPayload):
    """After an agent step or an executor call that succeeded; a block withholds its result."""

    point = HookType.COMPONENT_POST_SUCCESS

    result: Output
    context_before: Context
    context_after: Context
    generate_log: GenerateLog | None
    sampling_results: Frozen[Output] | None
    sampling_success: bool | None
    latency_ms: int


class ComponentPostErrorPayload(ComponentPayload):
    """After an agent step or an executor call that failed; the first error stands whatever a hook says."""

    point = HookType.COMPONENT_POST_ERROR

    error: Error
    error_type: str
    stack_trace: str
    context: Context
    model_options: FrozenObject


class EffectPayload(HookPayload):
    """What the hooks around an effect are shown: an executor call, or a draw that has consequences."""

    executor: str
    """For such a draw, the agent's name."""
    idempotency_key: str


class EffectPreAttemptPayload(EffectPayload):
    """Before an effect is permitted: the input it will have."""

    point = HookType.EFFECT_PRE_ATTEMPT

    read_only: bool
    input: Annotated[FrozenObject, Writable]

    @classmethod
    def why_not_writable(cls, document: PayloadDocument) -> str | None:
        if document["read_only"]:
            return "this call is read_only, and its input stays as it is; `if: '!payload.read_only'` skips it"
        return None


class EffectPostSettlePayload(EffectPayload):
    """After an effect has come to an outcome; a block withholds its output, and undoes or repeats nothing."""

    point = HookType.EFFECT_POST_SETTLE

    provider: str
    input: FrozenJson
    outcome: Literal["done", "failed", "not_done", "unknown"]
    output: FrozenJson
    error: Error | None
    latency_ms: int


class EffectReconciledPayload(EffectPayload):
    """After it was learned what became of a dangling effect, or that only a person can say (`in_doubt`)."""

    point = HookType.EFFECT_RECONCILED

    provider: str
    input: FrozenJson
    outcome: Literal["done", "failed", "not_done", "in_doubt"]
    reason: str
    output: FrozenJson
    evidence: FrozenJson
    error: Error | None
    resolved_by: str | None
    """The person who resolved it; null for a provider."""
