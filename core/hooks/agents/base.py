"""The contract of an agent, and the words it is spoken in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec.structs import replace

from hooks.events.payloads import ErrorClass, ErrorInfo
from hooks.jsonio import carried_text
from hooks.secrets import Masker


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One prompt for an agent, after the turns of the conversation so far.

    `directory` is for this draw: it takes stdout, stderr and exit.json, and is made by who starts a process.
    """

    prompt: str
    model_options: Mapping[str, Any]
    format: Mapping[str, Any] | None
    directory: Path
    working_directory: Path
    workflow_directory: Path
    marker: str
    """Goes into the environment of every process started for this draw (HOOKS_MARKER)."""
    key: str
    """The same for a repeat of this draw after a crash."""
    grace_ms: int
    context: Sequence[Message] = ()
    """What was said before `prompt`, oldest first; an agent that takes only a text is given all of it as one."""
    tool_calls_enabled: bool = False
    """Whether the agent may use tools of its own."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What is added to the driver's own environment."""
    hidden: frozenset[str] = frozenset()
    """What of that the draw does not get: secrets its step does not list."""
    masker: Masker | None = None
    """Masks what is captured before anything of it is read."""
    on_kill: Callable[[], None] | None = None
    """Called once, just before processes of this draw that outlived their grace are sent KILL."""


@dataclass(frozen=True, slots=True)
class Generation:
    """An answer: its text, and where the agent gave any, what it knows of how it came about.

    `value` is for an agent that answers with structure (a callable that returns an object, a JSON document on stdout);
    then `text` is its JSON. Where a step wants JSON and `value` is None, the runtime parses the text.
    """

    text: str
    value: Any = None
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    finish_reason: str | None = None
    leaked: int = 0
    """How many processes it had left running in the background; they have been ended."""


class AgentError(Exception):
    """The agent gave no answer. `stack_trace` is what it said on stderr (its end), or a traceback.

    `leaked` as of a Generation. What others' code has said goes into the log: it is kept as the log can carry it.
    """

    def __init__(self, error: ErrorInfo, stack_trace: str = "", *, leaked: int = 0) -> None:
        super().__init__(error.error_message)
        self.error = _carried(error)
        self.stack_trace = carried_text(stack_trace) if isinstance(stack_trace, str) else stack_trace
        self.leaked = leaked


def agent_error(
    code: str, error_class: ErrorClass, message: str, stack_trace: str = "", *, leaked: int = 0
) -> AgentError:
    info = ErrorInfo(error_code=code, error_class=error_class, error_message=message)
    return AgentError(info, stack_trace, leaked=leaked)


def _carried(error: ErrorInfo) -> ErrorInfo:
    if not isinstance(error, ErrorInfo):
        return error  # anybody may raise it, with anything: for who catches it to see
    return replace(error, error_code=carried_text(error.error_code), error_message=carried_text(error.error_message))


class Agent(Protocol):
    """Answers a request. May be asked the same request twice with the same key after a crash."""

    @property
    def honoured_options(self) -> frozenset[str]:
        """The model options it knows what to do with; setting another one is refused before it is asked."""

    async def generate(self, request: GenerationRequest) -> Generation:
        """The answer to `request`. Raises AgentError.

        Cancelled, it ends its whole process tree (TERM, grace, KILL) before it lets the cancellation pass.
        """

    async def adopt(self, request: GenerationRequest) -> Generation | None:
        """The answer of a draw whose driver died, if it still runs or has left one; None if nothing can be learned.

        Waits for a process that still runs; never starts one. Raises AgentError as `generate` does.
        Cancelled, it ends what it waited for.
        """
