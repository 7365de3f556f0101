"""What must hold for every log with sampling loops in it: draws that fail, calls made again after a delay, judges."""

from __future__ import annotations

from collections import Counter
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.definition.graph import graph_of
from hooks.definition.model import Node, Retry, SubagentNode, Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import GenerationStarted, SamplingLoopEnded
from hooks.kernel.actions import Record, WakeAt
from hooks.kernel.apply import fold
from hooks.kernel.walk import initial_state
from tests.kernel.killed_simulation import MortalSimulation, run_with_kills
from tests.kernel.simulated_loop import Script
from tests.kernel.simulation import RUN, Simulation, agent, effect, workflow
from tests.kernel.test_every_prefix import enabled, outcome

PURPOSES = [f"{kind}-{draw}{rest}" for draw in (1, 2, 3) for kind, rest in (("draw", ""), ("judge", "-fine"))]


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    return Script(
        passes=tuple(draw(st.lists(st.booleans(), min_size=1, max_size=4))),
        parallel=draw(st.integers(1, 3)),
        has_judge=draw(st.booleans()),
        errors=draw(st.dictionaries(st.sampled_from(PURPOSES), st.integers(1, 3), max_size=3)),
    )


@st.composite
def looping(draw: st.DrawFn) -> tuple[Workflow, dict[str, Script]]:
    """A workflow of agent steps with loops, and effects beside them."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, 4))):
        depends = draw(st.lists(st.sampled_from([node.id for node in nodes]), unique=True, max_size=2)) if nodes else []
        fields = {"for_each": "${params.list}"} if draw(st.integers(0, 3)) == 0 else {}
        kind = effect if draw(st.integers(0, 3)) == 0 else agent
        nodes.append(kind(f"n{number}", *depends, **fields))
    on_failure = draw(st.sampled_from(["stop", "continue"]))
    definition = workflow(*nodes, retry=Retry(max_attempts=draw(st.integers(1, 2)), base_ms=10), on_failure=on_failure)
    return definition, {node.id: draw(scripts()) for node in nodes if isinstance(node, SubagentNode)}


def simulate(case: tuple[Workflow, dict[str, Script]], log: list[Event] | None = None) -> Simulation:
    definition, loops = case
    return Simulation(definition, log=list(log or []), loops=loops)


def may_fail(case: tuple[Workflow, dict[str, Script]]) -> int:
    """How many steps may fail: where there are two, which of them fails first is a fact of the outside."""
    definition, loops = case
    failing = {name for name, script in loops.items() if script.gives_up or not any(script.passes)}
    items = {node.id for node in definition.nodes if getattr(node, "for_each", None)}
    return len(failing) + len(failing & items)


@settings(max_examples=30, deadline=None)
@given(looping(), st.randoms(use_true_random=False))
def test_every_prefix_of_a_run_with_loops_continues_to_the_same_end(case, random) -> None:  # type: ignore[no-untyped-def]
    whole = simulate(case)
    whole.run(random.randrange)

    for length in range(1, len(whole.log) + 1):
        cut = simulate(case, whole.log[:length])
        cut.run(random.randrange)
        assert cut.state.ended is not None
        assert fold(initial_state(RUN, graph_of(case[0])), cut.log) == cut.state
        if may_fail(case) <= 1:
            assert outcome(cut.state) == outcome(whole.state)
            made, expected = draws_of(cut), draws_of(whole)
            # A step that fails stops the run; which others had begun by then is a fact of the outside as well.
            assert may_fail(case) or made.keys() == expected.keys()
            assert all(made[attempt] == expected[attempt] for attempt in made.keys() & expected.keys())


def draws_of(simulation: Simulation) -> dict[str, list[tuple[int, int]]]:
    """Of each loop that came to an end of its own: the calls that were made, as (draw, call)."""
    ended = {
        event.payload.attempt_id
        for event in simulation.log
        if isinstance(event.payload, SamplingLoopEnded) and event.payload.error is None
    }
    calls: dict[str, list[tuple[int, int]]] = {attempt: [] for attempt in ended}
    for event in simulation.log:
        if isinstance(event.payload, GenerationStarted) and event.payload.attempt_id in ended:
            calls[event.payload.attempt_id].append((event.payload.draw, event.payload.call))
    return calls


@settings(max_examples=60, deadline=None)
@given(looping(), st.randoms(use_true_random=False))
def test_a_loop_that_waits_to_ask_again_is_woken_and_nothing_stalls(case, random) -> None:  # type: ignore[no-untyped-def]
    simulation = simulate(case)
    while True:
        actions = simulation.actions()
        if not any(isinstance(action, Record) for action in actions) and not simulation.state.halted:
            due = {action.subject: action.due_at for action in actions if isinstance(action, WakeAt)}
            now = simulation.state.now(simulation.now)
            pauses = {activity: at for activity, at in simulation.state.pauses.items() if at > now}
            assert {activity: due.get(activity) for activity in pauses} == pauses
        if not simulation.step(random.randrange):
            break

    assert simulation.state.ended is not None
    assert simulation.state.pauses == {}


@settings(max_examples=60, deadline=None)
@given(looping(), st.randoms(use_true_random=False))
def test_each_decision_beside_a_loop_is_enabled_in_the_state_before_it(case, random) -> None:  # type: ignore[no-untyped-def]
    simulation = simulate(case)
    simulation.run(random.randrange)

    before = simulate(case, simulation.log[:1])
    for event in simulation.log[1:]:
        if event.payload.kind == "decision":
            assert event.payload in enabled(before.state, case[0], event.timestamp)
        before._append(event)


@settings(max_examples=60, deadline=None)
@given(looping(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_no_schedule_of_kills_leaves_a_loop_without_its_end(case, random, kills) -> None:  # type: ignore[no-untyped-def]
    definition, loops = case
    run = run_with_kills(partial(MortalSimulation, definition, loops=loops), random.randrange, kills)

    assert run.state.ended is not None
    ended = Counter(event.payload.attempt_id for event in run.log if isinstance(event.payload, SamplingLoopEnded))
    assert set(ended.values()) <= {1}
    if may_fail(case) <= 1:
        whole = simulate(case)
        whole.run()
        assert outcome(run.state) == outcome(whole.state)
