"""The contract of an executor, and the words it is spoken in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hooks.events.payloads import EffectOutcome, ErrorInfo


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

    `directory` is for this attempt: it takes stdin, stdout, stderr and exit.json, and is made by who starts a process.
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


@dataclass(frozen=True, slots=True)
class Settled:
    """How a call ended: done; failed (it said so itself); not_done (certainly nothing happened); unknown.

    `done` with an error: it happened, but its output cannot be used.
    """

    outcome: EffectOutcome
    output: Any = None
    error: ErrorInfo | None = None


class Executor(Protocol):
    """Performs calls. After a crash it may be asked to `adopt` a call, never to execute one twice by itself."""

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        """Check the input and give it its canonical form. Raises InputError. Changes nothing outside."""

    async def execute(self, call: EffectCall) -> Settled:
        """Perform the call; every failure of it is an outcome, not an exception.

        Raises StorageError only where certainly nothing was started, for want of disk, descriptors or memory.

        Cancelled, it ends its whole process tree (TERM, grace, KILL) before it lets the cancellation pass.
        """

    async def adopt(self, call: EffectCall) -> Settled | None:
        """The outcome of a call whose driver died, if it still runs or has left one (exit.json); None if not known.

        Waits for a process that still runs; never starts one. Cancelled, it ends what it waited for.
        """
