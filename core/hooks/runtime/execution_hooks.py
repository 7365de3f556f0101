"""The seam between the runtime and whoever performs its work: the abstract class `WorkflowExecutionHooks`.

The runtime decides, records and dispatches the hook points; an implementation of this class performs agent steps and
executor calls and nothing else. The command line uses the one made of the workflow's agents and executors
(`runtime/local.py`); a program that embeds the runtime brings its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hooks.definition.model import HostExecutorNode, SubagentNode
from hooks.events.payloads import EffectOutcome, ErrorClass
from hooks.executors.base import CannotTell, LookUp
from hooks.ids import ActivityId, AttemptId, NodeId, RevisionId, RunId
from hooks.kernel.state import RunState
from hooks.runtime.prepared_call import PreparedCall
from hooks.secrets import Masker

if TYPE_CHECKING:
    from hooks.runtime.loop_services import LoopServices
    from hooks.runtime.recorder import Recorder


Leftover: TypeAlias = Literal["none", "trusted", "untrusted"]
"""What a driver that is gone may have left of this work: nothing; a process or an outcome, to be learned instead of
doing the work again; or something that proves nothing (it was told to stop, or its files may not be what it wrote)."""


@dataclass(frozen=True, slots=True)
class DispatchContext:
    """Whose work this is, and what hooks have left of its options.

    `directory` is for this attempt alone, and may have to be made. `leftover` says whether a driver that is gone had
    started the work.
    """

    run_id: RunId
    workflow_id: str
    revision_id: RevisionId
    node_id: NodeId
    activity_id: ActivityId
    attempt_id: AttemptId
    attempt: int
    idempotency_key: str
    directory: Path
    working_directory: Path
    workflow_directory: Path
    grace_ms: int
    marker: str
    """In the environment of every process started for this attempt (HOOKS_MARKER): by it they are found again."""
    leftover: Leftover
    model_options: Mapping[str, Any]
    format: Mapping[str, Any] | None
    environment: Mapping[str, str]
    """What the step adds to the environment, secrets filled in."""
    hidden: frozenset[str]
    """Variables of the driver's own environment that the step does not get: secrets it does not list."""
    masker: Masker | None
    """Masks every secret of the workflow in whatever is captured."""
    on_kill: Callable[[], None]
    """To be called just before processes that outlived their grace are killed."""
    recorder: Recorder
    loop: LoopServices
    """For `sample`."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The work is done; `output` is any JSON value."""

    output: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The work failed. `outcome` says what is known of its effect; without that knowledge it is `unknown`."""

    error_code: str
    error_class: ErrorClass
    error_message: str
    outcome: EffectOutcome = "unknown"
    stack_trace: str = ""
    output: Any = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The work ended because it was told to."""

    cancel_origin_event_id: str


DispatchOutcome: TypeAlias = Succeeded | Failed | Cancelled


@dataclass(frozen=True, slots=True)
class EffectPolicy:
    """What can be done about a call that failed, or of which nobody knows how it ended; told from its canonical input
    alone."""

    can_look_up: bool = False
    is_idempotent: bool = False
    settle_ms: int = 0
    """How long after the attempt an absence may still turn out to be a delay."""
    may_retry: bool | None = None
    """Whether a call that has failed may be made again though its step has no `retry` of its own; left out, where it
    can be looked up or is idempotent."""

    @property
    def vouches_for_retry(self) -> bool:
        return self.can_look_up or self.is_idempotent if self.may_retry is None else self.may_retry


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What a pass over the dangling effects brought."""

    had_progress: bool
    has_remaining_dangling: bool


class WorkflowExecutionHooks(ABC):
    """Performs the work of a run. Cancellation reaches a running `execute_*` as asyncio cancellation."""

    @abstractmethod
    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        """Have the agent of `node` answer `resolved_prompt`."""

    async def settle_subagent(self, ctx: DispatchContext, node: SubagentNode) -> None:  # noqa: B027 - optional
        """Learn what became of a draw that a driver which is gone had begun, and record it; do not draw."""

    @abstractmethod
    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        """Perform the executor call of `node`; called only once its permit is durable."""

    def prepare_host_executor(
        self, executor_name: str, resolved_input: Any, *, working_directory: Path | None = None
    ) -> PreparedCall:
        """Parse and canonicalise the input before effect-input.json is written. Raises ValueError: a user's fault.

        `working_directory` is that of the node, if it has one of its own. Secrets are still {"$secret": …} here.
        """
        return PreparedCall(resolved_input, resolved_input, "manual")

    def effect_policy(self, node: HostExecutorNode, canonical_input: Any, timeout_ms: int | None) -> EffectPolicy:
        """What can be done about such a call when nobody knows how it ended: by default nothing."""
        return EffectPolicy()

    async def look_up_effect(self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any) -> LookUp:
        """Ask whether a call happened; called only where `effect_policy` says that one can."""
        return CannotTell("this implementation cannot look up a call")

    async def recover_dangling_effects(self, log: Recorder, snapshot: RunState) -> RecoveryResult:
        """Called before each pass while effects are dangling; may write their settling to `log`."""
        return RecoveryResult(had_progress=False, has_remaining_dangling=True)

    async def on_activities_cancelled(  # noqa: B027 - to override it is optional
        self, activity_ids: Sequence[str], node_ids: Sequence[str], run_id: str
    ) -> None:
        """Called after the cancel events are durable, at least once; an error is logged and never fatal."""
