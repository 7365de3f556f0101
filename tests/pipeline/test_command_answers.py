"""What a command's JSON means; pure, so no process is started here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.pipeline.command_answers import merge_patch, read_answer
from hooks.pipeline.command_process import Ended
from hooks.pipeline.verdicts import AskPerson, Block, HookFault, Modify, Opinion
from tests.pipeline.builders import document_at

DOCUMENT = document_at("component_pre_execute")


def ended(answer: Any, *, exit: int = 0, stderr: bytes = b"") -> Ended:
    return Ended(exit=exit, stdout=json.dumps(answer).encode(), stderr=stderr)


@pytest.mark.parametrize(
    ("answer", "opinion"),
    [
        ({}, None),
        ({"decision": "allow", "reason": "fine"}, None),
        ({"decision": "approve"}, None),
        ({"decision": "block", "reason": "no", "code": "E1"}, Block("no", "E1")),
        ({"decision": "deny"}, Block("no reason given")),
        ({"decision": "ask", "reason": "big"}, AskPerson("big")),
        ({"decision": "ask", "modify": {"format": None}}, AskPerson("no reason given", {"format": None})),
        ({"decision": "ask", "hookSpecificOutput": {"permissionDecision": "deny"}}, Block("no reason given")),
        (
            {
                "decision": "allow",
                "hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "big"},
            },
            AskPerson("big"),
        ),
        ({"continue": True}, None),
        ({"continue": False, "stopReason": "enough"}, Block("enough")),
        ({"decision": "allow", "continue": False, "stopReason": "enough"}, Block("enough")),
        ({"decision": "block", "reason": "no", "modify": {"format": None}}, Block("no")),
        ({"modify": {"format": None}}, Modify({"format": None})),
        ({"decision": "allow", "modify": {"format": None}}, Modify({"format": None})),
        ({"patch": {"model_options": {"top_p": 1}}}, Modify({"model_options": {"temperature": 1, "top_p": 1}})),
        ({"patch": {"model_options": {"temperature": None}}}, Modify({"model_options": {}})),
        (
            {"modify": {"format": {}}, "patch": {"model_options": {"a": 1}}},
            Modify({"format": {}, "model_options": {"temperature": 1, "a": 1}}),
        ),
        (
            {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}},
            Block("no"),
        ),
        ({"decision": "allow", "hookSpecificOutput": {"permissionDecision": "deny"}}, Block("no reason given")),
        ({"hookSpecificOutput": {"updatedInput": {"path": "x"}}}, Modify({"input": {"path": "x"}})),
    ],
)
def test_an_object_on_stdout_is_an_opinion(answer: dict[str, Any], opinion: Opinion) -> None:
    assert read_answer(ended(answer), DOCUMENT, 1_000, "component_pre_execute").opinion == opinion


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"decison": "block"}, "its answer has an unknown key 'decison'; did you mean 'decision'?"),
        (
            {"block": True},
            "its answer has an unknown key 'block'; an answer takes decision, reason, code, modify, patch, "
            "systemMessage, continue, stopReason, hookSpecificOutput, suppressOutput, additionalContext",
        ),
        ({"decision": "perhaps"}, "`decision` is allow, block or ask, not 'perhaps'"),
        ({"decision": True}, "`decision` is allow, block or ask, not True"),
        ({"reason": 3}, "`reason` is text, not 3"),
        ({"continue": "false"}, "`continue` is true or false, not 'false'"),
        ({"modify": []}, "`modify` is an object, not []"),
        ({"patch": {"format": {}}, "modify": {"format": None}}, "both `modify` and `patch` change 'format'"),
    ],
)
def test_an_object_that_cannot_be_understood_is_a_failure(answer: dict[str, Any], fault: str) -> None:
    with pytest.raises(HookFault) as raised:
        read_answer(ended(answer), DOCUMENT, 1_000, "component_pre_execute")
    assert raised.value.reason == fault


def test_what_is_told_beside_the_opinion() -> None:
    answer = {
        "systemMessage": "careful",
        "suppressOutput": True,
        "additionalContext": "…",
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "colour": "red"},
    }

    assert read_answer(ended(answer), DOCUMENT, 1_000, "component_pre_execute").messages == [
        "careful",
        "suppressOutput is ignored",
        "additionalContext is ignored",
        "hookSpecificOutput.colour is ignored",
        "hookEventName is 'PreToolUse', but this is component_pre_execute",
    ]


def test_exit_2_is_a_no_whatever_stands_on_stdout() -> None:
    """B66."""
    answer = read_answer(
        ended({"decision": "allow"}, exit=2, stderr=b"never \xff\n"), DOCUMENT, 1_000, "component_pre_execute"
    )

    assert answer.opinion == Block("exit 2: never \ufffd")


# RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_patch_is_merged_as_rfc_7386_says(target: Any, patch: Any, result: Any) -> None:
    assert merge_patch(target, patch) == result


def _json() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    )


@given(_json(), _json())
def test_a_patch_applied_twice_is_applied_once(target: Any, patch: Any) -> None:
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once


def _answers() -> st.SearchStrategy[Any]:
    keys = ["decision", "reason", "code", "modify", "patch", "continue", "stopReason", "hookSpecificOutput", "x"]
    return st.dictionaries(st.sampled_from(keys), _json(), max_size=4).map(lambda found: json.dumps(found).encode())


@given(stdout=st.binary(max_size=40) | _answers(), exit=st.integers(-70, 255), timed_out=st.booleans())
def test_whatever_a_command_does_is_an_answer_or_its_failure(stdout: bytes, exit: int, timed_out: bool) -> None:
    try:
        answer = read_answer(
            Ended(exit=exit, stdout=stdout, stderr=stdout, is_timed_out=timed_out),
            DOCUMENT,
            1_000,
            "component_pre_execute",
        )
    except HookFault:
        return
    assert not timed_out
    assert exit == 0 or (exit == 2 and isinstance(answer.opinion, Block))


def test_a_no_behind_a_byte_order_mark_is_a_no() -> None:
    stdout = b"\xef\xbb\xbf" + json.dumps({"decision": "block", "reason": "no"}).encode()

    answer = read_answer(Ended(exit=0, stdout=stdout, stderr=b""), DOCUMENT, 1_000, "component_pre_execute")

    assert answer.opinion == Block("no")


def test_an_answer_in_utf_16_is_none() -> None:
    stdout = json.dumps({"decision": "block"}).encode("utf-16")

    with pytest.raises(HookFault, match="UTF-16"):
        read_answer(Ended(exit=0, stdout=stdout, stderr=b""), DOCUMENT, 1_000, "component_pre_execute")
