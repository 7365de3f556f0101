"""A definition written for an older engine is accepted as it is, once its bots and executors are mapped in a config."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.definition.config import load_config
from hooks.definition.load import load_workflow
from hooks.definition.model import DecisionNode, Gate, HostExecutorNode, LoopNode, Retry, SubagentNode
from hooks.errors import DefinitionError, Problem

SAMPLE = Path(__file__).parents[2] / "sample_runs" / "seed_style"


def test_it_is_accepted_with_its_config() -> None:
    warnings: list[Problem] = []
    config = load_config(SAMPLE, {"HOME": "/nowhere"})
    workflow = load_workflow(SAMPLE / "workflow.json", config=config, warn=warnings.append)
    issues, rounds, publish, announce = workflow.nodes

    assert warnings == []
    assert workflow.require_gates
    assert [agent.name for agent in workflow.agents] == ["scribe"]
    assert [executor.name for executor in workflow.executors] == ["tracker", "wiki", "chat"]
    assert isinstance(issues, HostExecutorNode)
    assert issues.read_only
    assert isinstance(rounds, LoopNode)
    draft, verdict = rounds.body
    assert isinstance(draft, SubagentNode)
    assert (draft.model_options, draft.metadata) == ({"temperature": 0.2}, {"tool_policy": {"allow": []}})
    assert isinstance(verdict, DecisionNode)
    assert verdict.human_gate == Gate(prompt="Publish this?\n\n${draft.output.body}", deadline_ms=86_400_000)
    assert isinstance(publish, HostExecutorNode)
    assert publish.retry == Retry(max_attempts=2, backoff="fixed", base_ms=2_000, jitter=0.1)
    assert publish.input["title"] == {"$ref": "rounds.output.title"}
    assert isinstance(announce, HostExecutorNode)
    assert announce.unsafe_allow_ungated


def test_without_the_config_each_name_is_told_with_the_key_to_map_it() -> None:
    with pytest.raises(DefinitionError) as caught:
        load_workflow(SAMPLE / "workflow.json")

    keys = ["executors.tracker", "agents.scribe", "executors.wiki", "executors.chat"]
    assert len(caught.value.problems) == len(keys)
    for found, key in zip(caught.value.problems, keys, strict=True):
        assert f"`{key}` in .hooks/config.yaml" in (found.fix or "")


@pytest.mark.parametrize("script", ["tracker.py", "scribe.py", "wiki.py", "chat.py"])
def test_its_scripts_can_be_started(script: str) -> None:
    file = SAMPLE / script

    assert file.stat().st_mode & 0o111
    assert file.read_text().startswith("#!/usr/bin/env python3\n")
