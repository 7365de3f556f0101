"""What the runtime asks the pipeline, and what it gets back.

A dispatch is one question at one hook point, put to every hook that listens there. Its payload is made only when
somebody listens. Its verdict is not acted on before `decided` is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from hooks.events.payloads import ErrorInfo, HookDecided
from hooks.kernel.state import DecidedHook

Json: TypeAlias = Any
PayloadDocument: TypeAlias = dict[str, Json]
"""A payload as JSON: every field of the hook point's class, before any hook of this dispatch."""


@dataclass(frozen=True, slots=True)
class Later:
    """A value of a payload that is dear to lay out, and made of what never changes: the same whenever it is made."""

    make: Callable[[], Json]


def laid_out(document: PayloadDocument) -> PayloadDocument:
    """The payload with all its values."""
    return {name: value.make() if isinstance(value, Later) else value for name, value in document.items()}


VerdictOutcome: TypeAlias = Literal["allow", "changed", "block", "ask", "error"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a hook's `match` is held against; None where it does not apply, and then no glob matches it.

    `node_id` is without loop round and fan-out index.
    """

    workflow: str
    node_id: str | None = None
    component_type: str | None = None
    executor: str | None = None
    agent: str | None = None


def _accept(field_name: str, value: Json) -> str | None:
    return None


def _hide_nothing(value: Json) -> Json:
    return value


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One question. `ordinal` counts the dispatches of the hook point in the attempt (from 1), the same after a crash.

    `payload` is called at the moment of asking; a value of it that is `Later` is laid out when somebody looks, perhaps
    in a thread. `logged` are the hookDecided events of the attempt. `accepts` has the last word on a changed field
    whose value has the right type: the reason why it cannot be used (an option the agent does not honour), or None.
    `mask` puts secrets out of sight in whatever hooks are shown and whatever is recorded of them. Both may be called in
    a thread.
    """

    hook: str
    ordinal: int
    subject: Subject
    payload: Callable[[], PayloadDocument]
    activity_id: str | None = None
    attempt_id: str | None = None
    node_id: str | None = None
    logged: Sequence[DecidedHook] = ()
    accepts: Callable[[str, Json], str | None] = _accept
    mask: Callable[[Json], Json] = _hide_nothing


@dataclass(frozen=True, slots=True)
class Ask:
    """A hook wants a person to decide; nobody approves by silence unless `on_timeout` says so."""

    plugin: str
    reason: str
    approvers: tuple[str, ...] = ()
    deadline_ms: int | None = None
    on_timeout: Literal["fail", "success"] = "fail"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the hooks of one dispatch came to.

    `changes` holds the value now in force of every field that was changed, also when a later hook blocked.
    `violation` is set when the action must not go on. At a point where a "no" comes too late (component_post_error) it
    stays None; the outcome still says block or error. `asks` are all questions of the dispatch, in order, when nobody
    blocked: one gate is opened for them, about the payload that `payload_digest` stands for.
    `decided` is to be recorded, durably, before anything is done with the verdict; None when there is nothing to
    tell, or when it stands in the log already. `messages` are for stderr.
    """

    outcome: VerdictOutcome = "allow"
    changes: Mapping[str, Json] = field(default_factory=dict)
    violation: ErrorInfo | None = None
    asks: Sequence[Ask] = ()
    payload_digest: str = ""
    """Of the payload after all changes; empty where nobody was asked."""
    decided: HookDecided | None = None
    messages: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RunSetting:
    """Where the hooks of a run find themselves. Paths are absolute; `transcript` is events.jsonl."""

    run_id: str
    workflow_id: str
    run_directory: Path
    working_directory: Path
    transcript: Path
    grace_ms: int = 2_000
    """What a hook command gets between TERM and KILL."""
    inputs: Path = Path("hook-inputs")
    """Where strings too long for a hook's stdin are put."""
    is_replay: bool = False
    """What is asked about is over: hooks are told so, and nothing is asked in the background."""
