"""What must hold for every log: rule 5 of the log, and that decide never leaves a run without anything to do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.definition.graph import build_graph
from hooks.definition.model import Node, Retry, Workflow
from hooks.events.payloads import ErrorInfo, Payload
from hooks.kernel.apply import apply, fold
from hooks.kernel.decide import Record, decide
from hooks.kernel.state import RunState, initial_state
from tests.kernel.simulation import BLOCKED, FATAL, RETRYABLE, RUN, Simulation, agent, effect, workflow


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, 6))):
        depends = draw(st.lists(st.sampled_from([node.id for node in nodes]), unique=True, max_size=3)) if nodes else []
        kind = draw(st.sampled_from(["agent", "effect", "read_only"]))
        node_id = f"n{number}"
        nodes.append(
            agent(node_id, *depends) if kind == "agent" else effect(node_id, *depends, read_only=kind == "read_only")
        )
    return workflow(*nodes, retry=Retry(max_attempts=draw(st.integers(1, 3)), base_ms=10, jitter=0.5))


@st.composite
def worlds(draw: st.DrawFn) -> dict[tuple[str, int], ErrorInfo]:
    keys = st.tuples(st.sampled_from([f"n{number}" for number in range(6)]), st.integers(1, 3))
    return draw(st.dictionaries(keys, st.sampled_from([RETRYABLE, FATAL, BLOCKED]), max_size=6))


def outcome(state: RunState) -> tuple[str | None, list[tuple[str, object]]]:
    """The status of a run and, if it succeeded, the output of each node."""
    ended = state.ended
    assert ended is not None
    if ended.type != "runSucceeded":
        return ended.type, []
    return ended.type, sorted((activity.node_id, activity.output) for activity in state.activities.values())


@settings(max_examples=60, deadline=None)
@given(workflows(), worlds(), st.randoms(use_true_random=False))
def test_every_prefix_of_a_run_continues_to_the_same_end(definition, world, random) -> None:  # type: ignore[no-untyped-def]
    # Which of two failing branches fails first is a fact of the outside, so only one may fail here.
    world = dict([*world.items()][:1])
    whole = Simulation(definition, world)
    whole.run(random.randrange)

    for length in range(1, len(whole.log) + 1):
        cut = Simulation(definition, world, log=whole.log[:length])
        cut.executed = [key for key in whole.executed if _was_attempted(key, cut.log)]
        cut.run(random.randrange)
        assert outcome(cut.state) == outcome(whole.state)
        assert len(set(cut.executed)) == len(cut.executed)


def _was_attempted(key: str, log: list) -> bool:  # type: ignore[type-arg]
    return any(getattr(event.payload, "idempotency_key", None) == key for event in log)


@settings(max_examples=60, deadline=None)
@given(workflows(), worlds(), st.randoms(use_true_random=False))
def test_an_unfinished_run_always_has_something_to_do(definition, world, random) -> None:  # type: ignore[no-untyped-def]
    simulation = Simulation(definition, world)
    while simulation.state.ended is None:
        assert simulation.actions()
        simulation.step(random.randrange)


@settings(max_examples=60, deadline=None)
@given(workflows(), worlds(), st.randoms(use_true_random=False))
def test_each_decision_is_one_that_decide_enables_in_the_state_before_it(definition, world, random) -> None:  # type: ignore[no-untyped-def]
    simulation = Simulation(definition, world)
    simulation.run(random.randrange)

    state = initial_state(RUN, build_graph(definition.nodes))
    for event in simulation.log:
        if event.payload.kind == "decision":
            assert event.payload in enabled(state, definition, event.timestamp)
        apply(state, event)


def enabled(state: RunState, definition: Workflow, now: int) -> list[Payload]:
    return [action.payload for action in decide(state, definition, now) if isinstance(action, Record)]


@settings(max_examples=40, deadline=None)
@given(workflows(), worlds())
def test_deciding_changes_nothing_and_folding_again_gives_the_same_state(definition, world) -> None:  # type: ignore[no-untyped-def]
    simulation = Simulation(definition, world)
    while simulation.state.ended is None:
        before = repr(simulation.state)
        simulation.actions()
        assert repr(simulation.state) == before
        simulation.step()

    again = fold(initial_state(RUN, build_graph(definition.nodes)), simulation.log)
    assert again == simulation.state
