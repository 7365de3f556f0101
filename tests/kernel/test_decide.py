"""What comes next, state by state."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.definition.model import HostExecutorNode, Retry
from hooks.events.payloads import EVENT_TYPES, ActivityFailed, AttemptCreated, ErrorInfo
from hooks.ids import ActivityId, NodeId, work_activity
from hooks.kernel.actions import Perform, Record, WakeAt
from hooks.kernel.apply import APPLY
from hooks.kernel.legality import IllegalEventError
from hooks.kernel.retry_rules import delay_ms
from hooks.kernel.status import run_status
from tests.kernel.simulation import BLOCKED, FATAL, RETRYABLE, RUN, Simulation, agent, effect, workflow


def started(simulation: Simulation) -> list[str]:
    """The nodes an attempt is decided for now."""
    return [
        action.payload.node_id
        for action in simulation.actions()
        if isinstance(action, Record) and isinstance(action.payload, AttemptCreated)
    ]


def finish(simulation: Simulation, node_id: str) -> None:
    """Carry the open attempt of a node to its end and decide what follows from that."""
    activity_id = work_activity(RUN, NodeId(node_id))
    while activity_id in simulation.state.open:
        simulation.advance(simulation.state.open[activity_id])
    decide_all(simulation)


def statuses(simulation: Simulation) -> dict[str, str]:
    return {node_id: node.status for node_id, node in simulation.state.root.nodes.items() if node.ended_at is not None}


def decide_all(simulation: Simulation, *, starts: bool = False) -> None:
    while True:
        records = [
            action for action in simulation.actions() if isinstance(action, Record) and starts >= action.starts_work
        ]
        if not records:
            return
        for record in records:
            simulation.record(record.payload)


def test_nodes_start_in_definition_order_as_far_as_there_is_room() -> None:
    simulation = Simulation(workflow(agent("c"), agent("a"), agent("b")))
    decide_all(simulation)

    assert started(simulation) == ["c", "a"]


def test_what_becomes_ready_starts_without_waiting_for_the_others() -> None:
    simulation = Simulation(workflow(agent("a"), agent("slow"), agent("b", "a"), agent("c", "slow")))
    decide_all(simulation, starts=True)
    finish(simulation, "a")

    assert started(simulation) == ["b"]


def test_a_node_waits_for_all_it_depends_on() -> None:
    simulation = Simulation(workflow(agent("a"), agent("b"), agent("c", "a", "b", "a")))
    decide_all(simulation, starts=True)
    finish(simulation, "a")
    assert started(simulation) == []
    finish(simulation, "b")

    assert started(simulation) == ["c"]


def test_after_a_failure_nothing_starts_and_the_running_ones_finish_first() -> None:
    simulation = Simulation(workflow(agent("a"), agent("b"), agent("c")), {("a", 1): FATAL})
    decide_all(simulation, starts=True)
    finish(simulation, "a")
    assert [type(action) for action in simulation.actions()] == [Perform]
    finish(simulation, "b")

    assert simulation.state.ended is not None
    assert simulation.state.ended.type == "runFailed"
    assert statuses(simulation) == {"a": "failed", "b": "succeeded"}


def test_a_policy_blocks_the_run() -> None:
    simulation = Simulation(workflow(agent("a")), {("a", 1): BLOCKED})

    assert run_status(simulation.run(), driver_is_alive=False).status == "blocked"


def test_a_failed_attempt_waits_out_its_delay() -> None:
    simulation = Simulation(
        workflow(agent("a"), retry=Retry(max_attempts=2, base_ms=500)), {("a", 1): RETRYABLE}, now=1_000
    )
    decide_all(simulation, starts=True)
    finish(simulation, "a")

    assert simulation.actions() == [WakeAt(ActivityId("r::work::a"), 1_500)]
    simulation.now = 1_500
    assert started(simulation) == ["a"]


def test_an_effect_that_was_done_is_never_tried_again() -> None:
    simulation = Simulation(workflow(effect("a"), retry=Retry(max_attempts=3, base_ms=0)))
    decide_all(simulation, starts=True)
    attempt = next(iter(simulation.state.open.values()))
    while not attempt.effect_done:
        simulation.advance(attempt)
    simulation.world = {("a", 1): RETRYABLE}
    finish(simulation, "a")

    assert statuses(simulation) == {"a": "failed"}
    assert simulation.state.root.nodes["a"].effect_done  # type: ignore[index]


@pytest.mark.parametrize(
    ("executor", "given", "follows"),
    [
        ("shell", {}, False),
        ("shell", {"lookup": ["true"]}, True),
        ("shell", {"idempotent": True}, True),
        ("python", {}, True),
    ],
)
def test_a_log_that_does_not_say_whether_a_retry_is_safe_reads_as_it_did_then(
    executor: str, given: dict[str, Any], follows: bool
) -> None:
    step = HostExecutorNode(id="a", executor=executor, input=given)
    simulation = Simulation(workflow(step, retry=Retry(max_attempts=2, base_ms=0)), {("a", 1): RETRYABLE})
    decide_all(simulation, starts=True)
    finish(simulation, "a")

    assert started(simulation) == (["a"] if follows else [])
    assert statuses(simulation) == ({} if follows else {"a": "failed"})


def test_an_empty_workflow_succeeds() -> None:
    assert run_status(Simulation(workflow()).run(), driver_is_alive=False).status == "succeeded"


def test_every_event_type_is_folded() -> None:
    assert set(APPLY) == set(EVENT_TYPES.values())


def test_every_event_type_says_whether_it_is_a_decision() -> None:
    assert {payload.kind for payload in EVENT_TYPES.values()} == {"input", "decision"}


def test_an_event_that_cannot_stand_where_it_does_is_refused() -> None:
    simulation = Simulation(workflow(agent("a"), agent("b", "a")))
    decide_all(simulation)
    too_early = AttemptCreated(activity_id="r::work::b", attempt_id="r::work::b::att-1", node_id="b", attempt=1)

    with pytest.raises(IllegalEventError, match="cannot start yet"):
        simulation.record(too_early)


def test_backoff_is_clamped_before_it_is_computed() -> None:
    """B45"""
    retry = Retry(max_attempts=5_000, base_ms=300_000, factor=2.0, max_delay_ms=3_600_000)

    assert [delay_ms(retry, ActivityId("a"), n) for n in (1, 2, 4, 5, 1_100)] == [
        300_000,
        600_000,
        2_400_000,
        3_600_000,
        3_600_000,
    ]


def test_jitter_is_the_same_every_time_it_is_asked_for() -> None:
    retry = Retry(max_attempts=3, base_ms=1_000, jitter=0.5)
    delays = {delay_ms(retry, ActivityId("a"), 1) for _ in range(10)}

    assert len(delays) == 1
    assert 500 <= delays.pop() <= 1_500


def test_the_first_failure_decides_how_the_run_ends() -> None:
    simulation = Simulation(workflow(agent("a"), agent("b")), {("a", 1): BLOCKED, ("b", 1): FATAL})
    decide_all(simulation, starts=True)
    finish(simulation, "b")
    finish(simulation, "a")

    assert simulation.state.ended is not None
    assert simulation.state.ended.type == "runFailed"


def test_a_chain_of_ten_thousand_nodes_needs_no_recursion() -> None:
    nodes = [agent(f"n{number}", *([f"n{number - 1}"] if number else [])) for number in range(10_000)]
    simulation = Simulation(workflow(*nodes))
    while simulation.step():
        pass

    assert simulation.state.root.finished == 10_000


def test_five_deaths_of_the_driver_in_a_row_fail_the_activity() -> None:
    error = ErrorInfo(error_code="DriverDied", error_class="retryable", error_message="died")
    simulation = Simulation(workflow(effect("a", read_only=True)))
    for _ in range(5):
        decide_all(simulation, starts=True)
        attempt = next(iter(simulation.state.open.values()))
        simulation.record(
            ActivityFailed(
                activity_id=attempt.activity_id,
                attempt_id=attempt.attempt_id,
                node_id="a",
                error=error,
                interrupted=True,
            )
        )
    decide_all(simulation)

    failure = simulation.state.root.failure
    assert failure is not None
    assert failure.error.error_code == "DriverCrashLoop"
