"""From events to spans: which there are, what they say, and that one that was told is never told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from hooks import RunDirectory, read_events
from hooks.definition.model import Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import ErrorInfo
from hooks.runtime.reading import definition_in
from hooks.telemetry.builder import SpanBuilder
from hooks.telemetry.spans import Span, span_id, trace_id
from tests.kernel.simulation import RUN
from tests.kernel.test_every_prefix import simulate, workflows, worlds

SAMPLES = Path(__file__).parents[2] / "sample_runs"
RECORDED = sorted(path.parent for path in SAMPLES.glob("*/recorded/*/events.jsonl"))
REVIEW = SAMPLES / "review_loop" / "recorded" / "review-loop-sample"


def told(run: Path, events: Sequence[Event], **fields: Any) -> list[Span]:
    directory = RunDirectory(run)
    builder = SpanBuilder(
        directory.logged_run_id(), definition_in(directory), resolve=directory.blob_store().resolve, **fields
    )
    return [span for event in events for span in builder.receive(event)]


def whole(run: Path, **fields: Any) -> list[Span]:
    return told(run, list(read_events(RunDirectory(run))), **fields)


def simulated(definition: Workflow, events: Sequence[Event]) -> list[Span]:
    builder = SpanBuilder(RUN, definition, resolve=lambda value: value)
    return [span for event in events for span in builder.receive(event)]


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: run.name)
def test_the_spans_of_a_recorded_run_are_one_tree(run: Path) -> None:
    spans = whole(run)
    ids = {span.span_id: span for span in spans}
    (root,) = [span for span in spans if span.parent_id is None]

    assert len(ids) == len(spans)
    assert root is spans[-1]
    assert {span.trace_id for span in spans} == {trace_id(RunDirectory(run).logged_run_id())}
    for span in spans[:-1]:
        outer = ids[span.parent_id or ""]
        assert outer.start <= span.start <= span.end <= outer.end, span
    assert all("unfinished" not in span.attributes.values() for span in spans)


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: run.name)
def test_what_is_told_of_a_beginning_is_the_beginning_of_what_is_told(run: Path) -> None:
    events = list(read_events(RunDirectory(run)))
    all_told = told(run, events)

    for length in range(0, len(events), 7):
        before = told(run, events[:length])
        assert before == all_told[: len(before)]


@settings(max_examples=60)
@given(workflows(), worlds())
def test_of_any_run_each_span_is_told_once_and_under_one_that_is(
    definition: Workflow, world: dict[tuple[str, int], ErrorInfo]
) -> None:
    simulation = simulate(definition, world)
    simulation.run()
    events = simulation.log
    spans = simulated(definition, events)
    cut = len(events) // 2
    before = simulated(definition, events[:cut])
    ids = [span.span_id for span in spans]

    assert len(set(ids)) == len(ids)
    assert before == spans[: len(before)]
    assert {span.parent_id for span in spans} <= {*ids, None}
    assert all(span.start <= span.end for span in spans)


def test_a_review_is_told_from_run_to_call() -> None:
    spans = whole(REVIEW)
    ids = {span.span_id: span for span in spans}

    def path(span: Span) -> list[str]:
        return ([] if span.parent_id is None else path(ids[span.parent_id])) + [span.name]

    judged = next(span for span in spans if span.attributes.get("hooks.generation.purpose") == "judge")
    assert path(judged) == [
        "invoke_workflow review-loop",
        "node rounds",
        "iteration rounds",
        "node draft",
        "invoke_agent reviewer",
        "chat",
    ]
    assert sorted(
        path(span)[-3] for span in spans if span.name == "invoke_agent reviewer" and len(path(span)) == 4
    ) == [
        "node notes",
        "node notes",
    ]
    assert (judged.kind, judged.attributes["gen_ai.agent.name"], judged.attributes["hooks.requirement"]) == (
        "client",
        "critic",
        "useful",
    )
    statuses = [span.attributes["hooks.status"] for span in spans if span.name == "iteration rounds"]
    assert statuses == ["rejected", "approved"]
    (hook,) = [span for span in spans if span.name == "hook effect_pre_attempt"]
    assert (hook.attributes["hooks.hook.verdict"], hook.attributes["hooks.hook.plugins"]) == (
        "ask",
        ["ask-before-publishing"],
    )
    assert path(hook)[-2] == "attempt publish"
    (written,) = [span for span in spans if span.name == "execute_tool file"]
    assert written.attributes["hooks.status"] == "done"
    assert str(written.attributes["gen_ai.tool.call.id"]).startswith("wf_")


def test_ids_follow_from_names_alone() -> None:
    """So that a rerun finds the span of the run it was forked from, and two exports are one."""
    root = whole(REVIEW)[-1]

    assert root.span_id == span_id("review-loop-sample", "run", 1)
    assert (len(root.trace_id), len(root.span_id)) == (32, 16)


def test_prompts_and_answers_are_told_only_when_asked_for() -> None:
    without, with_content = whole(REVIEW), whole(REVIEW, content=True)

    assert not any("messages" in name for span in without for name in span.attributes)
    assert "docstring" not in str(without)
    second = next(
        span
        for span in with_content
        if span.attributes.get("hooks.draw") == 2 and span.attributes["hooks.generation.purpose"] == "draw"
    )
    asked = str(second.attributes["gen_ai.input.messages"])
    assert asked.count('"role":"user"') == 2
    assert asked.count('"role":"assistant"') == 1
    assert second.attributes["gen_ai.output.messages"] == (
        '[{"role":"assistant","parts":[{"type":"text","content":"total lacks a docstring."}],"finish_reason":"stop"}]'
    )


def test_every_text_is_masked() -> None:
    def mask(text: str) -> str:
        return text.replace("reviewer", "[secret X]").replace("docstring", "[secret Y]")

    spans = whole(REVIEW, content=True, mask=mask)

    assert "reviewer" not in str(spans)
    assert "docstring" not in str(spans)
    assert any(span.name == "invoke_agent [secret X]" for span in spans)
