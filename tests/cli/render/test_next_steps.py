"""What to type next, for every state a run may be in."""

from __future__ import annotations

import msgspec

from hooks.events.payloads import ErrorInfo
from hooks.kernel.state import RunState
from hooks.kernel.status import run_status
from hooks_cli.render.next_steps import next_steps
from tests.kernel.simulation import FATAL, Simulation, agent, decision, loop, workflow


def steps(state: RunState, *, is_driven: bool = False) -> list[str]:
    return next_steps(run_status(state, driver_is_alive=is_driven), state)


def test_nothing_after_a_run_that_went_well() -> None:
    assert steps(Simulation(workflow(agent("a"))).run()) == []


def test_a_run_that_has_not_gone_on_is_recovered() -> None:
    assert steps(Simulation(workflow(agent("a"))).state) == ["hooks recover r"]


def test_a_failed_step_is_looked_at_and_tried_again() -> None:
    exited = ErrorInfo(error_code="ExitStatus", error_class="fatal", error_message="exit code 1")
    state = Simulation(workflow(agent("a"), agent("b")), world={("b", 1): exited}).run()

    assert steps(state) == ["hooks show r --node b", "hooks logs r b --stderr", "hooks retry r"]


def test_the_item_that_failed_is_named_as_the_shell_takes_it() -> None:
    state = Simulation(workflow(agent("a", for_each=["x"])), world={("a", 1): FATAL}).run()

    assert steps(state)[0] == "hooks show r --node 'a[0]'"


def test_a_failure_in_a_round_is_looked_at_where_it_happened() -> None:
    state = Simulation(workflow(loop("l", agent("a"), decision("ok", "a"))), world={("a", 1): FATAL}).run()

    assert steps(state)[0] == "hooks show r --node l.1/a"


def test_an_open_gate_is_answered_also_while_a_driver_stays() -> None:
    rounds = loop("l", agent("a"), decision("ok", "a"))
    simulation = Simulation(workflow(rounds), answers_gates=False)
    state = simulation.run()

    assert steps(state) == ["hooks approve r l.1/ok", "hooks reject r l.1/ok"]
    assert steps(state, is_driven=True) == ["hooks tail r", "hooks approve r l.1/ok", "hooks reject r l.1/ok"]


def test_after_its_deadline_a_gate_is_not_offered_any_more() -> None:
    state = Simulation(workflow(loop("l", agent("a"), decision("ok", "a"))), answers_gates=False).run()
    (wait,) = state.waits.values()
    wait.created = msgspec.structs.replace(wait.created, deadline_at=state.timestamp)

    overdue = run_status(state, driver_is_alive=False, now=state.timestamp)

    assert next_steps(overdue, state) == ["hooks recover r"]


def test_a_gate_is_answered_in_the_name_of_an_approver_by_who_is_none() -> None:
    state = Simulation(workflow(loop("l", agent("a"), decision("ok", "a"))), answers_gates=False).run()
    (wait,) = state.waits.values()
    wait.created = msgspec.structs.replace(wait.created, approvers=["the boss"])

    assert steps(state) == [f"hooks {verb} r l.1/ok --by 'the boss'" for verb in ("approve", "reject")]


def test_logs_are_offered_only_where_a_process_wrote_some() -> None:
    exited = ErrorInfo(error_code="Timeout", error_class="timeout", error_message="too long")
    state = Simulation(workflow(agent("a")), world={("a", 1): exited}).run()
    status = run_status(state, driver_is_alive=False)

    assert next_steps(status, state, has_logs=lambda place, stream: False) == ["hooks show r --node a", "hooks retry r"]
