"""What must hold for every log: rule 5 of the log, and that decide never leaves a run without anything to do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.definition.graph import graph_of
from hooks.definition.model import Gate, LoopNode, Node, Retry, Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import ErrorInfo, Payload
from hooks.kernel.actions import Record
from hooks.kernel.apply import apply, fold
from hooks.kernel.decide import decide
from hooks.kernel.state import RunState, output_of
from hooks.kernel.walk import initial_state
from tests.kernel.simulation import (
    BLOCKED,
    FATAL,
    RETRYABLE,
    RUN,
    Simulation,
    agent,
    decision,
    effect,
    loop,
    workflow,
)


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, 6))):
        depends = draw(st.lists(st.sampled_from([node.id for node in nodes]), unique=True, max_size=3)) if nodes else []
        nodes.append(draw(any_node(f"n{number}", depends)))
    return workflow(
        *nodes,
        retry=Retry(max_attempts=draw(st.integers(1, 3)), base_ms=10, jitter=0.5),
        on_failure=draw(st.sampled_from(["stop", "continue"])),
    )


def any_node(node_id: str, depends: list[str]) -> st.SearchStrategy[Node]:
    common = st.fixed_dictionaries(
        {},
        optional={
            "condition": st.sampled_from(["true", "always()", False]),
            "for_each": st.just("${params.list}"),
            "human_gate": st.builds(Gate, stage=st.sampled_from(["before"])),
            "allow_failure": st.booleans(),
        },
    )
    body_id, decision_id = f"{node_id}_body", f"{node_id}_ok"
    return st.one_of(
        common.map(lambda fields: agent(node_id, *depends, **fields)),
        common.map(lambda fields: effect(node_id, *depends, **fields)),
        common.map(lambda fields: effect(node_id, *depends, read_only=True, **fields)),
        common.map(
            lambda fields: loop(
                node_id,
                effect(body_id, **{name: fields[name] for name in ("for_each", "human_gate") if name in fields}),
                decision(decision_id, body_id),
                depends=depends,
            )
        ),
    )


@st.composite
def worlds(draw: st.DrawFn) -> dict[tuple[str, int], ErrorInfo]:
    names = [f"n{number}{suffix}" for number in range(6) for suffix in ("", "_body")]
    keys = st.tuples(st.sampled_from(names), st.integers(1, 3))
    return draw(st.dictionaries(keys, st.sampled_from([RETRYABLE, FATAL, BLOCKED]), max_size=6))


REJECTS = {(f"n{number}_ok", f"n{number}.1") for number in range(6)} | {("n2", ""), ("n4_ok", "n4.2")}
"""Decisions are rejected in the first round, one in the second as well; one gate is rejected."""


def simulate(
    definition: Workflow, world: dict[tuple[str, int], ErrorInfo], log: list[Event] | None = None
) -> Simulation:
    return Simulation(
        definition,
        world,
        log=list(log or []),
        conditions={"n1": False, "n3": False},
        lists={"n2": [], "n4_body": ["only"]},
        rejects=REJECTS,
    )


def outcome(state: RunState) -> tuple[str | None, list[tuple[str, str, object]]]:
    """The status of a run and, if it succeeded, status and output of each node."""
    ended = state.ended
    assert ended is not None
    if ended.type != "runSucceeded":
        return ended.type, []
    return ended.type, sorted(
        (node_id, node.status, repr(output_of(node))) for node_id, node in state.root.nodes.items()
    )


@settings(max_examples=25, deadline=None)
@given(workflows(), worlds(), st.randoms(use_true_random=False))
def test_every_prefix_of_a_run_continues_to_the_same_end(definition, world, random) -> None:  # type: ignore[no-untyped-def]
    # Which of two failing branches fails first is a fact of the outside, so only one may fail here.
    world = {} if _can_reject(definition) else dict([*world.items()][:1])
    whole = simulate(definition, world)
    whole.run(random.randrange)

    for length in range(1, len(whole.log) + 1):
        cut = simulate(definition, world, whole.log[:length])
        cut.executed = [key for key in whole.executed if _was_attempted(key, cut.log)]
        cut.run(random.randrange)
        assert outcome(cut.state) == outcome(whole.state)
        assert len(set(cut.executed)) == len(cut.executed)


def _can_reject(definition: Workflow) -> bool:
    return any(node.id == "n2" or isinstance(node, LoopNode) for node in definition.nodes)


def _was_attempted(key: str, log: list) -> bool:  # type: ignore[type-arg]
    return any(getattr(event.payload, "idempotency_key", None) == key for event in log)


@settings(max_examples=60, deadline=None)
@given(workflows(), worlds(), st.randoms(use_true_random=False))
def test_an_unfinished_run_always_has_something_to_do(definition, world, random) -> None:  # type: ignore[no-untyped-def]
    simulation = simulate(definition, world)
    while simulation.step(random.randrange):
        pass

    assert simulation.state.ended is not None


@settings(max_examples=60, deadline=None)
@given(workflows(), worlds(), st.randoms(use_true_random=False))
def test_each_decision_is_one_that_decide_enables_in_the_state_before_it(definition, world, random) -> None:  # type: ignore[no-untyped-def]
    simulation = simulate(definition, world)
    simulation.run(random.randrange)

    state = initial_state(RUN, graph_of(definition))
    for event in simulation.log:
        if event.payload.kind == "decision":
            assert event.payload in enabled(state, definition, event.timestamp)
        apply(state, event)


def enabled(state: RunState, definition: Workflow, now: int) -> list[Payload]:
    return [action.payload for action in decide(state, definition, now) if isinstance(action, Record)]


@settings(max_examples=40, deadline=None)
@given(workflows(), worlds())
def test_deciding_changes_nothing_and_folding_again_gives_the_same_state(definition, world) -> None:  # type: ignore[no-untyped-def]
    simulation = simulate(definition, world)
    while simulation.state.ended is None:
        before = repr(simulation.state)
        simulation.actions()
        assert repr(simulation.state) == before
        simulation.step()

    again = fold(initial_state(RUN, graph_of(definition)), simulation.log)
    assert again == simulation.state
