"""A policy tested on history: what it would have said, what that makes of the rest, and that nothing is touched."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from hooks.definition.model import BodyNode, CommandAgent, DecisionNode, Gate, HookEntry, HookMatch, LoopNode, Sampling
from hooks.errors import DefinitionError
from hooks.events.payloads import HookDecided
from hooks.pipeline.hook_set import resolve_hook_set
from hooks.runtime.node_names import reference_name
from hooks.runtime.replaying import Backtested, backtest_run
from tests.runtime.runs import CAT, Runs, agent_step, append
from tests.runtime.scripted import looking, scripted
from tests.runtime.test_gates_and_loops import answer
from tests.runtime.test_sampling_loop import GOOD


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def hook_of(tmp_path: Path, body: str, *on: str, name: str = "policy") -> HookEntry:
    (tmp_path / f"{name}.py").write_text(f"from hooks import ask, block, modify\ndef f(payload):\n{body}\n")
    return HookEntry(name=name, on=list(on), python=f"{name}.py:f", declared_in=str(tmp_path / "workflow.yaml"))


def backtested(runs: Runs, *entries: HookEntry) -> Backtested:
    return asyncio.run(backtest_run(runs.directory, resolve_hook_set(entries)))


def said(result: Backtested) -> list[tuple[str, str, bool]]:
    return [(finding.point.value, finding.said, finding.assumed) for finding in result.findings]


def assumed(result: Backtested) -> dict[str, bool]:
    """By place, whether what is found there is assumed; of several findings the last."""
    return {
        "run" if finding.place is None else reference_name(finding.place): finding.assumed
        for finding in result.findings
    }


def whole(directory: Path) -> dict[str, str]:
    files = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_hooks_that_look_on_are_heard_and_make_no_difference(runs: Runs, tmp_path: Path) -> None:
    runs.run(append("a", tmp_path / "out", "line\n"), append("b", tmp_path / "out", "line\n", depends=["a"]))
    staged = replace(hook_of(tmp_path, "    return block('no files')", "effect_pre_attempt"), mode="audit")

    result = backtested(runs, staged)

    assert said(result) == [("effect_pre_attempt", "audit", False)] * 2
    assert result.findings[0].audits == [("policy", "would_block", "no files")]
    assert result.totals.by_plugin == {"policy": {"audit": 2}}
    assert not result.stops
    assert not result.differs


def test_what_hooks_that_look_on_have_said_then_is_the_same(runs: Runs, tmp_path: Path) -> None:
    staged = replace(hook_of(tmp_path, "    return block('no files')", "effect_pre_attempt"), mode="audit")
    other = replace(hook_of(tmp_path, "    return block('no')", "effect_pre_attempt", name="other"), mode="audit")
    runs.run(append("a", tmp_path / "out", "line\n"), hook_entries=[staged])

    assert said(backtested(runs, staged)) == []
    assert said(backtested(runs, other)) == [("effect_pre_attempt", "audit", False)]


def test_a_block_that_would_only_be_noted_now_is_allowed(runs: Runs, tmp_path: Path) -> None:
    strict = hook_of(tmp_path, "    return block('no files')", "effect_pre_attempt")
    runs.run(append("a", tmp_path / "out", "line\n"), hook_entries=[strict])

    result = backtested(runs, replace(strict, mode="audit"))

    assert [word for _, word, _ in said(result)] == ["audit", "would_allow"]
    assert not result.stops


def test_a_block_is_found_in_a_run_that_had_no_hooks_and_nothing_is_touched(runs: Runs, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runs.run(agent_step("a"), append("b", out, "line\n", depends=["a"]), agent_step("c", depends=["b"]))
    before = whole(tmp_path)
    policy = hook_of(tmp_path, "    return block('not on a Friday', code='F')", "effect_pre_attempt")
    before |= whole(tmp_path)

    result = backtested(runs, policy)

    assert said(result) == [("effect_pre_attempt", "would_block", False)]
    assert result.stops
    (finding,) = result.findings
    assert (finding.node_id, finding.plugin, finding.reason, finding.code) == ("b", "policy", "not on a Friday", "F")
    after = {path: digest for path, digest in whole(tmp_path).items() if "__pycache__" not in path}
    assert after == before
    assert out.read_text() == "line\n"


def test_what_comes_after_a_difference_is_assumed_and_what_only_it_would_reach_is_unknown(
    runs: Runs, tmp_path: Path
) -> None:
    runs.run(agent_step("a"), agent_step("b", depends=["a"]), agent_step("x"))
    body = "    return block('no') if payload.hook == 'component_pre_execute' and payload.node_id != 'x' else None"
    policy = hook_of(tmp_path, body, "component_pre_execute", "component_post_error")

    assert said(backtested(runs, policy)) == [
        ("component_pre_execute", "would_block", False),
        ("component_post_error", "unknown", True),
        ("component_pre_execute", "would_block", True),
        ("component_post_error", "unknown", True),
    ]


def test_a_change_is_shown_from_before_any_hook(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["bad", "good"])
    live = looking(tmp_path, {"generation_pre_call 1": {"prompt": "Sing."}})
    runs.run(
        agent_step("a", "Say.", agent="writer", requirements=[GOOD], sampling=Sampling(loop_budget=2)),
        agents=[writer],
        hook_entries=[live],
    )
    policy = hook_of(tmp_path, "    return modify(prompt=payload.prompt + ' Softly.')", "generation_pre_call")

    result = backtested(runs, policy)

    point = "generation_pre_call"
    assert said(result) == [(point, "would_change", False), (point, "would_change", True)]
    assert [finding.changed["prompt"] for finding in result.findings] == [("Say.", "Say. Softly.")] * 2
    assert not result.stops


def test_a_policy_that_was_there_says_the_same(runs: Runs, tmp_path: Path) -> None:
    writer = scripted(tmp_path, "writer", ["bad", "bad"])
    policy = hook_of(tmp_path, "    return modify(loop_budget=2)", "sampling_loop_start")
    runs.run(
        agent_step("a", agent="writer", requirements=[GOOD], sampling=Sampling(loop_budget=4)),
        agents=[writer],
        hook_entries=[policy],
    )

    result = backtested(runs, policy)

    assert result.findings == []
    assert result.totals.asked == 1


@pytest.mark.parametrize(
    ("point", "body"),
    [
        ("generation_pre_call", "    return modify(prompt=payload.prompt + ' Softly.')"),
        ("validation_pre_check", "    return modify(requirements=[])"),
        ("component_pre_execute", "    return modify(model_options={})"),
    ],
)
def test_a_policy_whose_answer_stands_before_its_occasion_says_the_same(
    runs: Runs, tmp_path: Path, point: str, body: str
) -> None:
    """A call and a check are logged as they were permitted: what hooks said of them stands before."""
    writer = scripted(tmp_path, "writer", ["bad", "good"])
    policy = hook_of(tmp_path, body, point)
    runs.run(
        agent_step("a", "Say.", agent="writer", requirements=[GOOD], sampling=Sampling(loop_budget=2)),
        agents=[writer],
        hook_entries=[policy],
    )

    assert said(backtested(runs, policy)) == []


def test_a_question_that_a_person_has_answered_is_the_same(runs: Runs, tmp_path: Path) -> None:
    policy = hook_of(tmp_path, "    return ask('costly')", "generation_pre_call")
    runs.run(agent_step("a"), hook_entries=[policy])
    answer(runs, approved=True)
    runs.recover()

    result = backtested(runs, policy)

    assert said(result) == []
    assert not result.stops


def test_a_change_before_its_occasion_that_would_not_be_made_is_told(runs: Runs, tmp_path: Path) -> None:
    policy = hook_of(tmp_path, "    return modify(prompt=payload.prompt + ' Softly.')", "generation_pre_call")
    runs.run(agent_step("a"), hook_entries=[policy])
    lenient = hook_of(tmp_path, "    return None", "generation_pre_call", name="lenient")

    assert said(backtested(runs, lenient)) == [("generation_pre_call", "would_allow", False)]


@pytest.mark.parametrize("point", ["generation_pre_call", "validation_pre_check"])
def test_a_call_or_check_that_was_stopped_is_told_though_nobody_can_be_asked_about_it(
    runs: Runs, tmp_path: Path, point: str
) -> None:
    strict = hook_of(tmp_path, "    return block('no')", point)
    runs.run(agent_step("a", requirements=[GOOD]), hook_entries=[strict])
    elsewhere = hook_of(tmp_path, "    return None", "component_pre_execute", name="elsewhere")

    assert said(backtested(runs, elsewhere)) == [(point, "would_allow", False)]
    assert said(backtested(runs, strict)) == [(point, "unknown", False)]


def test_what_is_the_same_makes_nothing_after_it_assumed(runs: Runs, tmp_path: Path) -> None:
    same = hook_of(tmp_path, "    return modify(loop_budget=2)", "sampling_loop_start")
    runs.run(agent_step("a"), hook_entries=[same])
    new = hook_of(tmp_path, "    return block('no')", "generation_post_call", name="new")

    assert said(backtested(runs, same, new)) == [("generation_post_call", "would_block", False)]


def test_what_would_be_allowed_makes_what_comes_after_it_assumed(runs: Runs, tmp_path: Path) -> None:
    strict = hook_of(tmp_path, "    return modify(loop_budget=2)", "sampling_loop_start")
    runs.run(agent_step("a"), hook_entries=[strict])
    body = "    return block('no') if payload.hook == 'generation_post_call' else None"
    other = hook_of(tmp_path, body, "sampling_loop_start", "generation_post_call", name="other")

    assert said(backtested(runs, other)) == [
        ("sampling_loop_start", "would_allow", False),
        ("generation_post_call", "would_block", True),
    ]


def test_a_block_that_was_there_leaves_nothing_unknown(runs: Runs, tmp_path: Path) -> None:
    policy = hook_of(tmp_path, "    return block('no')", "component_pre_execute")
    heard = hook_of(tmp_path, "    return None", "component_post_error", name="heard")
    runs.run(agent_step("a"), hook_entries=[policy, heard])

    assert said(backtested(runs, policy, heard)) == []


def test_a_policy_that_would_let_pass_what_was_stopped_is_told(runs: Runs, tmp_path: Path) -> None:
    strict = hook_of(tmp_path, "    return block('no')", "component_pre_execute", name="strict")
    runs.run(agent_step("a"), hook_entries=[strict])
    lenient = hook_of(tmp_path, "    return None", "component_pre_execute", name="lenient")

    result = backtested(runs, lenient)

    assert said(result) == [("component_pre_execute", "would_allow", False)]
    assert not result.stops


def test_a_command_is_told_that_it_is_a_replay(runs: Runs, tmp_path: Path) -> None:
    runs.run(agent_step("a"))
    script = tmp_path / "policy.sh"
    script.write_text('#!/bin/sh\n[ "$HOOKS_REPLAY" = 1 ] && { echo replayed >&2; exit 2; }\nexit 0\n')
    script.chmod(0o755)
    entry = HookEntry(
        name="policy",
        on=["component_pre_execute"],
        argv=["./policy.sh"],
        declared_in=str(tmp_path / "workflow.yaml"),
    )

    (finding,) = backtested(runs, entry).findings

    assert (finding.said, finding.reason) == ("would_block", "exit 2: replayed")


def test_a_python_hook_is_told_that_it_is_a_replay(runs: Runs, tmp_path: Path) -> None:
    policy = hook_of(tmp_path, "    return block(f'replay: {ctx.is_replay}')", "component_pre_execute")
    file = tmp_path / "policy.py"
    file.write_text(file.read_text().replace("f(payload)", "f(payload, ctx)"))
    runs.run(agent_step("a"), hook_entries=[replace(policy, mode="audit")])

    (finding,) = backtested(runs, policy).findings

    (decided,) = runs.only(HookDecided).decisions
    assert (decided.reason, finding.reason) == ("replay: False", "replay: True")


def test_hooks_that_do_not_load_are_refused(runs: Runs, tmp_path: Path) -> None:
    runs.run(agent_step("a"))
    policy = hook_of(tmp_path, "    return None", "component_pre_execute")
    (tmp_path / "policy.py").write_text("raise RuntimeError('no')\n")

    with pytest.raises(DefinitionError, match=r"hook policy: .*RuntimeError: no"):
        backtested(runs, policy)


def test_nothing_is_asked_in_the_background(runs: Runs, tmp_path: Path) -> None:
    runs.run(agent_step("a"))
    mark = tmp_path / "asked"
    policy = hook_of(tmp_path, f"    open({str(mark)!r}, 'w').close()", "component_pre_execute")
    background = HookEntry(
        name="policy",
        on=policy.on,
        python=policy.python,
        mode="fire_and_forget",
        declared_in=policy.declared_in,
    )

    assert backtested(runs, background).findings == []
    assert not mark.exists()


def three_rounds(runs: Runs, *before: str, after: str = "send") -> None:
    """A loop `rounds` after the nodes `before`: what is beside `draft` in it stands there in no order with it."""
    body: list[BodyNode] = [
        agent_step("draft"),
        agent_step("beside"),
        DecisionNode(id="ok", human_gate=Gate(prompt="Good?"), depends=["draft", "beside"]),
    ]
    loop = LoopNode(id="rounds", body=body, decision="ok", max_iterations=3, depends=[*before])
    runs.run(*(agent_step(each) for each in before), loop, agent_step(after, depends=["rounds"]), agent_step("apart"))
    for approved in (False, False, True):
        answer(runs, approved=approved)
        runs.recover()


def test_a_difference_before_a_loop_makes_its_every_round_assumed(runs: Runs, tmp_path: Path) -> None:
    three_rounds(runs, "log")
    policy = hook_of(tmp_path, "    return block('no')", "component_pre_execute")

    assert assumed(backtested(runs, policy)) == {
        "log": False,
        "apart": False,
        **{f"rounds.{number}/{node}": True for number in (1, 2, 3) for node in ("draft", "beside")},
        "send": True,
    }


def test_a_difference_in_a_round_makes_the_rounds_after_it_assumed(runs: Runs, tmp_path: Path) -> None:
    three_rounds(runs)
    body = "    return block('no') if payload.loop_iteration != 1 or payload.node_id == 'apart' else None"
    policy = hook_of(tmp_path, body, "component_pre_execute")

    assert assumed(backtested(runs, policy)) == {
        "apart": False,
        "rounds.2/draft": False,
        "rounds.2/beside": False,
        "rounds.3/draft": True,
        "rounds.3/beside": True,
        "send": True,
    }


def test_a_difference_before_the_first_node_makes_all_that_follows_assumed(runs: Runs, tmp_path: Path) -> None:
    runs.run(agent_step("a"), agent_step("b"))
    policy = hook_of(tmp_path, "    return block('no')", "run_started", "component_pre_execute")

    assert assumed(backtested(runs, policy)) == {"run": False, "a": True, "b": True}


def test_an_item_makes_what_depends_on_its_node_assumed_and_no_other_item(runs: Runs, tmp_path: Path) -> None:
    runs.run(agent_step("each", for_each=["x", "y", "z"]), agent_step("sum", depends=["each"]))
    policy = hook_of(tmp_path, "    return block('no') if payload.item_index != 1 else None", "component_pre_execute")

    assert assumed(backtested(runs, policy)) == {"each[0]": False, "each[2]": False, "sum": True}


@pytest.mark.parametrize("point", ["wait_created", "wait_resolved", "component_post_error"])
def test_where_hooks_only_look_on_or_come_too_late_nothing_would_be_otherwise(
    runs: Runs, tmp_path: Path, point: str
) -> None:
    runs.run(
        agent_step("a", human_gate=Gate()),
        agent_step("b", agent="false", depends=["a"], allow_failure=True),
        agent_step("c", condition="always()", depends=["b"]),
        agents=[CAT, CommandAgent(name="false", argv=["false"])],
    )
    answer(runs, approved=True)
    runs.recover()
    failing = hook_of(tmp_path, "    raise ValueError('no')", point, name="failing")
    if point.startswith("wait"):
        failing = replace(failing, on_error="fail")
    strict = hook_of(
        tmp_path, "    return block('no') if payload.node_id == 'c' else None", "component_pre_execute", name="strict"
    )

    result = backtested(runs, failing)

    assert said(result) == [(point, "hook_error", False)]
    assert not result.stops
    assert ("component_pre_execute", "would_block", False) in said(backtested(runs, failing, strict))


def test_a_hook_of_an_answer_is_asked_about_the_node_that_it_is_for(runs: Runs, tmp_path: Path) -> None:
    runs.run(agent_step("each", for_each=["x", "y"], human_gate=Gate()), agent_step("a", human_gate=Gate()))
    for _ in range(2):
        answer(runs, approved=True)
    runs.recover()
    policy = replace(hook_of(tmp_path, "    return block('no')", "wait_resolved"), match=HookMatch(node=["a"]))

    assert assumed(backtested(runs, policy)) == {"a": False}


def test_what_comes_after_a_loop_is_assumed_after_a_difference_inside_it(runs: Runs, tmp_path: Path) -> None:
    body: list[BodyNode] = [
        agent_step("draft"),
        DecisionNode(id="ok", human_gate=Gate(prompt="Good?"), depends=["draft"]),
    ]
    loop = LoopNode(id="rounds", body=body, decision="ok", max_iterations=1)
    runs.run(loop, agent_step("send", depends=["rounds"]), agent_step("beside"))
    answer(runs, approved=True)
    runs.recover()
    policy = hook_of(tmp_path, "    return block('no')", "component_pre_execute")

    found = {finding.node_id: finding.assumed for finding in backtested(runs, policy).findings}

    assert found == {"draft": False, "beside": False, "send": True}
