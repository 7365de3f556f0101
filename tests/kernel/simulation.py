"""A run without a runtime: decide and apply, and a world whose answers are fixed beforehand.

`advance` writes the next event that the real runtime would write for an attempt, looking only at the state, so that a
simulated run can be cut after any event and continued.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hooks.definition.graph import build_graph
from hooks.definition.model import HostExecutorNode, Node, Retry, SubagentNode, Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import (
    ActivityFailed,
    ActivityRunning,
    ActivitySucceeded,
    ComponentFailed,
    ComponentStarted,
    ComponentSucceeded,
    EffectAttempted,
    EffectSettled,
    ErrorInfo,
    GenerationFinished,
    GenerationStarted,
    Payload,
    RunCreated,
    Session,
)
from hooks.ids import RunId, generation_id
from hooks.kernel.apply import apply
from hooks.kernel.decide import Action, Perform, Record, WakeAt, decide
from hooks.kernel.state import AttemptState, RunState, initial_state

RUN = RunId("r")
RETRYABLE = ErrorInfo(error_code="Flaky", error_class="retryable", error_message="no")
FATAL = ErrorInfo(error_code="Broken", error_class="fatal", error_message="no")
BLOCKED = ErrorInfo(error_code="PluginViolationError", error_class="policy", error_message="no")

World = Mapping[tuple[str, int], ErrorInfo]
"""What fails: (node, attempt) -> error; everything else succeeds."""


def created(max_concurrency: int = 2) -> RunCreated:
    return RunCreated(
        workflow_id="w",
        revision_id="v",
        params={},
        params_digest="",
        hook_set_digest="",
        working_directory="/",
        workflow_directory="/",
        max_concurrency=max_concurrency,
        initiator="me",
        session=Session(pid=1, start_time=1, boot_id="b", host="h", inode=1),
    )


def agent(node_id: str, *depends: str) -> SubagentNode:
    return SubagentNode(id=node_id, agent="a", prompt="p", depends=list(depends))


def effect(node_id: str, *depends: str, read_only: bool = False) -> HostExecutorNode:
    return HostExecutorNode(id=node_id, executor="shell", input={}, depends=list(depends), read_only=read_only)


def workflow(*nodes: Node, retry: Retry | None = None) -> Workflow:
    return Workflow(workflow_id="w", version=1, nodes=list(nodes), retry=retry or Retry())


@dataclass
class Simulation:
    """One run: its log so far and the state it folds to."""

    definition: Workflow
    world: World = field(default_factory=dict)
    now: int = 0
    log: list[Event] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    """Idempotency keys of the effects done, in order."""

    def __post_init__(self) -> None:
        self.state = initial_state(RUN, build_graph(self.definition.nodes))
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
        """Do one thing: all that is decided, or one event of one attempt, or wait for a timer. False: nothing left."""
        actions = self.actions()
        records = [action for action in actions if isinstance(action, Record)]
        if records:
            for record in records:
                self.record(record.payload)
            return True
        performs = [action for action in actions if isinstance(action, Perform)]
        if performs:
            self.advance(self.state.open[performs[choose(len(performs))].activity_id])
            return True
        timers = [action.due_at for action in actions if isinstance(action, WakeAt)]
        self.now = max(self.now, min(timers, default=self.now))
        return bool(timers)

    def run(self, choose: Callable[[int], int] = lambda count: 0) -> RunState:
        for _ in range(10_000):
            if not self.step(choose):
                return self.state
        raise AssertionError("the run does not end")

    def advance(self, attempt: AttemptState) -> None:
        graph = self.state.graph
        node = graph.nodes[graph.position[attempt.node_id]]
        who: dict[str, Any] = {
            "activity_id": attempt.activity_id,
            "attempt_id": attempt.attempt_id,
            "node_id": attempt.node_id,
        }
        error = self.world.get((attempt.node_id, attempt.number))
        if attempt.component is None:
            self.record(ComponentStarted(**who, component_type="AgentStep", bound="p"))
        elif attempt.failed is not None:
            self.record(ActivityFailed(**who, error=attempt.failed.error, effect_done=attempt.effect_done))
        elif attempt.succeeded is not None:
            self.record(ActivitySucceeded(**who))
        elif (permit := self._permit(node, attempt, who)) is not None:
            self.record(permit)
        elif error is not None:
            self.record(ComponentFailed(**who, error=error))
        else:
            self.record(ComponentSucceeded(**who, output=attempt.node_id))

    def _permit(self, node: Node, attempt: AttemptState, who: dict[str, Any]) -> Payload | None:
        """The events of the work itself: an effect is attempted, done and settled; an agent asked and answered."""
        key = f"{attempt.node_id}#{attempt.number}"
        if isinstance(node, SubagentNode):
            draw = generation_id(attempt.attempt_id, 1)
            if attempt.generation is not None:
                return GenerationFinished(**who, generation_id=draw, draw=1, text="t")
            if not attempt.draws:
                return GenerationStarted(**who, generation_id=draw, draw=1, agent="a", prompt="p")
        elif node.read_only:
            if not attempt.is_permitted:
                return ActivityRunning(**who)
        elif attempt.effect is None:
            return EffectAttempted(**who, idempotency_key=key, input_hash="", idempotency_ttl_ms=None, provider="p")
        elif attempt.is_dangling:
            if key not in self.executed:
                self.executed.append(key)
            failed = (attempt.node_id, attempt.number) in self.world
            return EffectSettled(**who, idempotency_key=key, outcome="failed" if failed else "done")
        return None
