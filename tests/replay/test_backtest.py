"""A policy tested on history: what it would have said, what that makes of the rest, and that nothing is touched."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from hooks.definition.model import HookEntry, Sampling
from hooks.pipeline.hook_set import resolve_hook_set
from hooks.runtime.replaying import Backtested, backtest_run
from tests.runtime.runs import Runs, agent_step, append
from tests.runtime.scripted import looking, scripted
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


def whole(directory: Path) -> dict[str, str]:
    files = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


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
