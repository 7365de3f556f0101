"""What a run is, folded from its log: the state that `apply` writes and `decide` reads.

Everything a decision needs is kept ready, so that neither an event nor a decision ever looks at all nodes: each scope
(the run, a round of a loop) keeps the nodes that could start and those that need something first; `open` holds the
attempts under way, `closing` those that ended and have not been followed up. Values are kept as the log has them,
inline or as a blob reference; no decision looks into one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hooks.definition.graph import Graph
from hooks.definition.model import Node
from hooks.events.payloads import (
    CancelDelivered,
    CancelRequested,
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
    RunCancelled,
    RunCreated,
    RunFailed,
    RunSucceeded,
    SamplingIteration,
    SamplingLoopEnded,
    SamplingLoopStarted,
    SamplingRepair,
    Session,
    ValidationFinished,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.ids import ActivityId, AttemptId, NodeId, RunId

RoundOutcome: TypeAlias = Literal["approved", "rejected", "failed", "cancelled"]
NodeStatus: TypeAlias = Literal["running", "waiting", "succeeded", "failed", "skipped", "cancelled"]
RunEnding: TypeAlias = RunSucceeded | RunFailed | RunBlocked | RunCancelled


@dataclass(slots=True)
class DecidedHook:
    """A hookDecided of the attempt, and the seq it stands at."""

    seq: int
    decided: HookDecided


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A prompt and its answer, after what was said before: conversations share their beginnings.

    A conversation may be longer than the stack is deep, so that nothing here follows it by recursion.
    """

    before: Turn | None = field(repr=False)
    prompt: Any
    answer: Any

    def __eq__(self, other: object) -> bool:
        mine: Turn | None = self
        theirs = other
        while mine is not theirs:
            if mine is None or not isinstance(theirs, Turn):
                return False
            if (mine.prompt, mine.answer) != (theirs.prompt, theirs.answer):
                return False
            mine, theirs = mine.before, theirs.before
        return True

    __hash__ = None  # type: ignore[assignment]


@dataclass(slots=True)
class DrawState:
    """One draw of a sampling loop: how far it has come."""

    number: int
    started: GenerationStarted
    started_at: int
    before: Turn | None
    """What was said before its prompt."""
    finished: GenerationFinished | None = None
    """Its answer."""
    finished_at: int = 0
    validated: ValidationFinished | None = None
    validated_at: int = 0
    iteration: SamplingIteration | None = None
    iteration_at: int = 0
    repair: SamplingRepair | None = None
    repair_at: int = 0

    @property
    def turn(self) -> Turn:
        """The conversation with this draw in it."""
        assert self.finished is not None, "a draw that was not answered is no turn"
        return Turn(self.before, self.started.prompt, self.finished.text)


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call of an agent that gave an error."""

    started: GenerationStarted
    finished: GenerationFinished
    at: int


@dataclass(slots=True)
class LoopState:
    """The sampling loop of an attempt."""

    started: SamplingLoopStarted | None = None
    """None where the agent was asked without a loop."""
    started_at: int = 0
    calls: int = 0
    """The highest number a call has."""
    open: dict[str, GenerationStarted] = field(default_factory=dict)
    """Calls under way, by generation id."""
    draws: dict[int, DrawState] = field(default_factory=dict)
    judged: dict[tuple[int, str], GenerationFinished] = field(default_factory=dict)
    """What judges have answered, by draw and requirement."""
    judging: dict[str, GenerationStarted] = field(default_factory=dict)
    """The questions to judges so far, by generation id."""
    failures: dict[str, int] = field(default_factory=dict)
    """How often a call in a row has failed, by what it was for: `draw-2`, `judge-2-specific`."""
    failed: dict[str, FailedCall] = field(default_factory=dict)
    """Calls that failed and have not been made again, likewise."""
    ended: SamplingLoopEnded | None = None
    ended_at: int = 0

    @property
    def answered(self) -> list[DrawState]:
        """The draws that were answered, in order."""
        return [self.draws[number] for number in sorted(self.draws) if self.draws[number].finished is not None]

    @property
    def chosen(self) -> DrawState | None:
        """The draw that the loop came to; of one that is not over, the last that was answered."""
        if self.ended is not None:
            return None if self.ended.draw is None else self.draws[self.ended.draw]
        return next(reversed(self.answered), None)


def purpose_of(call: GenerationStarted) -> str:
    """What a call is for, the same for one that is made again."""
    return draw_purpose(call.draw) if call.purpose == "draw" else judge_purpose(call.draw, call.requirement or "")


def draw_purpose(draw: int) -> str:
    return f"draw-{draw}"


def judge_purpose(draw: int, requirement: str) -> str:
    return f"judge-{draw}-{requirement}"


@dataclass(slots=True)
class AttemptState:
    """One attempt under way: how far its events say it has come."""

    attempt_id: AttemptId
    activity_id: ActivityId
    node_id: NodeId
    number: int
    epoch: int
    created_at: int
    scope: str = ""
    item: int | None = None
    component: ComponentStarted | None = None
    component_at: int = 0
    hooks: list[DecidedHook] = field(default_factory=list)
    permitted_by: int | None = None
    """Index of the driver session that logged the last permit (running, generation or effect)."""
    running_since: int = 0
    before: Turn | None = None
    """The conversation it goes on with."""
    loop: LoopState | None = None
    effect: EffectAttempted | None = None
    settled: EffectSettled | None = None
    settled_at: int = 0
    reconciled: ReconcileResult | None = None
    stop: CancelDelivered | None = None
    """A signal was announced to what this attempt runs; its answer is no longer its own."""
    succeeded: ComponentSucceeded | None = None
    succeeded_at: int = 0
    failed: ComponentFailed | None = None
    failed_at: int = 0
    wait: WaitState | None = None
    """The gate it stands at, or has passed."""
    passed: set[str] = field(default_factory=set)
    """Hook points whose answer stands, since a gate has opened after them and the hooks have not changed since."""
    interruptions: int = 0
    """How often in a row a draw of this attempt was ended by its driver's death."""

    @property
    def is_permitted(self) -> bool:
        """Something outside may have been started for it."""
        return self.permitted_by is not None

    @property
    def is_dangling(self) -> bool:
        """An effect was attempted and nothing says yet how it ended."""
        return self.effect is not None and (self.settled is None or self.settled.outcome == "unknown")

    @property
    def is_in_doubt(self) -> bool:
        """Dangling, and only a person can say."""
        return self.is_dangling and self.reconciled is not None

    @property
    def is_waiting(self) -> bool:
        """It stands at a gate that nobody has answered."""
        return self.wait is not None and self.wait.approved is None and not self.wait.closed

    @property
    def effect_done(self) -> bool:
        """The effect happened, whatever became of the attempt."""
        return self.settled is not None and self.settled.outcome == "done"


@dataclass(slots=True)
class ActivityState:
    """One unit of work of a node, over its attempts."""

    activity_id: ActivityId
    node_id: NodeId
    scope: str
    item: int | None = None
    attempts: int = 0
    """Attempts made; the number of the last one."""
    counted: int = 0
    """Attempts that use up max_attempts: those not ended by a driver's death, since the run was last reopened."""
    interruptions: int = 0
    """Attempts in a row that a driver's death has ended."""
    epoch: int = 0
    sent_epoch: int = 0
    """The epoch of the last effect attempted."""
    input_hash: str | None = None
    """Of the last effect attempted; a later attempt with another one needs a new epoch."""
    may_change_input: bool = False
    """The last outcome was not_done, or a person asked for the retry."""
    first_attempted_at: dict[str, int] = field(default_factory=dict)
    """By idempotency key: when it was first attempted, which starts its time to live (ms)."""
    done: EffectSettled | None = None
    """The effect as it was done: whatever failed afterwards, no attempt does it again."""
    approved: dict[str, WaitState] = field(default_factory=dict)
    """What a person has approved, by digest; an attempt with another digest opens a new gate."""
    waits: int = 0
    """How often its gate has opened."""
    output: Any = None
    conversation: Turn | None = None
    """What was said, with the answer that stands, for a step that goes on with it."""
    error: ErrorInfo | None = None
    effect_done: bool = False
    started_at: int = 0
    ended_at: int | None = None


@dataclass(slots=True)
class WaitState:
    """A gate that is open, or has been answered and not yet acted upon."""

    created: WaitCreated
    created_at: int
    approved: bool | None = None
    """None while nobody has answered."""
    overdue: bool = False
    """Decided by its deadline, not by a person."""
    by: str = ""
    comment: str = ""
    closed: bool = False
    answer: WaitResolved | WaitDeadlineExceeded | None = None
    answered_at: int = 0


@dataclass(slots=True)
class NodeState:
    """A node that has begun, in its scope."""

    status: NodeStatus
    activity: ActivityState | None = None
    """Its work, when it is one activity."""
    items: list[ActivityState | None] = field(default_factory=list)
    """Its work, when it is a fan-out: by index, None for those not begun."""
    item_values: Any = None
    todo: deque[int] = field(default_factory=deque)
    """Indices of the items that have not begun, in order."""
    succeeded_items: int = 0
    is_fan_out: bool = False
    wait: WaitState | None = None
    """The gate of a whole fan-out."""
    waits: int = 0
    """How often that gate has opened."""
    output: Any = None
    """Of a decision (what was answered) or a loop (of its last round)."""
    comment: str = ""
    error: ErrorInfo | None = None
    effect_done: bool = False
    rounds: int = 0
    """Rounds of a loop that have begun."""
    rounds_before: int = 0
    """Rounds it had when the run was last reopened: max_iterations counts from there."""
    round_outcome: RoundOutcome | None = None
    """How the last round ended; None while it is under way."""
    started_at: int = 0
    ended_at: int | None = None
    is_imported: bool = False
    """It was done in the run that this one is a rerun of."""


@dataclass(frozen=True, slots=True)
class Composite:
    """An output that is made of others: a fan-out's list, a loop's map."""

    parts: tuple[Any, ...] | dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodeFailure:
    """The first node that failed: it decides how its scope ends."""

    node_id: NodeId
    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """How the last attempt of an activity ended, until what follows from it is decided."""

    attempt_id: AttemptId
    error: ErrorInfo | None
    interrupted: bool = False
    effect_done: bool = False
    cancelled: bool = False
    was_retried: bool = False
    """A call of its agent failed for good, after all the tries it had: no new attempt makes more of them."""
    may_retry: bool | None = True
    """Whether another attempt is safe that its node does not ask for itself; None where the log does not say."""


Need: TypeAlias = Literal["skip_condition", "skip_upstream", "fail", "evaluate", "expand", "gate", "loop", "decide"]
"""What a node needs before it can start, or instead of it:

- skip_condition, skip_upstream, fail: to be told so;
- evaluate, expand: a fact from the runtime (its `if`, its list);
- gate: its answer, for a whole fan-out;
- loop: its next round, or its end;
- decide: an attempt that takes no room (a decision only waits).
"""


@dataclass(slots=True)
class Scope:
    """One walk over a graph: the run, or one round of a loop."""

    key: str
    graph: Graph
    loop: NodeId | None = None
    iteration: int = 0
    waiting_for: list[int] = field(default_factory=list)
    """By position: how many dependencies are not over yet."""
    ready: list[int] = field(default_factory=list)
    """Positions of nodes whose work may start, ascending; a fan-out stays while it has items to start."""
    needs: dict[int, Need] = field(default_factory=dict)
    nodes: dict[NodeId, NodeState] = field(default_factory=dict)
    """Every node that has begun; those not named are pending."""
    finished: int = 0
    under_way: int = 0
    """Attempts that are open or waiting for their next one."""
    failure: NodeFailure | None = None
    left_failed: NodeFailure | None = None
    """A failure from before the run was reopened that nobody asked to try again: it still decides how the run ends."""

    def __post_init__(self) -> None:
        self.waiting_for = [len(upstream) for upstream in self.graph.dependencies]


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
    max_concurrency: int = 1
    ended: RunEnding | None = None
    ended_at: int | None = None

    scopes: dict[str, Scope] = field(default_factory=dict)
    """The run's own under "", and of each loop under way or over the last rounds (`<loop>.<n>`), two at the most."""
    activities: dict[ActivityId, ActivityState] = field(default_factory=dict)
    open: dict[ActivityId, AttemptState] = field(default_factory=dict)
    closing: dict[ActivityId, AttemptEnd] = field(default_factory=dict)
    """Attempts that ended, until what follows is decided."""
    completing: dict[tuple[str, NodeId], None] = field(default_factory=dict)
    """Nodes whose work is all done, until they are told."""
    backoff: dict[ActivityId, int] = field(default_factory=dict)
    """Activities that wait for their next attempt, and when it is due (ms)."""
    pauses: dict[ActivityId, int] = field(default_factory=dict)
    """Open attempts that wait to ask their agent again, and when that is due (ms)."""
    waits: dict[str, WaitState] = field(default_factory=dict)
    """Gates that are open."""
    answered: dict[str, None] = field(default_factory=dict)
    """Ids of gates that are not open any more."""
    in_doubt: dict[ActivityId, AttemptState] = field(default_factory=dict)
    """Attempts whose effect only a person can settle, open ones and such as ended by a cancel."""
    halted: bool = False
    """A failure that nothing absorbs: no new work starts."""
    cancel: CancelRequested | None = None
    cancelled_nodes: dict[tuple[str, NodeId], CancelRequested] = field(default_factory=dict)
    requests: dict[str, None] = field(default_factory=dict)
    """Ids of the requests that have been dealt with."""
    run_hooks: list[DecidedHook] = field(default_factory=list)
    plugin_states: dict[str, Any] = field(default_factory=dict)
    """What plugins keep for themselves, as last saved with a decision, by the key of the plugin."""
    run_waits: int = 0
    run_wait: WaitState | None = None
    """A policy asked about the run itself: nothing starts before it is answered."""
    refusal: ErrorInfo | None = None
    """The run was refused before any node started."""

    def __post_init__(self) -> None:
        self.scopes[""] = Scope("", self.graph)

    @property
    def root(self) -> Scope:
        return self.scopes[""]

    def now(self, wall_clock_ms: int) -> int:
        """The time decisions are made at: the wall clock, but never before the last event."""
        return max(wall_clock_ms, self.timestamp)

    def node(self, node_id: str, scope: str = "") -> NodeState | None:
        """A node that has begun, in its scope."""
        place = self.scopes.get(scope)
        return place.nodes.get(NodeId(node_id)) if place is not None else None

    def definition_of(self, attempt: AttemptState) -> Node:
        """The definition of the node an attempt is of."""
        graph = self.scopes[attempt.scope].graph
        return graph.nodes[graph.position[attempt.node_id]]


def output_of(state: NodeState) -> Any:
    """The output of a node that succeeded: a value, a blob reference, or a Composite of such."""
    if state.is_fan_out:
        return Composite(tuple(item.output if item is not None else None for item in state.items))
    if state.activity is not None and state.output is None:
        return state.activity.output
    return state.output
