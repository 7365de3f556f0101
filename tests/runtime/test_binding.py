"""What binding an agent step puts into the log for its sampling loop."""

from __future__ import annotations

from hooks.definition.model import Judge, Requirement, Sampling, SubagentNode
from hooks.expressions.scope import RunScope
from hooks.ids import RunId
from hooks.runtime.binding import bind_step

WHO = {"activity_id": "r::work::a", "attempt_id": "r::work::a::att-1", "node_id": "a"}


def scope(item: object = None) -> RunScope:
    return RunScope(
        run_id=RunId("r"),
        params={"style": "dry", "words": 5, "odd": "${params.style}"},
        node_ids={"a"},
        output_of=lambda _: None,
        status_of=lambda _: None,
        item=item,
        index=None if item is None else 0,
    )


def test_commands_and_the_prompts_of_judges_are_bound_and_nothing_else_of_a_requirement() -> None:
    step = SubagentNode(
        id="a",
        agent="w",
        prompt="Write about ${item}.",
        requirements=[
            Requirement(name="c", command=["./check", "${params.words}", "$${x}", "${params.odd}"], reason="${no}"),
            Requirement(name="j", judge=Judge(agent="w", prompt="Is it ${params.style}, and about ${item}?"), weight=2),
            Requirement(name="r", regex="^${2}"),
        ],
        sampling=Sampling(strategy="best_of", loop_budget=3),
        tool_calls_enabled=True,
    )

    started = bind_step(step, scope("doors"), **WHO)

    assert started.requirements == [
        {
            "name": "c",
            "origin": "node",
            "reason": "${no}",
            "weight": 1.0,
            "command": ["./check", "5", "${x}", "${params.style}"],
        },
        {
            "name": "j",
            "origin": "node",
            "reason": None,
            "weight": 2,
            "judge": {"agent": "w", "prompt": "Is it dry, and about doors?", "threshold": 0.5},
        },
        {"name": "r", "origin": "node", "reason": None, "weight": 1.0, "regex": "^${2}"},
    ]
    assert started.strategy == {
        "strategy": "best_of",
        "loop_budget": 3,
        "on_exhausted": "fail",
        "parallel": 1,
        "key": None,
    }
    assert started.tool_calls_enabled


def test_a_step_that_says_nothing_of_sampling_has_none() -> None:
    started = bind_step(SubagentNode(id="a", agent="w", prompt="x"), scope(), **WHO)

    assert (started.requirements, started.strategy, started.tool_calls_enabled) == ([], None, False)
