"""What a run is, folded from its log: the state that `apply` writes and `decide` reads.

Everything a decision needs is kept ready, so that neither an event nor a decision ever looks at all nodes: `ready`
holds the nodes that could start, `open` the attempts under way, `closing` those that ended and whose node has
not been told. Values are kept as the log has them, inline or as a blob reference; no decision looks into one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hooks.definition.graph import Graph
from hooks.events.payloads import (
    CancelDelivered,
    ComponentFailed,
    ComponentStarted,
    ComponentSucceeded,
    EffectAttempted,
    EffectSettled,
    ErrorInfo,
    GenerationFinished,
    GenerationStarted,
    HookDecided,
    HookSetMember,
    ReconcileResult,
    RunBlocked,
    RunCreated,
    RunFailed,
    RunSucceeded,
    Session,
    ValidationFinished,
)
from hooks.ids import ActivityId, AttemptId, NodeId, RunId

NodeStatus: TypeAlias = Literal["running", "succeeded", "failed"]


@dataclass(slots=True)
class DecidedHook:
    """A hookDecided of the attempt, and the seq it stands at."""

    seq: int
    decided: HookDecided


@dataclass(slots=True)
class AttemptState:
    """One attempt under way: how far its events say it has come."""

    attempt_id: AttemptId
    activity_id: ActivityId
    node_id: NodeId
    number: int
    epoch: int
    created_at: int
    component: ComponentStarted | None = None
    component_at: int = 0
    hooks: list[DecidedHook] = field(default_factory=list)
    permitted_by: int | None = None
    """Index of the driver session that logged the last permit (running, generation or effect)."""
    running_since: int = 0
    generation: GenerationStarted | None = None
    """The draw that was started and has not finished."""
    draws: list[GenerationFinished] = field(default_factory=list)
    """Finished draws that gave an answer."""
    generation_error: GenerationFinished | None = None
    """The last draw, if it ended in an error of the agent."""
    validated: ValidationFinished | None = None
    effect: EffectAttempted | None = None
    settled: EffectSettled | None = None
    reconciled: ReconcileResult | None = None
    stop: CancelDelivered | None = None
    """A signal was announced to what this attempt runs; its answer is no longer its own."""
    succeeded: ComponentSucceeded | None = None
    succeeded_at: int = 0
    failed: ComponentFailed | None = None
    failed_at: int = 0
    interruptions: int = 0
    """How often in a row a draw of this attempt was ended by its driver's death."""

    @property
    def is_permitted(self) -> bool:
        """Something outside may have been started for it."""
        return self.permitted_by is not None

    @property
    def is_dangling(self) -> bool:
        """An effect was attempted and nothing says yet how it ended."""
        return (
            self.effect is not None
            and (self.settled is None or self.settled.outcome == "unknown")
            and (self.reconciled is None or self.reconciled.outcome == "in_doubt")
        )

    @property
    def is_in_doubt(self) -> bool:
        """Dangling, and only a person can say."""
        return self.is_dangling and self.reconciled is not None

    @property
    def effect_done(self) -> bool:
        """The effect happened, whatever became of the attempt."""
        if self.reconciled is not None:
            return self.reconciled.outcome == "done"
        return self.settled is not None and self.settled.outcome == "done"


@dataclass(slots=True)
class ActivityState:
    """One unit of work of a node, over its attempts."""

    activity_id: ActivityId
    node_id: NodeId
    attempts: int = 0
    """Attempts made; the number of the last one."""
    counted: int = 0
    """Attempts that use up max_attempts: those not ended by a driver's death."""
    interruptions: int = 0
    """Attempts in a row that a driver's death has ended."""
    epoch: int = 0
    output: Any = None
    error: ErrorInfo | None = None
    effect_done: bool = False
    started_at: int = 0
    ended_at: int | None = None


@dataclass(slots=True)
class RunState:
    """A run as its log tells it. Only `apply` changes it."""

    run_id: RunId
    graph: Graph
    seq: int = 0
    timestamp: int = 0
    created: RunCreated | None = None
    created_at: int = 0
    hook_set: list[HookSetMember] = field(default_factory=list)
    """The hooks of the run as last pinned, in effective order."""
    sessions: list[Session] = field(default_factory=list)
    """The drivers that have written to the log, in order."""
    started_at: int | None = None
    ended: RunSucceeded | RunFailed | RunBlocked | None = None
    ended_at: int | None = None

    waiting_for: list[int] = field(default_factory=list)
    """By position: how many dependencies are not finished yet."""
    ready: list[int] = field(default_factory=list)
    """Positions of nodes that may start, ascending."""
    nodes: dict[NodeId, NodeStatus] = field(default_factory=dict)
    """Status of every node that has begun; those not named are pending."""
    finished: int = 0
    activities: dict[ActivityId, ActivityState] = field(default_factory=dict)
    by_node: dict[NodeId, ActivityState] = field(default_factory=dict)
    open: dict[ActivityId, AttemptState] = field(default_factory=dict)
    closing: dict[ActivityId, AttemptEnd] = field(default_factory=dict)
    backoff: dict[ActivityId, int] = field(default_factory=dict)
    """Activities that wait for their next attempt, and when it is due (ms)."""
    in_doubt: dict[ActivityId, ReconcileResult] = field(default_factory=dict)
    failure: NodeFailure | None = None
    run_hooks: list[DecidedHook] = field(default_factory=list)

    def now(self, wall_clock_ms: int) -> int:
        """The time decisions are made at: the wall clock, but never before the last event."""
        return max(wall_clock_ms, self.timestamp)


@dataclass(slots=True, frozen=True)
class AttemptEnd:
    """How the last attempt of an activity ended, until its node is told."""

    attempt_id: AttemptId
    error: ErrorInfo | None
    interrupted: bool = False
    effect_done: bool = False


@dataclass(slots=True, frozen=True)
class NodeFailure:
    """The first node that failed: it decides how the run ends."""

    node_id: NodeId
    error: ErrorInfo


def initial_state(run_id: RunId, graph: Graph) -> RunState:
    """The state before the first event."""
    return RunState(
        run_id=run_id,
        graph=graph,
        waiting_for=list(graph.waiting_for),
        ready=[position for position, count in enumerate(graph.waiting_for) if count == 0],
    )
