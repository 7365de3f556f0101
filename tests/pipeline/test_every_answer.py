"""Every kind of answer, at each hook point, in each mode: what it comes to and what is logged."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hooks.definition.hook_points import MODES, RULES, HookType
from hooks.events.payloads import HookDecided
from hooks.pipeline.dispatch import Verdict
from tests.pipeline.builders import HookFiles, dispatch_of
from tests.pipeline.every_point import question_at

ANSWERS = ["allow", "modify", "block", "ask", "raise", "time out", "wrong type", "unknown field", "not writable"]
OF_A_HOOK = {"raise", "time out", "wrong type", "unknown field", "not writable"}
"""What is a failure of the hook wherever it is said."""

WRITABLE = {
    "component_pre_execute": ("model_options", "{'temperature': 0}", "'hot'"),
    "effect_pre_attempt": ("input", "{'path': 'OTHER.md'}", "'OTHER.md'"),
    "sampling_loop_start": ("loop_budget", "3", "'3'"),
    "generation_pre_call": ("prompt", "'Other.'", "3"),
    "validation_pre_check": ("requirements", "[]", "{}"),
    "validation_post_check": ("results", "[turned(payload.results[0])]", "[]"),
}
"""By point: a field that a hook may change, a value for it, and one of a wrong type."""


TURNED = """
def turned(result):
    return {**result.model_dump(mode="json", by_alias=True), "effective_passed": True}


"""


@dataclass(frozen=True)
class Expected:
    """What one answer comes to."""

    decision: str
    """The outcome that is recorded for the hook."""
    verdict: str
    stops: bool = False
    asks: bool = False


def expected(point: HookType, mode: str, answer: str) -> Expected:
    """HOOKS.md, section 2, in the plainest words."""
    decides = mode in ("sequential", "transform", "concurrent")
    may_modify = mode in ("sequential", "transform") and point in WRITABLE
    may_block = mode != "transform"
    may_ask = may_block and point in (
        "run_started",
        "component_pre_execute",
        "sampling_loop_start",
        "generation_pre_call",
        "effect_pre_attempt",
    )
    stops = decides and point not in ("component_post_error", "generation_error")
    if answer == "allow":
        return Expected("allow", "allow")
    if answer == "modify" and may_modify:
        return Expected("changed", "changed")
    if answer == "block" and may_block:
        return Expected("block", "block", stops=stops) if decides else Expected("would_block", "allow")
    if answer == "ask" and may_ask:
        return Expected("ask", "ask", asks=True) if decides else Expected("would_ask", "allow")
    return Expected("error", "error", stops=stops) if decides else Expected("ignored_error", "allow")


def body(point: HookType, answer: str) -> str:
    field, value, wrong = WRITABLE.get(point, ("params", "{}", "3"))
    return {
        "allow": "return None",
        "modify": f"return modify({field}={value})",
        "block": "return block('no', code='E1')",
        "ask": "return ask('sure?')",
        "raise": "raise RuntimeError('broken')",
        "time out": "await asyncio.sleep(60)",
        "wrong type": f"return modify({field}={wrong})",
        "unknown field": f"return modify({field}s={value})",
        "not writable": "return modify(run_id=payload.run_id)",
    }[answer]


CASES = [
    pytest.param(point, mode, answer, id=f"{point}-{mode}-{answer}")
    for point in HookType
    for mode in MODES
    for answer in ANSWERS
    if mode in RULES[point].modes
]


@pytest.mark.parametrize(("point", "mode", "answer"), CASES)
def test_an_answer_comes_to(files: HookFiles, point: HookType, mode: Any, answer: str) -> None:
    timeout_ms = 10 if answer == "time out" else None
    text = f"{TURNED}async def hook_(payload):\n    {body(point, answer)}"
    entry = files.python(text, on=point, mode=mode, timeout_ms=timeout_ms)

    verdict, later = asyncio.run(asked(files, entry, question_at(point)))

    wanted = expected(point, mode, answer)
    assert verdict.outcome == wanted.verdict
    assert bool(verdict.changes) is (wanted.decision == "changed")
    assert (verdict.violation is not None) is wanted.stops
    assert [question.reason for question in verdict.asks] == (["sure?"] if wanted.asks else [])
    recorded = later if mode == "fire_and_forget" else [verdict.decided] if verdict.decided else []
    assert [decision.outcome for decided in recorded for decision in decided.decisions] == (
        [] if wanted.decision == "allow" else [wanted.decision]
    )
    if wanted.stops:
        assert verdict.violation is not None
        assert verdict.violation.error_class == (
            "policy" if answer == "block" and mode != "transform" else "hook_error"
        )
        assert verdict.violation.details["plugin"] == "policy"
    if wanted.decision == "ignored_error" and mode == "audit":
        assert verdict.messages
        assert verdict.messages[0].startswith("policy: ignored: ")


COMMANDS = {
    "allow": ("exit 0", "allow"),
    "modify": ("""echo '{"modify": {"input": {"path": "OTHER.md"}}}'""", "changed"),
    "block": ("""echo '{"decision": "block", "reason": "no"}'""", "block"),
    "ask": ("""echo '{"decision": "ask", "reason": "sure?"}'""", "ask"),
    "raise": ("echo broken >&2; exit 1", "error"),
    "time out": ("sleep 60", "error"),
    "wrong type": ("""echo '{"modify": {"input": "OTHER.md"}}'""", "error"),
    "unknown field": ("""echo '{"modify": {"inputs": {}}}'""", "error"),
    "not writable": ("""echo '{"modify": {"run_id": "x"}}'""", "error"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_command_that_says_the_same_comes_to_the_same(files: HookFiles, answer: str) -> None:
    script, outcome = COMMANDS[answer]
    entry = files.command(script, on="effect_pre_attempt", timeout_ms=100 if answer == "time out" else None)

    verdict, _ = asyncio.run(asked(files, entry, question_at(HookType.EFFECT_PRE_ATTEMPT)))

    assert verdict.outcome == outcome == expected(HookType.EFFECT_PRE_ATTEMPT, "sequential", answer).verdict


@pytest.mark.parametrize("point", [point for point in HookType if not RULES[point].observe_only])
@pytest.mark.parametrize("mode", ["sequential", "transform", "concurrent"])
def test_a_failure_can_be_let_pass_and_is_told(files: HookFiles, point: HookType, mode: Any) -> None:
    entry = files.python("raise RuntimeError('broken')", on=point, mode=mode, on_error="ignore")

    verdict, _ = asyncio.run(asked(files, entry, question_at(point)))

    assert (verdict.outcome, verdict.violation) == ("allow", None)
    assert verdict.messages == ("policy: ignored: raised RuntimeError: broken",)


def test_an_audit_that_must_not_fail_blocks_by_failing(files: HookFiles) -> None:
    entry = files.python("raise RuntimeError('broken')", mode="audit", on_error="fail")

    verdict, _ = asyncio.run(asked(files, entry, question_at(HookType.COMPONENT_PRE_EXECUTE)))

    assert verdict.violation is not None
    assert verdict.violation.error_class == "hook_error"


async def asked(files: HookFiles, entry: Any, question: dict[str, Any]) -> tuple[Verdict, list[HookDecided]]:
    pipeline = files.pipeline(entry)
    await pipeline.open()
    verdict = await pipeline.dispatch(dispatch_of(**question))
    later = await pipeline.drain()
    await pipeline.close()
    return verdict, later


def test_every_case_is_there(tmp_path: Path) -> None:
    """Fifteen points where hooks decide, in five modes, and six where they look on, in two."""
    assert len(CASES) == (15 * 5 + 6 * 2) * len(ANSWERS)
