"""A run without a runtime: decide and apply, and a world whose answers are fixed beforehand.

`advance` writes the next event that the real runtime would write for an attempt, looking only at the state, so that a
simulated run can be cut after any event and continued.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hooks.definition.graph import graph_of
from hooks.definition.model import DecisionNode, Gate, HostExecutorNode, LoopNode, Node, Retry, SubagentNode, Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import (
    ActivityCancelled,
    ActivityFailed,
    ActivityRunning,
    ActivitySucceeded,
    ComponentFailed,
    ComponentStarted,
    ComponentSucceeded,
    ConditionEvaluated,
    EffectAttempted,
    EffectSettled,
    ErrorInfo,
    FanOutExpanded,
    GenerationFinished,
    GenerationStarted,
    Payload,
    ReconcileResult,
    RunCreated,
    WaitCreated,
    WaitResolved,
)
from hooks.ids import NodeId, RunId, gate_activity, generation_id, wait_id, work_activity
from hooks.kernel.actions import Action, Evaluate, Perform, Record, Stop, WakeAt
from hooks.kernel.apply import apply
from hooks.kernel.apply_waits import refusal
from hooks.kernel.decide import decide
from hooks.kernel.state import AttemptState, RunState
from hooks.kernel.walk import gate_of, initial_state
from hooks.testing import run_created
from tests.kernel.simulated_loop import Script, next_event

RUN = RunId("r")
RETRYABLE = ErrorInfo(error_code="Flaky", error_class="retryable", error_message="no")
FATAL = ErrorInfo(error_code="Broken", error_class="fatal", error_message="no")
UNMET = ErrorInfo(error_code="RequirementsNotMet", error_class="userFault", error_message="no")
BLOCKED = ErrorInfo(error_code="PluginViolationError", error_class="policy", error_message="no")

World = Mapping[tuple[str, int], ErrorInfo]
"""What fails: (node, attempt) -> error; everything else succeeds."""


def created(max_concurrency: int = 2) -> RunCreated:
    return run_created("w", max_concurrency=max_concurrency)


def agent(node_id: str, *depends: str, **fields: Any) -> SubagentNode:
    return SubagentNode(id=node_id, agent="a", prompt="p", depends=list(depends), **fields)


def effect(node_id: str, *depends: str, **fields: Any) -> HostExecutorNode:
    return HostExecutorNode(id=node_id, executor="mail", input={}, depends=list(depends), **fields)


def decision(node_id: str, *depends: str) -> DecisionNode:
    return DecisionNode(id=node_id, human_gate=Gate(prompt="?"), depends=list(depends))


def loop(node_id: str, *body: Any, depends: Sequence[str] = (), max_iterations: int = 3, **fields: Any) -> LoopNode:
    """A loop whose last body node is its decision."""
    return LoopNode(
        id=node_id,
        body=list(body),
        decision=body[-1].id,
        max_iterations=max_iterations,
        depends=list(depends),
        **fields,
    )


def workflow(*nodes: Node, retry: Retry | None = None, **fields: Any) -> Workflow:
    return Workflow(workflow_id="w", version=1, nodes=list(nodes), retry=retry or Retry(), **fields)


@dataclass
class Simulation:
    """One run: its log so far and the state it folds to."""

    definition: Workflow
    world: World = field(default_factory=dict)
    now: int = 0
    log: list[Event] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    """Idempotency keys of the effects done, in order."""
    conditions: dict[str, bool] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    rejects: set[tuple[str, str]] = field(default_factory=set)
    """Gates that are rejected: (node, scope)."""
    answers_gates: bool = True
    loops: dict[str, Script] = field(default_factory=dict)
    """What agents come to in their sampling loops, by node; the others are asked once, without one."""

    def __post_init__(self) -> None:
        self.state = initial_state(RUN, graph_of(self.definition))
        log, self.log = self.log, []
        for event in log:
            self._append(event)
        if not log:
            self.record(created())

    def record(self, payload: Payload) -> None:
        seq = len(self.log) + 1
        self._append(Event(seq, self.state.now(self.now), "scheduler", payload, seq))

    def _append(self, event: Event) -> None:
        self.log.append(event)
        apply(self.state, event)

    def actions(self) -> list[Action]:
        return decide(self.state, self.definition, self.state.now(self.now))

    def step(self, choose: Callable[[int], int] = lambda count: 0) -> bool:
        """Do one thing: all that is decided, or one fact, or one answer, or wait for a timer. False: nothing left."""
        actions = self.actions()
        records = [action for action in actions if isinstance(action, Record)]
        if records:
            for record in records:
                self.record(record.payload)
            return True
        outside = [action for action in actions if isinstance(action, Perform | Stop | Evaluate)]
        doable = len(outside) + len(self.state.waits) * self.answers_gates
        if doable:
            chosen = choose(doable)
            if chosen < len(outside):
                self.bring_about(outside[chosen])
            else:
                self.answer([*self.state.waits][chosen - len(outside)])
            return True
        timers = [action.due_at for action in actions if isinstance(action, WakeAt) and action.due_at > self.now]
        self.now = max(self.now, min(timers, default=self.now))
        return bool(timers)

    def run(self, choose: Callable[[int], int] = lambda count: 0) -> RunState:
        for _ in range(20_000):
            if not self.step(choose):
                return self.state
        raise AssertionError("the run does not end")

    def bring_about(self, action: Perform | Stop | Evaluate) -> None:
        match action:
            case Perform(activity_id, _):
                self.advance(self.state.open[activity_id])
            case Stop(activity_id, _):
                self.stop(self.state.open[activity_id])
            case Evaluate("condition", scope, node_id):
                self.record(ConditionEvaluated(node_id=node_id, scope=scope, value=self.conditions.get(node_id, True)))
            case Evaluate("items", scope, node_id):
                items = self.lists.get(node_id, ["x", "y", "z"])
                self.record(FanOutExpanded(node_id=node_id, scope=scope, items=items, count=len(items)))
            case Evaluate(_, scope, node_id):
                node = self.state.node(node_id, scope)
                assert node is not None
                self.open_gate(node_id, scope, None, node.waits + 1, "before" if node.todo else "after")

    def open_gate(self, node_id: str, scope: str, work: str | None, number: int, stage: Any) -> None:
        gate = gate_activity(RUN, NodeId(node_id), scope=scope)
        self.record(
            WaitCreated(
                wait_id=wait_id(gate, number),
                activity_id=gate,
                node_id=node_id,
                scope=scope,
                work_activity_id=work,
                stage=stage,
                prompt="?",
                subject=None,
                digest=stage,
            )
        )

    def answer(self, wait: str) -> None:
        """A person answers: what the world says of that gate, else yes."""
        created = self.state.waits[wait].created
        number = len(self.state.requests) + 1
        self.record(
            WaitResolved(
                wait_id=wait,
                approved=(created.node_id, created.scope) not in self.rejects,
                by="me",
                comment=f"about {created.scope or 'all'}",
                answered_at=self.now,
                request_id=f"q{number}",
            )
        )

    def advance(self, attempt: AttemptState) -> None:
        node = self.state.definition_of(attempt)
        who: dict[str, Any] = {
            "activity_id": attempt.activity_id,
            "attempt_id": attempt.attempt_id,
            "node_id": attempt.node_id,
        }
        error = self.world.get((attempt.node_id, attempt.number))
        if attempt.wait is not None and (attempt.wait.closed or attempt.wait.approved is False):
            self._after_gate_that_did_not_approve(attempt, who)
        elif isinstance(node, DecisionNode):
            self._decide(attempt, who)
        elif attempt.component is None:
            continued = node.continue_from if isinstance(node, SubagentNode) else None
            continues = None if continued is None else work_activity(RUN, NodeId(continued))
            self.record(ComponentStarted(**who, component_type="AgentStep", bound="p", continues=continues))
        elif attempt.failed is not None:
            self.record(ActivityFailed(**who, error=attempt.failed.error, effect_done=attempt.effect_done))
        elif attempt.succeeded is not None:
            self.record(ActivitySucceeded(**who))
        elif self._stands_before_its_gate(node, attempt):
            activity = self.state.activities[attempt.activity_id]
            self.open_gate(attempt.node_id, attempt.scope, attempt.activity_id, activity.waits + 1, "before")
        elif attempt.settled is None and (permit := self._permit(node, attempt, who)) is not None:
            self.record(permit)
        elif (error := _error_of_loop(attempt) or error) is not None:
            self.record(ComponentFailed(**who, error=error))
        else:
            self.record(ComponentSucceeded(**who, output=f"{attempt.scope}/{attempt.node_id}/{attempt.item}"))

    def _stands_before_its_gate(self, node: Node, attempt: AttemptState) -> bool:
        gate = gate_of(node)
        approved = self.state.activities[attempt.activity_id].approved
        return gate is not None and attempt.item is None and "before" not in approved and not attempt.is_permitted

    def _decide(self, attempt: AttemptState, who: dict[str, Any]) -> None:
        if attempt.wait is None:
            number = self.state.activities[attempt.activity_id].waits + 1
            self.open_gate(attempt.node_id, attempt.scope, attempt.activity_id, number, "decision")
        else:
            self.record(ActivitySucceeded(**who))

    def _after_gate_that_did_not_approve(self, attempt: AttemptState, who: dict[str, Any]) -> None:
        assert attempt.wait is not None
        if attempt.wait.closed:
            self.record(ActivityCancelled(**who, reason="gate_closed"))
        elif attempt.wait.created.stage == "decision" and not attempt.wait.overdue:
            self.record(ActivitySucceeded(**who))
        else:
            self.record(ActivityFailed(**who, error=refusal(attempt.wait)))

    def stop(self, attempt: AttemptState) -> None:
        who: dict[str, Any] = {
            "activity_id": attempt.activity_id,
            "attempt_id": attempt.attempt_id,
            "node_id": attempt.node_id,
        }
        outcome: Any = "in_doubt" if attempt.is_dangling else "none"
        if attempt.is_dangling:
            self.record(ReconcileResult(**who, idempotency_key=_key(attempt), outcome="in_doubt", reason="cancelled"))
        self.record(ActivityCancelled(**who, outcome=outcome))

    def _permit(self, node: Node, attempt: AttemptState, who: dict[str, Any]) -> Payload | None:
        """The events of the work itself: an effect is attempted, done and settled; an agent asked and answered."""
        key = _key(attempt)
        if attempt.node_id in self.loops:
            return next_event(self.loops[attempt.node_id], self.state, attempt, who)
        if isinstance(node, SubagentNode):
            draw = generation_id(attempt.attempt_id, 1)
            if attempt.loop is not None and attempt.loop.open:
                return GenerationFinished(**who, generation_id=draw, draw=1, text="t")
            if attempt.loop is None or not attempt.loop.answered:
                return GenerationStarted(**who, generation_id=draw, draw=1, agent="a", prompt="p")
        elif isinstance(node, HostExecutorNode) and node.read_only:
            if not attempt.is_permitted:
                return ActivityRunning(**who)
        elif attempt.effect is None:
            return EffectAttempted(**who, idempotency_key=key, input_hash="", idempotency_ttl_ms=None, provider="p")
        elif attempt.is_dangling:
            return self.settle(attempt, who, key)
        return None

    def settle(self, attempt: AttemptState, who: dict[str, Any], key: str) -> Payload:
        """Have the effect of an attempt done, and what there is to be recorded of it."""
        if key not in self.executed:
            self.executed.append(key)
        return EffectSettled(**who, idempotency_key=key, outcome="failed" if self.fails(attempt) else "done")

    def fails(self, attempt: AttemptState) -> bool:
        return (attempt.node_id, attempt.number) in self.world


def _error_of_loop(attempt: AttemptState) -> ErrorInfo | None:
    ended = None if attempt.loop is None else attempt.loop.ended
    if ended is None or ended.success:
        return None
    return ended.error or UNMET


def _key(attempt: AttemptState) -> str:
    return f"{attempt.activity_id}#{attempt.number}"
