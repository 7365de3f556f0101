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
    """Before an agent step or an executor call: what it will do, and under which conditions; a block lets none start.

    The writable fields are those of an agent step. An executor call has no model, and they cannot be changed there.
    """

    point = HookType.COMPONENT_PRE_EXECUTE

    context_view: Frozen[Message] | None
    """What was said before, for a step that continues a conversation; null for an executor call."""
    requirements: Annotated[Frozen[Requirement], Writable]
    """Without `output_schema`, which is checked whatever a hook does."""
    model_options: Annotated[FrozenObject, Writable]
    format: Annotated[FrozenObject | bool | None, Writable]
    """A JSON Schema (a schema may be true or false)."""
    strategy: Annotated[FrozenObject | None, Writable]
    """The object of `sampling:`, null for one draw."""
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
    """Every draw that was answered; null for an executor call."""
    sampling_success: bool | None
    """False where the best of the failed draws was used."""
    latency_ms: int


class ComponentPostErrorPayload(ComponentPayload):
    """After an agent step or an executor call that failed; the first error stands whatever a hook says."""

    point = HookType.COMPONENT_POST_ERROR

    error: Error
    error_type: str
    stack_trace: str
    """Empty where there is none; of an agent that is a command what it wrote to stderr."""
    context: Context
    model_options: FrozenObject


class EffectPayload(HookPayload):
    """What the hooks around an effect are shown: an executor call, or a draw that has consequences."""

    executor: str
    """For such a draw, the agent's name."""
    idempotency_key: str
    """The same for every repeat of this effect."""


class EffectPreAttemptPayload(EffectPayload):
    """Before an effect is permitted, or a `read_only` call starts: the input it will have; a block lets none start."""

    point = HookType.EFFECT_PRE_ATTEMPT

    read_only: bool
    """The call may be repeated; its input cannot be changed."""
    input: Annotated[FrozenObject, Writable]
    """As bound; where a secret belongs, `{"$secret": …}` instead of it."""

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
    """`found`, `absent`, why nobody can say, or what the person said who resolved it."""
    output: FrozenJson
    evidence: FrozenJson
    """What the provider showed for it."""
    error: Error | None
    resolved_by: str | None
    """The person who resolved it; null for a provider."""
