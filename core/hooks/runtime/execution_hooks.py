"""The seam between the runtime and whoever performs its work: the abstract class `WorkflowExecutionHooks`.

The runtime decides, records and dispatches the hook points; an implementation of this class performs agent steps and
executor calls and nothing else. The command line uses the one made of the workflow's agents and executors
(`runtime/local.py`); a program that embeds the runtime brings its own.

The rule that makes it safe to write one: **an effect is asked to be performed once.** After a crash the runtime never
calls `execute_*` for an effect again by itself; it asks, in this order, `recover_dangling_effects`, `adopt_*`, then
what `effect_policy` says is possible (`look_up_effect`, or sending it again), and without an answer leaves it in doubt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hooks.agents.base import Agent
from hooks.definition.model import HostExecutorNode, SubagentNode
from hooks.events.payloads import EffectOutcome, ErrorClass
from hooks.executors.base import CannotTell, LookUp
from hooks.ids import ActivityId, AttemptId, NodeId, RevisionId, RunId
from hooks.kernel.state import RunState
from hooks.runtime.prepared_call import PreparedCall
from hooks.secrets import Masker

if TYPE_CHECKING:
    from hooks.runtime.effect_log import EffectLog
    from hooks.runtime.loop_services import LoopServices
    from hooks.runtime.recorder import Recorder


Leftover: TypeAlias = Literal["none", "trusted", "untrusted"]
"""What a driver that is gone may have left of this work: nothing; a process or an outcome, to be learned instead of
doing the work again; or something that proves nothing (it was told to stop, or its files may not be what it wrote)."""


@dataclass(frozen=True, slots=True)
class DispatchContext:
    """Whose work this is, and what hooks have left of its options.

    `idempotency_key` is the same whenever this very work is asked for again, and no other work has it. `directory` is
    for this attempt alone, and may have to be made. `leftover` says whether a driver that is gone had started the work.
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
    """For `sample`, as is `loop`; an implementation writes nothing itself."""
    loop: LoopServices


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The work is done; `output` is any JSON value."""

    output: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The work failed. `outcome` says what is known of its effect; without that knowledge it is `unknown`.

    Of an effect, `failed` means that it was tried and has said so itself, `not_done` that certainly nothing happened;
    `unknown` is never retried, but asked about. `error_class` decides what `retry` makes of it.
    """

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
"""What `execute_*` returns."""


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
    """What a pass over the dangling effects brought.

    `has_remaining_dangling`: some that it has not settled are its to settle, later: it is asked again, after 1 s, then
    twice as long each time up to 1 min, and at once from the start after `had_progress`. Without it the runtime goes
    on with `adopt_*` and the look-up.
    """

    had_progress: bool = False
    has_remaining_dangling: bool = False


class WorkflowExecutionHooks(ABC):
    """Performs the work of a run. Cancellation reaches a running `execute_*` as asyncio cancellation.

    Only the two abstract methods have to be written. What they raise is an error of the step (of an effect: outcome
    unknown), and never ends the driver. Cancelled, they stop what they have begun and let the cancellation pass; what
    became of an effect is then looked up once.
    """

    @abstractmethod
    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        """Have the agent of `node` answer `resolved_prompt`; `sample(ctx, node, resolved_prompt)` runs the whole loop.

        After a crash it is called again with the same idempotency key, unless the agent says `repeatable: false`.
        """

    @abstractmethod
    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        """Perform the executor call of `node`; called only once its permit is durable.

        For an effect `parsed_input` is the canonical input, as read from the bytes of effect-input.json, secrets filled
        in. Once for each attempt, unless `effect_policy` says that sending it again with the same key is harmless. For
        a `read_only` node it is the parsed input, and a crash leads to another attempt.
        """

    def agent_for(self, name: str) -> Agent | None:
        """Who answers in `sample` for the agent that the workflow calls `name`; None: the one it declares."""
        return None

    def prepare_host_executor(self, executor_name: str, resolved_input: Any) -> PreparedCall:
        """Parse and canonicalise the input before effect-input.json is written. Raises ValueError: a user's fault.

        Secrets are still {"$secret": …} here, and have to stay where they are. Changes nothing outside.
        """
        return PreparedCall(resolved_input, resolved_input, "manual")

    def prepare_in(self, working_directory: Path, executor_name: str, resolved_input: Any) -> PreparedCall:
        """`prepare_host_executor` of a step that works in this directory; to be overridden where that matters."""
        return self.prepare_host_executor(executor_name, resolved_input)

    async def recover_dangling_effects(self, log: EffectLog, snapshot: RunState) -> RecoveryResult:
        """Settle, in `log`, what of `log.dangling` can be told: effects that were permitted and of which no outcome is
        known. Called before anything else is done about one, in a later driver or after a cancel.

        What it raises is taken for "later".
        """
        return RecoveryResult()

    async def adopt_subagent(
        self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str
    ) -> DispatchOutcome | None:
        """How an answer with consequences (`repeatable: false`) ended that a driver which is gone had asked for.

        None: nothing is known. Not called where `sample` had begun a loop, which goes on by itself.
        """
        return None

    async def adopt_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome | None:
        """How a call ended that a driver which is gone had begun, waited for if it still goes on; None: not known.

        Never starts one. Cancelled, it ends what it waited for.
        """
        return None

    def effect_policy(self, node: HostExecutorNode, canonical_input: Any, timeout_ms: int | None) -> EffectPolicy:
        """What can be done about such a call when it failed, or nobody knows how it ended: by default nothing.

        Asked before the call is begun, too, and whenever it has to be known. What it raises fails a step whose call has
        not begun, and leaves one in doubt of which nobody knows how it ended.
        """
        return EffectPolicy()

    async def look_up_effect(self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any) -> LookUp:
        """Ask whether a call happened; called only where `effect_policy` says that one can. May be asked any time."""
        return CannotTell("this implementation cannot look up a call")

    async def end_leftovers(  # noqa: B027 - to override it is optional
        self, ctx: DispatchContext, node: SubagentNode | HostExecutorNode
    ) -> None:
        """See to it that nothing goes on of work that a driver which is gone had begun: its outcome is not wanted any
        more. Called before a cancel or a timeout is closed, and then it is looked up. May be called more than once."""

    async def on_activities_cancelled(  # noqa: B027 - to override it is optional
        self, activity_ids: Sequence[str], node_ids: Sequence[str], run_id: str
    ) -> None:
        """Called after the cancel events are durable, at least once, with the ids of what they ended.

        Told too late to keep a cancel from ending: an error is said on stderr, and it has the run's grace.
        """
