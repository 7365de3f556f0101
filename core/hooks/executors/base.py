"""The contract of an executor, and the words it is spoken in.

What an executor owes: `prepare` fixes the call, `execute` performs it, `adopt` learns how one ended whose driver died,
and, where it can, `look_up` asks the world afterwards whether it happened. Everything after `prepare` is decided from
the canonical input alone: after a crash it is read back from effect-input.json, and configuration may have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from hooks.events.payloads import EffectOutcome, ErrorInfo
from hooks.secrets import Masker


class InputError(ValueError):
    """The resolved input is not one this executor can perform; nothing was started."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call made ready: what will stand in effect-input.json, and who performs it."""

    canonical_input: dict[str, Any]
    provider: str
    idempotency_ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class EffectCall:
    """One call, as read back from the bytes of effect-input.json (or bound, for a read-only node).

    Secrets are filled in. `directory` is for this attempt: it takes stdout, stderr and exit.json, and is made by who
    starts a process; what is captured there is masked with `masker` before anything of it is read.
    """

    input: dict[str, Any]
    directory: Path
    working_directory: Path
    workflow_directory: Path
    marker: str
    key: str
    grace_ms: int
    max_output_bytes: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    """Variables of the driver's own environment that the call does not get: secrets it does not list."""
    masker: Masker | None = None
    on_kill: Callable[[], None] | None = None
    """Called once, just before processes of this call that outlived their grace are sent KILL."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How a call ended: done; failed (it said so itself); not_done (certainly nothing happened); unknown.

    `done` with an error: it happened, but its output cannot be used. An output of which only a part was kept says so:
    `truncated: true`, and in `truncated_fields` the keys that are not all there, which nobody can refer to then.
    """

    outcome: EffectOutcome
    output: Any = None
    error: ErrorInfo | None = None
    leaked: int = 0
    """How many processes it had left running in the background; they have been ended."""


@dataclass(frozen=True, slots=True)
class Found:
    """It happened: its outcome (done), and the evidence, as JSON for the log."""

    settled: Settled
    evidence: Any = None


@dataclass(frozen=True, slots=True)
class Absent:
    """It did not happen, and will not any more."""


@dataclass(frozen=True, slots=True)
class Later:
    """Who would know cannot be asked just now; asking again may tell."""

    reason: str


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The world says neither, and asking again will not help."""

    reason: str


LookUp: TypeAlias = Found | Absent | Later | CannotTell
"""What a look-up says."""


class Executor(Protocol):
    """Performs calls. After a crash it may be asked about a call; it never executes one twice by itself.

    Whoever writes one may inherit from this class: the methods with a body are right for an executor that can neither
    look up a call nor repeat one safely.
    """

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        """Check the input and give it its canonical form. Raises InputError. Changes nothing outside.

        A value that will hold a secret is still {"$secret": text} here; it is filled in by its place (a JSON pointer)
        before `execute`, so it must stay at the place where it was.
        """

    async def execute(self, call: EffectCall) -> Settled:
        """Perform the call; every failure of it is an outcome, not an exception.

        Raises StorageError only where certainly nothing was started, for want of disk, descriptors or memory.

        Cancelled, it ends its whole process tree (TERM, grace, KILL) before it lets the cancellation pass.
        """

    async def adopt(self, call: EffectCall) -> Settled | None:
        """The outcome of a call whose driver died, if it still runs or has left one (exit.json); None if not known.

        Waits for a process that still runs; never starts one. Cancelled, it ends what it waited for.
        """
        return None

    def can_look_up(self, canonical_input: Mapping[str, Any]) -> bool:
        """Whether `look_up` can ever tell for such a call."""
        return False

    async def look_up(self, call: EffectCall) -> LookUp:
        """Whether the call happened, by its key or its traces. Asked only when nothing of it is alive any more.

        Does not perform it, and may be asked any number of times. Bounded in time by itself.
        """
        return CannotTell("This executor cannot look up a call.")

    def is_idempotent(self, canonical_input: Mapping[str, Any]) -> bool:
        """Whether such a call, sent again with the same key within its time to live, happens only once."""
        return canonical_input.get("idempotent") is True

    def may_retry(self, canonical_input: Mapping[str, Any]) -> bool:
        """Whether a call that has failed may be made again though its step has no `retry` of its own.

        Half of its work may be done by then. So it is safe where a call can be looked up or happens only once; or
        where this executor knows that a call that says it failed has left nothing behind.
        """
        return self.can_look_up(canonical_input) or self.is_idempotent(canonical_input)

    def settle_ms(self, canonical_input: Mapping[str, Any], timeout_ms: int | None) -> int:
        """How long after the attempt an `Absent` may still turn into a `Found`. `timeout_ms` is that of the node."""
        settle: int = canonical_input.get("settle", 0)
        return settle
