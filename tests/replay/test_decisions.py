"""Decisions made again: every log is decided the same by its own definition, and a changed one is found out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from hooks.definition.model import AgentDeclaration, CommandAgent, Judge, Node, Requirement, Retry, Sampling, Workflow
from hooks.events.payloads import RetryScheduled
from hooks.kernel.decide import decide
from hooks.replay import decisions
from hooks.runtime.reading import read_run
from hooks.runtime.replaying import replay_run
from tests.runtime.runs import CAT, Runs, agent_step, sh
from tests.runtime.scripted import failing, scripted
from tests.runtime.test_sampling_loop import GOOD


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def differences(runs: Runs, definition: Workflow | None = None) -> list[tuple[str, tuple[str, ...]]]:
    """The event that would not be there, and what would be there instead."""
    return [
        (divergence.event.payload.type, tuple(payload.type for payload in divergence.enabled))
        for _, divergence in replay_run(runs.directory, definition)
        if divergence is not None
    ]


def with_nodes(runs: Runs, *nodes: Node) -> Workflow:
    return msgspec.structs.replace(read_run(runs.directory).definition, nodes=list(nodes))


def test_a_run_is_decided_the_same_again(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["bad", failing("retryable"), "good"])
    runs.run(
        agent_step(
            "a",
            agent="writer",
            requirements=[GOOD],
            sampling=Sampling(loop_budget=3),
            retry=Retry(max_attempts=3, base_ms=1),
        ),
        sh("b", "exit 1", depends=["a"], retry=Retry(max_attempts=3, base_ms=1, jitter=0.5), allow_failure=True),
        agent_step("c", "x", agent="writer", depends=["b"], condition="b.status == 'succeeded'"),
        agents=[writer],
    )

    assert RetryScheduled.type in runs.types
    assert differences(runs) == []


def test_a_definition_that_decides_otherwise_is_found_at_the_first_event(runs: Runs) -> None:
    runs.run(sh("b", "exit 1", retry=Retry(max_attempts=2, base_ms=1)))

    assert differences(runs, with_nodes(runs, sh("b", "exit 1", retry=Retry()))) == [
        ("retryScheduled", ("nodeFailed",))
    ]


def test_a_definition_without_a_node_cannot_have_its_events(runs: Runs) -> None:
    runs.run(agent_step("a"), agent_step("b", depends=["a"]))

    ((event, instead),) = differences(runs, with_nodes(runs, agent_step("a")))
    assert event == "attemptCreated"
    assert instead == ("runSucceeded",)


@pytest.mark.parametrize(
    ("fields", "changed"),
    [
        ({"prompt": "Something else."}, {"prompt": ("hello", "Something else.")}),
        ({"requirements": [GOOD]}, {"requirements": ([], [msgspec.to_builtins(GOOD)])}),
        ({"sampling": Sampling(loop_budget=2)}, {"sampling": (None, {"loop_budget": 2})}),
        ({"description": "the same", "timeout_ms": 90_000, "retry": Retry(max_attempts=5)}, None),
    ],
)
def test_a_definition_that_gives_a_step_something_else_to_do_parts_where_that_is_begun(
    runs: Runs, fields: dict[str, Any], changed: dict[str, tuple[Any, Any]] | None
) -> None:
    first, second = agent_step("a"), agent_step("b", depends=["a"])
    runs.run(first, second)

    steps = replay_run(runs.directory, with_nodes(runs, first, msgspec.structs.replace(second, **fields)))

    assert [
        (divergence.event.payload.type, divergence.changed) for _, divergence in steps if divergence is not None
    ] == ([] if changed is None else [("attemptCreated", changed)])


def test_a_definition_whose_agent_or_judge_is_another_parts_where_its_step_is_begun(runs: Runs, tmp_path: Path) -> None:
    judge = Requirement(name="fine", judge=Judge(agent="critic", prompt="Is it?"))
    critic = scripted(tmp_path, "critic", ['{"passed": true}'])
    runs.run(agent_step("a", requirements=[judge]), agents=[CAT, critic])
    own = read_run(runs.directory).definition

    def parts(*agents: AgentDeclaration) -> list[dict[str, tuple[Any, Any]]]:
        steps = replay_run(runs.directory, msgspec.structs.replace(own, agents=list(agents)))
        return [divergence.changed for _, divergence in steps if divergence is not None]

    assert parts(CAT, critic) == []
    rev, fine = CommandAgent(name="cat", argv=["rev"]), CommandAgent(name="critic", argv=["echo", "1"])
    assert parts(rev, critic) == [{"agent": declared("cat", CAT, rev)}]
    assert parts(CAT, fine) == [{"requirements": declared("critic", critic, fine)}]


def declared(name: str, *agents: AgentDeclaration) -> tuple[Any, ...]:
    return tuple({name: msgspec.to_builtins(agent)} for agent in agents)


def test_a_run_of_another_workflow_parts_at_once(runs: Runs) -> None:
    runs.run(agent_step("a"))

    ((event, _),) = differences(runs, msgspec.structs.replace(read_run(runs.directory).definition, workflow_id="other"))
    assert event == "runCreated"


def test_a_program_that_decides_otherwise_is_found(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of this one, that holds back what could start."""
    runs.run(agent_step("a"))
    monkeypatch.setattr(decisions, "decide", lambda state, definition, now: decide(state, definition, now)[:0])

    assert differences(runs) == [("runStarted", ())]
