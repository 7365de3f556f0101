"""The values that payloads are made of, as hooks in Python see them; frozen all the way down."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from hooks.pipeline.frozen import FrozenList, freeze

T = TypeVar("T")

FrozenJson: TypeAlias = Annotated[Any, AfterValidator(freeze)]
FrozenObject: TypeAlias = Annotated[dict[str, Any], AfterValidator(freeze)]
Frozen: TypeAlias = Annotated[list[T], AfterValidator(FrozenList)]


class FrozenModel(BaseModel):
    """Base of payloads and of what they hold."""

    # Strict: a hook that answers "yes" where true is meant has made a mistake, and is told.
    # And what it dumps reads like the JSON it was read from (`schema`), so that it can be handed back.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        protected_namespaces=(),
        validate_by_name=False,
        serialize_by_alias=True,
    )


class Message(FrozenModel):
    """One turn of a conversation."""

    role: str
    content: str


class Context(FrozenModel):
    """A conversation; the digest is over the hashes of its messages."""

    messages: Frozen[Message]
    digest: str


class AgentStepAction(FrozenModel):
    """A prompt goes to an agent."""

    kind: Literal["agent_step"]
    node_id: str
    agent: str
    prompt: str


class HostExecutorAction(FrozenModel):
    """An executor is called."""

    kind: Literal["host_executor"]
    node_id: str
    executor: str
    input: FrozenJson


Action: TypeAlias = Annotated[AgentStepAction | HostExecutorAction, Field(discriminator="kind")]


class Output(FrozenModel):
    """What a component produced: the text of an answer, and its value where it was parsed or is no text."""

    text: str | None
    value: FrozenJson
    model: str | None
    usage: FrozenObject | None
    finish_reason: str | None


class GenerateLog(FrozenModel):
    """How the last generation went. `raw_ref` is the file of a large answer, relative to the run directory."""

    prompt: str
    model: str | None
    provider: str
    model_options: FrozenObject
    usage: FrozenObject | None
    started_at: str
    latency_ms: int
    raw_ref: str | None


class Error(FrozenModel):
    """What went wrong."""

    error_code: str
    error_class: str
    error_message: str
    details: FrozenObject


class Judge(FrozenModel):
    """An agent that says whether an answer is good enough."""

    agent: str
    prompt: str
    threshold: float = Field(default=0.5, ge=0, le=1)


class Requirement(FrozenModel):
    """A check on an answer: exactly one of check (CEL), schema, regex, command, python, judge, kind."""

    name: str = Field(min_length=1)
    origin: str = "hook"
    reason: str | None = None
    weight: float = Field(default=1.0, gt=0)
    check: str | None = None
    json_schema: FrozenObject | bool | None = Field(default=None, alias="schema")
    regex: str | None = None
    command: Frozen[str] | None = None
    python: str | None = None
    judge: Judge | None = None
    kind: str | None = None
    """A check that another distribution registers; only it understands `settings`."""
    settings: FrozenObject = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_one_check(self) -> Requirement:
        given = [name for name in _CHECKS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a requirement has exactly one of check, schema, regex, command, python, judge, kind, not {given}"
            )
        return self


_CHECKS = ("check", "json_schema", "regex", "command", "python", "judge", "kind")


class Validation(FrozenModel):
    """One requirement's verdict on one answer: as it was found, and as hooks have left it."""

    requirement: Requirement
    passed: bool
    effective_passed: bool
    score: float | None
    reason: str | None
    changed_by: str | None
    """The hook that turned the verdict."""


class VerdictView(FrozenModel):
    """What a dispatch came to, for hooks that look on."""

    outcome: Literal["allow", "changed", "block", "ask", "error"]
    plugin: str | None
    reason: str | None
    code: str | None
