"""No schedule of kills does an effect twice that nobody asked for twice, loses one, or leaves a run without an end."""

from __future__ import annotations

from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.events.payloads import ReconcileResult
from tests.kernel.killed_simulation import MortalSimulation, run_with_kills, succeeded_effects
from tests.kernel.simulation import effect, workflow
from tests.kernel.test_every_prefix import REJECTS, workflows, worlds


@settings(max_examples=150, deadline=None)
@given(workflows(), worlds(), st.randoms(use_true_random=False), st.integers(1, 6))
def test_no_schedule_of_kills_repeats_or_loses_an_effect(definition, world, random, kills) -> None:  # type: ignore[no-untyped-def]
    begin = partial(
        MortalSimulation,
        definition,
        world,
        conditions={"n1": False, "n3": False},
        lists={"n2": [], "n4_body": ["only"]},
        rejects=REJECTS,
    )
    run = run_with_kills(begin, random.randrange, kills)

    assert run.state.ended is not None
    assert run.outside.repeated() == {}
    assert succeeded_effects(run.state) <= set(run.outside.done)
    assert not run.state.in_doubt


def test_a_driver_that_dies_between_effect_and_record_leaves_it_to_the_next_to_find_out() -> None:
    """The one schedule that everything is about, spelt out: done, killed, found, and not done again."""
    begin = partial(MortalSimulation, workflow(effect("mail")))
    dies_after_the_effect = iter([1] * 7 + [0])
    run = run_with_kills(begin, lambda count: min(next(dies_after_the_effect, 0), count - 1), kills=1)

    results = [event.payload.outcome for event in run.log if isinstance(event.payload, ReconcileResult)]
    assert [*run.outside.done.values()] == [1]
    assert results == ["done"]
    assert run.state.ended is not None
    assert run.state.ended.type == "runSucceeded"
