"""How places in a run are called, and which places a word means."""

from __future__ import annotations

import pytest

from hooks.events.payloads import (
    AttemptCreated,
    CancelRequested,
    NodeReference,
    NodeSucceeded,
    Payload,
    RunStarted,
    WaitClosed,
)
from hooks.ids import NodeId, RunId, attempt_id, gate_activity, wait_id, work_activity
from hooks.runtime.node_names import event_place, means, name_in_id, node_name

RUN = RunId("r-1")
DRAFT = NodeId("draft")


@pytest.mark.parametrize(
    ("scope", "item", "name"),
    [("", None, "draft"), ("", 3, "draft[3]"), ("rounds.2", None, "rounds.2/draft"), ("a.b.2", 0, "a.b.2/draft[0]")],
)
def test_an_id_and_a_name_say_the_same(scope: str, item: int | None, name: str) -> None:
    activity = work_activity(RUN, DRAFT, scope=scope, item=item)

    assert node_name(DRAFT, scope, item) == name
    assert name_in_id(activity) == name_in_id(attempt_id(activity, 2)) == name


def test_a_gate_and_its_waits_are_called_as_their_node() -> None:
    gate = gate_activity(RUN, DRAFT, scope="rounds.1")

    assert name_in_id(gate) == name_in_id(wait_id(gate, 2)) == "rounds.1/draft"
    assert name_in_id("draft") == "draft"


@pytest.mark.parametrize("word", ["draft", "draft[3]", "rounds.2/draft", "rounds.2/draft[3]"])
def test_a_word_may_leave_out_the_round_and_the_item(word: str) -> None:
    assert means(word, "rounds.2/draft[3]")


@pytest.mark.parametrize("word", ["draf", "rounds.1/draft", "draft[2]", "rounds", "rounds.2", ""])
def test_a_word_that_says_something_else_does_not_mean_it(word: str) -> None:
    assert not means(word, "rounds.2/draft[3]")


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        (RunStarted(), ""),
        (NodeSucceeded(node_id="draft", scope="rounds.1"), "rounds.1/draft"),
        (WaitClosed(wait_id=wait_id(gate_activity(RUN, DRAFT), 1), reason="failed"), "draft"),
        (CancelRequested(request_id="q", by="me"), ""),
        (CancelRequested(request_id="q", by="me", node=NodeReference(node_id="a", scope="l.1")), "l.1/a"),
        (
            AttemptCreated(
                activity_id=work_activity(RUN, DRAFT, item=1), attempt_id="", node_id="draft", attempt=1, item=1
            ),
            "draft[1]",
        ),
    ],
)
def test_an_event_names_its_place(payload: Payload, place: str) -> None:
    assert event_place(payload) == place
