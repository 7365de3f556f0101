"""Loops, gates, fan-outs, conditions and cancels, as decisions."""

from __future__ import annotations

from hooks.definition.model import Gate, Retry
from hooks.events.payloads import CancelRequested, NodeReference, RunReopened
from hooks.kernel.reopening import nodes_to_reopen
from hooks.kernel.state import Composite, output_of
from hooks.kernel.status import run_status
from tests.kernel.simulation import FATAL, RETRYABLE, Simulation, agent, decision, effect, loop, workflow


def review(**fields: object) -> Simulation:
    """A loop of a draft, an effect and a decision, followed by a node that uses it."""
    return Simulation(
        workflow(
            loop("review", agent("draft"), effect("publish", "draft"), decision("ok", "publish"), **fields),  # type: ignore[arg-type]
            agent("after", "review"),
        )
    )


def types(simulation: Simulation) -> list[str]:
    return [event.payload.type for event in simulation.log]


def cancel(simulation: Simulation, node: NodeReference | None = None) -> None:
    simulation.record(CancelRequested(request_id="c", by="me", node=node))


def run_until(simulation: Simulation, event_type: str) -> None:
    while event_type not in types(simulation):
        assert simulation.step(), f"no {event_type}"


def test_an_approved_decision_ends_the_loop() -> None:
    simulation = review()
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "succeeded"
    assert simulation.executed == ["r::loop::review.1::work::publish#1"]


def test_a_rejected_decision_starts_the_next_round_with_new_activities() -> None:
    """B11, B12, B14"""
    simulation = review()
    simulation.rejects = {("ok", "review.1"), ("ok", "review.2")}
    simulation.run()

    assert simulation.executed == [f"r::loop::review.{n}::work::publish#1" for n in (1, 2, 3)]
    gates = [event.payload.wait_id for event in simulation.log if event.payload.type == "waitCreated"]  # type: ignore[attr-defined]
    assert gates == [f"r::loop::review.{n}::gate::ok::1" for n in (1, 2, 3)]
    assert simulation.state.scopes["review.2"].nodes["ok"].comment == "about review.2"  # type: ignore[index]


def test_a_loop_whose_rounds_are_used_up_fails_the_run() -> None:
    simulation = review(max_iterations=2)
    simulation.rejects = {("ok", "review.1"), ("ok", "review.2")}
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).exit_code == 1
    assert state.root.failure is not None
    assert state.root.failure.error.error_code == "MaxIterationsReached"


def test_the_output_of_a_loop_is_that_of_its_last_round() -> None:
    simulation = review(output_from="draft")
    simulation.rejects = {("ok", "review.1")}
    state = simulation.run()

    assert output_of(state.root.nodes["review"]) == "review.2/draft/None"  # type: ignore[index]


def test_a_failed_body_fails_the_loop_and_the_run() -> None:
    simulation = review()
    simulation.world = {("draft", 1): FATAL}
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "failed"
    assert [t for t in types(simulation) if t.startswith(("node", "loop"))] == [
        "loopStarted",
        "loopIterationStarted",
        "nodeFailed",
        "loopIterationFinished",
        "loopFinished",
        "nodeFailed",
    ]


def test_a_skipped_decision_fails_the_loop() -> None:
    skipped = decision("ok", "draft")
    simulation = Simulation(
        workflow(loop("review", agent("draft", condition=False), skipped, max_iterations=2), agent("after", "review"))
    )
    state = simulation.run()

    assert state.root.failure is not None
    assert state.root.failure.error.error_code == "DecisionSkipped"


def test_an_open_gate_holds_no_room() -> None:
    gated = [agent(f"g{n}", human_gate=Gate()) for n in range(3)]
    simulation = Simulation(workflow(*gated, agent("free")), answers_gates=False)
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "waiting"
    assert len(state.waits) == 3
    assert state.root.nodes["free"].status == "succeeded"  # type: ignore[index]


def test_a_rejected_gate_blocks_the_run() -> None:
    simulation = Simulation(workflow(effect("a", human_gate=Gate(), allow_failure=True)), rejects={("a", "")})
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "blocked"
    assert simulation.executed == []


def test_a_failure_closes_the_gates_that_are_open() -> None:
    simulation = Simulation(
        workflow(agent("bad", "first"), agent("first"), agent("gated", human_gate=Gate())),
        {("bad", 1): FATAL},
        answers_gates=False,
    )
    state = simulation.run()

    assert state.ended is not None
    assert types(simulation)[-4:] == ["waitClosed", "activityCancelled", "nodeCancelled", "runFailed"]


def test_a_fan_out_gives_its_outputs_in_list_order() -> None:
    simulation = Simulation(workflow(agent("each", for_each="${params.x}")))
    state = simulation.run(lambda count: count - 1)

    assert output_of(state.root.nodes["each"]) == Composite(("/each/0", "/each/1", "/each/2"))  # type: ignore[index]


def test_an_empty_list_succeeds_with_no_outputs() -> None:
    simulation = Simulation(workflow(agent("each", for_each=[]), agent("after", "each")), lists={"each": []})
    state = simulation.run()

    assert output_of(state.root.nodes["each"]) == Composite(())  # type: ignore[index]
    assert state.root.nodes["after"].status == "succeeded"  # type: ignore[index]


def test_a_failed_item_fails_the_node_after_those_that_run_and_starts_no_more() -> None:
    simulation = Simulation(
        workflow(effect("each", for_each=["0"]), retry=Retry()), {("each", 1): FATAL}, lists={"each": ["x"] * 10}
    )
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "failed"
    assert len(simulation.executed) == 2  # as many as may run at once


def test_a_retryable_item_is_tried_again_by_itself() -> None:
    simulation = Simulation(
        workflow(agent("each", for_each=["0"]), retry=Retry(max_attempts=2, base_ms=5)), {("each", 1): RETRYABLE}
    )
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "succeeded"
    assert types(simulation).count("retryScheduled") == 3


def test_one_gate_stands_before_a_whole_fan_out() -> None:
    simulation = Simulation(workflow(effect("each", for_each=["0"], human_gate=Gate())))
    simulation.run()

    assert types(simulation).count("waitCreated") == 1
    assert types(simulation).index("waitResolved") < types(simulation).index("attemptCreated")


def test_a_dependant_of_a_skipped_node_is_skipped_unless_it_asks_for_the_status() -> None:
    simulation = Simulation(
        workflow(
            agent("a", condition="false"),
            agent("b", "a"),
            agent("c", "a", condition="a.status == 'skipped'"),
            agent("d", "a", condition="always()"),
        ),
        conditions={"a": False},
    )
    state = simulation.run()

    assert {node_id: node.status for node_id, node in state.root.nodes.items()} == {
        "a": "skipped",
        "b": "skipped",
        "c": "succeeded",
        "d": "succeeded",
    }
    assert state.ended is not None
    assert state.ended.sinks == ["c", "d"]  # type: ignore[union-attr]


def test_with_on_failure_continue_independent_branches_go_on() -> None:
    simulation = Simulation(
        workflow(agent("bad"), agent("after", "bad"), agent("good"), agent("more", "good"), on_failure="continue"),
        {("bad", 1): FATAL},
    )
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "failed"
    assert {node_id: node.status for node_id, node in state.root.nodes.items()} == {
        "bad": "failed",
        "after": "skipped",
        "good": "succeeded",
        "more": "succeeded",
    }


def test_a_failure_that_is_allowed_lets_its_dependants_go_on() -> None:
    simulation = Simulation(workflow(agent("bad", allow_failure=True), agent("after", "bad")), {("bad", 1): FATAL})

    assert run_status(simulation.run(), driver_is_alive=False).status == "succeeded"


def test_a_cancelled_run_stops_what_runs_and_tells_every_node() -> None:
    simulation = Simulation(
        workflow(agent("gated", human_gate=Gate()), agent("a"), agent("b", "a")), answers_gates=False
    )
    run_until(simulation, "waitCreated")
    cancel(simulation)
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "cancelled"
    assert {node_id: node.status for node_id, node in state.root.nodes.items()} == dict.fromkeys("ab", "cancelled") | {
        "gated": "cancelled"
    }


def test_a_cancel_ends_a_backoff_and_a_loop() -> None:
    simulation = Simulation(
        workflow(
            agent("flaky"),
            loop("review", agent("draft"), decision("ok", "draft")),
            retry=Retry(max_attempts=3, base_ms=10**9),
        ),
        {("flaky", 1): RETRYABLE},
        answers_gates=False,
    )
    simulation.run()
    cancel(simulation)

    assert run_status(simulation.run(), driver_is_alive=False).status == "cancelled"


def test_a_cancelled_effect_that_nobody_can_settle_stays_in_doubt() -> None:
    simulation = Simulation(workflow(effect("a")))
    run_until(simulation, "effectAttempted")
    cancel(simulation)
    status = run_status(simulation.run(), driver_is_alive=False)

    assert (status.status, status.exit_code) == ("cancelled", 10)


def test_a_cancelled_node_counts_as_failed_for_its_dependants() -> None:
    simulation = Simulation(workflow(agent("a"), agent("b", "a"), agent("c"), on_failure="continue"))
    run_until(simulation, "generationStarted")
    cancel(simulation, NodeReference(node_id="a"))
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "failed"
    assert {node_id: node.status for node_id, node in state.root.nodes.items()} == {
        "a": "cancelled",
        "b": "skipped",
        "c": "succeeded",
    }


def test_a_reopened_run_does_only_what_did_not_succeed() -> None:
    """B05"""
    simulation = Simulation(
        workflow(*(effect(f"n{n}") for n in range(4)), effect("after", "n0", "n1"), on_failure="continue"),
        {("n1", 1): FATAL},
    )
    simulation.run()
    simulation.record(RunReopened(nodes=nodes_to_reopen(simulation.state), by="me"))
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "succeeded"
    assert sorted(simulation.executed) == [
        "r::work::after#1",
        "r::work::n0#1",
        "r::work::n1#1",
        "r::work::n1#2",
        "r::work::n2#1",
        "r::work::n3#1",
    ]


def test_an_effect_that_was_done_is_not_done_again_when_its_node_is_reopened() -> None:
    simulation = Simulation(workflow(effect("a")))
    run_until(simulation, "effectSettled")
    simulation.world = {("a", 1): FATAL}
    simulation.run()
    assert simulation.state.ended is not None
    assert simulation.state.ended.type == "runFailed"
    simulation.record(RunReopened(nodes=nodes_to_reopen(simulation.state), by="me"))
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "succeeded"
    assert simulation.executed == ["r::work::a#1"]


def test_reopening_a_failed_round_goes_on_in_that_round() -> None:
    simulation = review()
    simulation.world = {("publish", 1): FATAL}
    simulation.run()
    simulation.record(RunReopened(nodes=nodes_to_reopen(simulation.state), by="me"))
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "succeeded"
    assert state.root.nodes["review"].rounds == 1  # type: ignore[index]


def test_reopening_a_loop_whose_rounds_were_used_up_gives_it_more() -> None:
    simulation = review(max_iterations=1)
    simulation.rejects = {("ok", "review.1")}
    simulation.run()
    simulation.record(RunReopened(nodes=nodes_to_reopen(simulation.state), by="me"))
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "succeeded"
    assert state.root.nodes["review"].rounds == 2  # type: ignore[index]


def test_reopening_a_fan_out_does_only_the_items_that_failed() -> None:
    simulation = Simulation(workflow(effect("each", for_each=["0"])), lists={"each": ["x", "y"]})
    run_until(simulation, "activitySucceeded")
    simulation.world = {("each", 1): FATAL}
    simulation.run()
    simulation.world = {}
    simulation.record(RunReopened(nodes=nodes_to_reopen(simulation.state), by="me"))
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "succeeded"
    assert len(set(simulation.executed)) == len(simulation.executed)


def test_trying_one_of_two_failures_again_leaves_the_other_to_decide_the_end() -> None:
    simulation = Simulation(workflow(agent("a"), agent("b"), agent("c", "a")), {("a", 1): FATAL, ("b", 1): FATAL})
    simulation.run(lambda count: count - 1)
    assert simulation.state.root.nodes["b"].status == "failed"  # type: ignore[index]
    simulation.record(RunReopened(nodes=nodes_to_reopen(simulation.state, [("", "a")]), by="me"))
    state = simulation.run()

    assert run_status(state, driver_is_alive=False).status == "failed"
    assert state.root.nodes["a"].status == "succeeded"  # type: ignore[index]
    assert state.root.nodes["c"].status == "succeeded"  # type: ignore[index]
