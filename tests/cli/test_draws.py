"""What a person sees of the draws of an agent step: in show, logs, tail, and while it runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.command import CommandLine

ANSWERS = """\
#!/bin/sh
# The next line of the file named here; one that begins with ! is an error.
said=$(sed -n "$(($(cat "$1.asked" 2>/dev/null | wc -l) + 1))p" "$1")
echo asked >> "$1.asked"
echo "call $(wc -l < "$1.asked")" >&2
case "$said" in
!*) echo "${said#!}" >&2; exit 1 ;;
*) printf '%s' "$said" ;;
esac
"""
WORKFLOW = """\
workflow_id: drawn
version: 1
agents:
  writer: {{kind: command, argv: [./answers.sh, writer], error_classes: {{retryable: [busy]}}}}
  critic: {{kind: command, argv: [./answers.sh, critic]}}
defaults: {{retry: {{max_attempts: 2, base: {base}}}}}
nodes:
  draft:
    agent: writer
    prompt: Say it.
    requirements:
      - {{name: short, check: "size(output) < 10", reason: It is too long.}}
      - {{name: fine, judge: {{agent: critic, prompt: Is it fine?, threshold: 0.6}}}}
    sampling: {{strategy: {strategy}, loop_budget: 3, on_exhausted: {exhausted}}}
"""


@pytest.fixture
def drawing(cli: CommandLine) -> CommandLine:
    cli.write("answers.sh", ANSWERS)
    (cli.directory / "answers.sh").chmod(0o755)
    return cli


def drawn(
    cli: CommandLine,
    writer: list[str],
    critic: list[float],
    *words: str,
    strategy: str = "repair_template",
    exhausted: str = "fail",
    base: str = "1ms",
    verb: str = "run",
) -> Any:
    cli.write("writer", "".join(f"{line}\n" for line in writer))
    cli.write("critic", "".join(json.dumps({"score": score, "reason": f"worth {score}"}) + "\n" for score in critic))
    cli.write("drawn.yaml", WORKFLOW.format(strategy=strategy, exhausted=exhausted, base=base))
    return cli.hooks(verb, "drawn.yaml", "--run-id", "r", *words)


def node(cli: CommandLine) -> Any:
    return cli.hooks("show", "r", "--node", "draft", "--json").document


def test_each_draw_is_shown_with_what_was_wrong_with_it(drawing: CommandLine) -> None:
    ended = drawn(drawing, ["much too long", "!busy", "fairly", "good"], [0.9, 0.2, 0.8])

    assert ended.code == 0, ended.err
    sampling = node(drawing)["sampling"]
    assert {name: sampling[name] for name in ("strategy", "loop_budget", "success", "chosen", "iterations")} == {
        "strategy": "RepairTemplateStrategy",
        "loop_budget": 3,
        "success": True,
        "chosen": 3,
        "iterations": 3,
    }
    told = [
        (draw["passed"], draw["chosen"], draw["call"], draw["repair_type"], draw["text"]) for draw in sampling["draws"]
    ]
    assert told == [
        (False, False, 1, "template", "much too long"),
        (False, False, 4, "template", "fairly"),
        (True, True, 6, None, "good"),
    ]
    assert sampling["draws"][0]["validations"][0] == {
        "requirement": "short",
        "passed": False,
        "effective_passed": False,
        "score": None,
        "reason": "It is too long.",
        "raw_reason": "It is too long.",
        "changed_by": None,
        "weight": 1.0,
    }
    assert [draw["score"] for draw in sampling["draws"]] == [0.9, 1.2, 1.8]
    assert [(error["call"], error["errorMessage"]) for error in sampling["draws"][1]["errors"]] == [
        (3, "Agent writer ended with exit code 1. It said: call 2\nbusy")
    ]
    assert [(each["requirement"], each["agent"], each["call"]) for each in sampling["draws"][1]["judgements"]] == [
        ("fine", "critic", 5)
    ]
    assert all(draw["latency_ms"] is not None for draw in sampling["draws"])


def test_the_page_of_a_step_has_a_row_for_each_draw(drawing: CommandLine) -> None:
    drawn(drawing, ["much too long", "good"], [0.9, 0.8])

    page = drawing.hooks("show", "r", "--node", "draft").out.splitlines()

    start = page.index("RepairTemplateStrategy, 2 of 3 draws; draw 2 was chosen")
    rows = [line.split() for line in page[start + 1 : start + 7]]
    assert rows[0][:4] == ["DRAW", "CAME", "TO", "SCORE"]
    assert rows[1][:4] == ["1", "failed", "0.9", "template"]
    assert page[start + 3 : start + 5] == [
        "    short: failed: It is too long.",
        "    fine: passed (score 0.9): worth 0.9",
    ]
    assert rows[4][:5] == ["2", "passed,", "chosen", "1.8", "-"]


def test_the_page_has_the_draw_that_could_not_be_checked(cli: CommandLine) -> None:
    cli.write(
        "a.yaml",
        "workflow_id: w\nversion: 1\nagents: {cat: {kind: command, argv: [cat]}}\n"
        "nodes: {a: {agent: cat, prompt: hm, requirements: [{name: short, check: output.size < 3}]}}\n",
    )
    assert cli.hooks("run", "a.yaml", "--run-id", "r", "-q").code == 1

    page = cli.hooks("show", "r", "--node", "a").out.splitlines()

    (head,) = [line for line in page if line.startswith("RejectionSamplingStrategy")]
    assert head.startswith("RejectionSamplingStrategy, 1 of 1 draw; none was chosen: The requirement 'short' cannot be")
    assert page[page.index(head) + 2].split()[:3] == ["1", "not", "counted"]


def test_the_page_has_a_draw_that_is_under_way(cli: CommandLine) -> None:
    cli.write(
        "a.yaml",
        "workflow_id: w\nversion: 1\nagents: {slow: {kind: command, argv: [sleep, '60']}}\n"
        "nodes: {a: {agent: slow, prompt: hm, sampling: {loop_budget: 2}}}\n",
    )
    assert cli.hooks("run", "a.yaml", "--run-id", "r", "-q", "--timeout", "1s").code == 124

    page = cli.hooks("show", "r", "--node", "a").out.splitlines()

    head = page.index("RejectionSamplingStrategy, 1 of 2 draws")
    assert page[head + 2].split()[:3] == ["1", "under", "way"]


def test_the_page_says_where_a_python_agent_raised(cli: CommandLine) -> None:
    cli.write("boom.py", "def answer(prompt):\n    return {}[prompt]\n")
    cli.write(
        "a.yaml",
        "workflow_id: w\nversion: 1\nagents: {boom: {kind: python, callable: './boom.py:answer'}}\n"
        "nodes: {a: {agent: boom, prompt: hm}}\n",
    )
    assert cli.hooks("run", "a.yaml", "--run-id", "r", "-q").code == 1

    page = cli.hooks("show", "r", "--node", "a").out.splitlines()

    said = page.index("    call 1: KeyError: Agent boom: KeyError: 'hm'")
    assert 'boom.py", line 2, in answer' in "".join(page[said + 1 : said + 3])
    (error,) = cli.hooks("show", "r", "--node", "a", "--json").document["sampling"]["draws"][0]["errors"]
    assert error["stack_trace"].startswith("Traceback ")


def test_the_page_of_a_run_counts_the_draws(drawing: CommandLine) -> None:
    drawn(drawing, ["much too long", "good"], [0.9, 0.8])

    assert "1, 2 draws" in drawing.hooks("show", "r").out
    shown = drawing.hooks("show", "r", "--json").document["nodes"]["draft"]
    assert (shown["draws"], shown["loop_budget"]) == (2, 3)


def test_a_step_of_one_plain_answer_says_nothing_of_draws(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "r")

    assert "draw" not in cli.hooks("show", "r").out
    assert "DRAW" not in cli.hooks("show", "r", "--node", "loud").out
    assert cli.hooks("show", "r", "--node", "loud", "--json").document["sampling"]["chosen"] == 1
    assert cli.hooks("show", "r", "--node", "hello", "--json").document["sampling"] is None


def test_a_step_that_waits_for_its_next_try_says_when(drawing: CommandLine) -> None:
    ended = drawn(drawing, ["much too long", "!busy"], [0.9], "--timeout", "3s", base="1h")

    assert ended.code in (8, 124), ended.err
    shown = node(drawing)
    assert shown["status"] == "retrying"
    assert shown["next_try_at"] == shown["sampling"]["next_try_at"] is not None
    page = drawing.hooks("show", "r", "--node", "draft").out
    assert f"asks again at {shown['next_try_at']}" in page
    assert "call 3: ExitStatus: Agent writer ended" in page
    assert "1, draw 2 of 3" in drawing.hooks("show", "r").out


LENIENT = """\
from hooks import ValidationPostCheckPayload, ValidationPreCheckPayload, hook, HookType, modify

@hook(HookType.VALIDATION_POST_CHECK)
def lenient(payload: ValidationPostCheckPayload):
    results = payload.model_dump(by_alias=True)["results"]
    return modify(results=[{**result, "effective_passed": True} for result in results])

@hook(HookType.VALIDATION_PRE_CHECK)
def unjudged(payload: ValidationPreCheckPayload):
    return modify(requirements=[each for each in payload.requirements if each.name != "fine"])
"""


def test_what_hooks_did_to_a_verdict_is_shown_with_the_raw_one(drawing: CommandLine) -> None:
    drawing.write("lenient.py", LENIENT)
    drawing.write("hooks.yaml", "hooks: [{python: lenient.py:lenient}, {python: lenient.py:unjudged}]\n")

    ended = drawn(drawing, ["much too long"], [], "--hooks", "hooks.yaml")

    assert ended.code == 0, ended.err
    (draw,) = node(drawing)["sampling"]["draws"]
    (verdict,) = draw["validations"]
    assert (verdict["passed"], verdict["effective_passed"], verdict["changed_by"]) == (False, True, "lenient")
    assert draw["removed"] == [{"requirement": "fine", "removed_by": "unjudged"}]
    page = drawing.hooks("show", "r", "--node", "draft").out
    assert "short: passed (by lenient; without it failed: It is too long.)" in page
    assert "fine: not checked, removed by unjudged" in page


def test_logs_are_those_of_the_chosen_draw_or_of_the_one_that_is_asked_for(drawing: CommandLine) -> None:
    drawn(drawing, ["much too long", "good"], [0.9, 0.8])

    def said(*words: str) -> str:
        return drawing.hooks("logs", "r", "draft", *words).out

    assert said() == said("--draw", "2") == said("--call", "3") == "good"
    assert said("--stderr") == "call 2\n"
    assert said("--draw", "1") == said("--call", "1") == "much too long"
    assert json.loads(said("--call", "2")) == {"score": 0.9, "reason": "worth 0.9"}
    assert drawing.hooks("logs", "r", "draft", "--draw", "3").code == 7
    assert drawing.hooks("logs", "r", "draft", "--call", "9").code == 7
    assert drawing.hooks("logs", "r", "draft", "--call", "1", "--draw", "1").code == 2


def test_logs_of_a_loop_that_broke_off_are_those_of_the_call_that_failed(drawing: CommandLine) -> None:
    ended = drawn(drawing, ["much too long", "!broken"], [0.9])

    assert ended.code == 1
    assert drawing.hooks("logs", "r", "draft", "--stderr").out == "call 2\nbroken\n"
    assert "hooks logs r draft --stderr" in drawing.hooks("show", "r").out


def test_what_happens_in_the_loop_is_told_while_it_runs_in_a_line_for_each_repeated_draw(drawing: CommandLine) -> None:
    ended = drawn(drawing, ["much too long", "!busy", "fairly", "good"], [0.9, 0.2, 0.8])

    lines = [line.strip() for line in ended.err.splitlines() if "draw" in line and "draft" in line]
    assert lines == [
        "draft: draw 2, after short: It is too long.",
        "draft: draw 2 again in 1ms, after ExitStatus: Agent writer ended with exit code 1. It said: call 2\\nbusy",
        "draft: draw 3, after fine: worth 0.2",
    ]


def test_an_answer_that_is_only_the_best_is_told_as_that(drawing: CommandLine) -> None:
    ended = drawn(drawing, ["much too long"] * 3, [0.9, 0.9, 0.9], strategy="rejection", exhausted="use_best")

    assert ended.code == 0
    assert "draft: no draw passed, draw 1 is used" in ended.err
    page = drawing.hooks("show", "r", "--node", "draft").out
    assert "none was chosen: short: It is too long.; the best is draw 1" in page


def test_tail_says_what_each_event_of_a_loop_is_about(drawing: CommandLine) -> None:
    drawn(drawing, ["much too long", "!busy", "good"], [0.9, 0.8])

    lines = [line.split(None, 3) for line in drawing.hooks("tail", "r").out.splitlines()]
    told = [
        (kind, rest.removeprefix("draft").strip()) for _, _, kind, rest in (line for line in lines if len(line) > 3)
    ]
    assert [each for each in told if each[0].startswith(("sampling", "validation", "generationS", "generationR"))] == [
        ("samplingLoopStarted", "RepairTemplateStrategy, 3 draws at the most"),
        ("generationStarted", "draw 1: writer"),
        ("generationStarted", "draw 1 judged for fine: critic"),
        ("validationFinished", "draw 1: 1 of 2 passed"),
        ("samplingIteration", "draw 1 failed; short: It is too long."),
        ("samplingRepair", "after draw 1: template"),
        ("generationStarted", "draw 2: writer"),
        ("generationRetryScheduled", "draw 2 again in 1ms"),
        ("generationStarted", "draw 2: writer"),
        ("generationStarted", "draw 2 judged for fine: critic"),
        ("validationFinished", "draw 2: 2 of 2 passed"),
        ("samplingIteration", "draw 2 passed"),
        ("samplingLoopEnded", "draw 2 of 2"),
    ]
