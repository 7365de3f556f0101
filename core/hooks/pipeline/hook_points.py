"""A hook point is one class: its name, its fields, and which of them a hook may change.

Everything else (schema, documentation, the check of what a hook gives back) is computed from the class. Instances are
frozen all the way down. `payloads.py` makes the JSON they are read from; this module is loaded only when somebody
listens, since it stands on pydantic.

Every field is always present, null where it does not apply.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hooks.pipeline.dispatch import PayloadDocument
from hooks.pipeline.frozen import FrozenList, freeze
from hooks.pipeline.verdicts import HookType

T = TypeVar("T")

FrozenJson: TypeAlias = Annotated[Any, AfterValidator(freeze)]
FrozenObject: TypeAlias = Annotated[dict[str, Any], AfterValidator(freeze)]
Frozen: TypeAlias = Annotated[list[T], AfterValidator(FrozenList)]


class _Writable:
    """Marks a field that a hook may change; the schema says so too."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "writable": True}


Writable = _Writable()


class _Frozen(BaseModel):
    # Strict: a hook that answers "yes" where true is meant has made a mistake, and is told.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=(), validate_by_name=False)


# ---- values --------------------------------------------------------------------------------------------------------


class Message(_Frozen):
    """One turn of a conversation."""

    role: str
    content: str


class Context(_Frozen):
    """A conversation; the digest is over the hashes of its messages."""

    messages: Frozen[Message]
    digest: str


class AgentStepAction(_Frozen):
    """A prompt goes to an agent."""

    kind: Literal["agent_step"]
    node_id: str
    agent: str
    prompt: str


class HostExecutorAction(_Frozen):
    """An executor is called."""

    kind: Literal["host_executor"]
    node_id: str
    executor: str
    input: FrozenJson


Action: TypeAlias = Annotated[AgentStepAction | HostExecutorAction, Field(discriminator="kind")]


class Output(_Frozen):
    """What a component produced: the text of an answer, and its value where it was parsed or is no text."""

    text: str | None
    value: FrozenJson
    model: str | None
    usage: FrozenObject | None
    finish_reason: str | None


class GenerateLog(_Frozen):
    """How the last generation went. `raw_ref` is the file of a large answer, relative to the run directory."""

    prompt: str
    model: str | None
    provider: str
    model_options: FrozenObject
    usage: FrozenObject | None
    started_at: str
    latency_ms: int
    raw_ref: str | None


class Error(_Frozen):
    """What went wrong."""

    error_code: str
    error_class: str
    error_message: str
    details: FrozenObject


class Judge(_Frozen):
    """An agent that says whether an answer is good enough."""

    agent: str
    prompt: str
    threshold: float = Field(default=0.5, ge=0, le=1)


class Requirement(_Frozen):
    """A check on an answer: exactly one of check (CEL), schema, regex, command, python, judge."""

    name: str = Field(min_length=1)
    origin: str = "hook"
    reason: str | None = None
    weight: float = Field(default=1.0, gt=0)
    check: str | None = None
    json_schema: FrozenObject | None = Field(default=None, alias="schema")
    regex: str | None = None
    command: Frozen[str] | None = None
    python: str | None = None
    judge: Judge | None = None

    @model_validator(mode="after")
    def _has_one_check(self) -> Requirement:
        given = [name for name in _CHECKS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a requirement has exactly one of check, schema, regex, command, python, judge, not {given}"
            )
        return self


_CHECKS = ("check", "json_schema", "regex", "command", "python", "judge")


# ---- payloads ------------------------------------------------------------------------------------------------------


class HookPayload(_Frozen):
    """What every hook is shown."""

    point: ClassVar[HookType]
    can_block: ClassVar[bool] = True
    """Whether a "no" stops anything; where it comes too late it is only recorded."""

    schema_version: Literal[1]
    hook: str
    run_id: str
    workflow_id: str
    node_id: str | None
    activity_id: str | None
    attempt_id: str | None
    attempt: int | None
    loop_iteration: int | None
    item_index: int | None
    session_id: str
    request_id: str
    """The same when a hook is asked again after a crash, so that it can drop a repeat."""
    timestamp: str
    params: FrozenObject
    user_metadata: FrozenObject

    @classmethod
    def writable_fields(cls) -> tuple[str, ...]:
        """The fields that a hook may change."""
        return tuple(name for name, field in cls.model_fields.items() if Writable in field.metadata)

    @classmethod
    def why_not_writable(cls, document: PayloadDocument) -> str | None:
        """Why the writable fields of this one payload may not be changed after all, if so."""
        return None


class ComponentPayload(HookPayload):
    """What the hooks around an agent step or an executor call are shown."""

    action_id: str
    component_type: Literal["AgentStep", "HostExecutorCall"]
    action: Action


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
    can_block = False

    error: Error
    error_type: str
    stack_trace: str
    context: Context
    model_options: FrozenObject


HOOK_POINTS: dict[str, type[HookPayload]] = {
    payload.point: payload
    for payload in (ComponentPreExecutePayload, ComponentPostSuccessPayload, ComponentPostErrorPayload)
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
