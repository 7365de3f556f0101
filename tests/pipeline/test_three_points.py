"""Every kind of answer, at each of the three points, from a function and from a command."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tests.pipeline.builders import POINTS, HookFiles, outcomes, reason

PRE = POINTS[0]


@dataclass(frozen=True)
class Row:
    """One kind of answer: how a hook gives it, and what it comes to where fields are writable and where not."""

    python: str
    command: str
    outcome: str
    at_observe_only: str
    said: str = ""
    said_at_observe_only: str = ""


ROWS = {
    "allow": Row("return None", "exit 0", "allow", "allow"),
    "modify": Row(
        "return modify(model_options={'temperature': 0})",
        """echo '{"modify": {"model_options": {"temperature": 0}}}'""",
        "changed",
        "error",
        said_at_observe_only="model_options",
    ),
    "block": Row(
        "return block('too hot')",
        """echo '{"decision": "block", "reason": "too hot"}'""",
        "block",
        "block",
        "too hot",
        "too hot",
    ),
    "raise": Row("raise RuntimeError('broken')", "echo broken >&2; exit 1", "error", "error", "broken", "broken"),
    "time out": Row("time.sleep(60)", "sleep 60", "error", "error", "no answer within its timeout", "no answer within"),
    "wrong type": Row(
        "return modify(tool_calls_enabled='yes')",
        """echo '{"modify": {"tool_calls_enabled": "yes"}}'""",
        "error",
        "error",
        "'tool_calls_enabled' has a value of a wrong type",
        "tool_calls_enabled",
    ),
    "unknown field": Row(
        "return modify(model_option={})",
        """echo '{"modify": {"model_option": {}}}'""",
        "error",
        "error",
        "has no field 'model_option'; did you mean 'model_options'?",
        "has no field 'model_option'",
    ),
    "not writable": Row(
        "return modify(run_id=payload.run_id)",
        """echo '{"modify": {"run_id": "notes-20260101T120000Z-4f8a2c"}}'""",
        "error",
        "error",
        "'run_id' is not writable at component_pre_execute",
        "'run_id' is not writable at",
    ),
}


@pytest.mark.parametrize("kind", ["python", "command"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", ROWS)
def test_an_answer_comes_to(files: HookFiles, name: str, point: str, kind: str) -> None:
    row = ROWS[name]
    timeout_ms = 100 if name == "time out" else None
    entry = getattr(files, kind)(getattr(row, kind), on=point, timeout_ms=timeout_ms)

    verdict = asyncio.run(files.ask(entry, point=point))

    expected = row.outcome if point == PRE else row.at_observe_only
    assert verdict.outcome == expected
    if expected == "allow":
        assert verdict.decided is None
        return
    assert outcomes(verdict) == [expected]
    assert (row.said if point == PRE else row.said_at_observe_only) in reason(verdict)
    must_stop = expected != "changed" and point != "component_post_error"
    assert (verdict.violation is not None) is must_stop
    if verdict.violation is not None:
        assert verdict.violation.error_code == "PluginViolationError"
        assert verdict.violation.error_class == ("policy" if expected == "block" else "hook_error")
        assert verdict.violation.details["plugin"] == "policy"
        assert verdict.violation.details["hook"] == point
        assert verdict.violation.details["reason"] == reason(verdict)


@pytest.mark.parametrize("kind", ["python", "command"])
@pytest.mark.parametrize("name", ["raise", "time out", "wrong type", "unknown field", "not writable"])
def test_a_failure_of_a_hook_that_may_fail_is_recorded_and_passed_over(files: HookFiles, name: str, kind: str) -> None:
    row = ROWS[name]
    timeout_ms = 100 if name == "time out" else None
    entry = getattr(files, kind)(getattr(row, kind), timeout_ms=timeout_ms, on_error="ignore")
    after = files.python("return modify(format={})", "after")

    verdict = asyncio.run(files.ask(entry, after))

    assert outcomes(verdict) == ["ignored_error", "changed"]
    assert row.said in reason(verdict)
    assert verdict.violation is None
    assert verdict.changes == {"format": {}}
