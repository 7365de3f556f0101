"""A conversation of thousands of turns is folded, compared, shown and let go without following it by recursion."""

from __future__ import annotations

from hooks.definition.graph import graph_of
from hooks.definition.model import Node
from hooks.kernel.apply import fold
from hooks.kernel.state import RunState, Turn
from hooks.kernel.walk import initial_state
from tests.kernel.simulation import RUN, Simulation, agent, workflow

TURNS = 2_000


def conversation_of(turns: int) -> Turn:
    said = Turn(None, "p", "a")
    for _ in range(turns - 1):
        said = Turn(said, "p", "a")
    return said


def test_a_step_after_thousands_goes_on_with_all_that_was_said() -> None:
    steps: list[Node] = [agent("n0")]
    steps += [agent(f"n{n}", f"n{n - 1}", continue_from=f"n{n - 1}") for n in range(1, TURNS)]
    definition = workflow(*steps)
    simulation = Simulation(definition)
    while simulation.step():
        pass

    again = fold(initial_state(RUN, graph_of(definition)), simulation.log)
    assert again == simulation.state
    assert _turns(again, f"n{TURNS - 1}") == TURNS


def _turns(state: RunState, node_id: str) -> int:
    node = state.root.nodes[next(name for name in state.root.nodes if name == node_id)]
    assert node.activity is not None
    turn, count = node.activity.conversation, 0
    while turn is not None:
        turn, count = turn.before, count + 1
    return count


def test_a_long_conversation_is_compared_shown_and_let_go() -> None:
    one, other, longer = conversation_of(100_000), conversation_of(100_000), conversation_of(100_001)

    assert one == other
    assert one != longer
    assert longer != one
    assert repr(one) == "Turn(prompt='p', answer='a')"
    del one, other, longer
