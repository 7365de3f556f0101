# ruff: noqa: E501  (a row of a table is one line)
"""CEL, JSON Schema and regular expressions on an answer: verdicts, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.definition.model import Requirement
from hooks.sampling.answers import Answer
from hooks.sampling.checks import check_answer, vote_key
from hooks.sampling.verdicts import MOST_REASON, CannotEvaluateError, RawVerdict

TITLED = Answer('{"title": "long"}', {"title": "long"})
OBJECT = {"type": "object", "required": ["title"]}


def verdict(answer: Answer, **check: Any) -> RawVerdict:
    return check_answer(Requirement(name="r", **check), answer)


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        ({"check": "size(output.title) == 4"}, TITLED),
        ({"check": "output.startsWith('yes')"}, Answer("yes!")),
        ({"check": "!output"}, Answer("false", value=False)),
        ({"schema": OBJECT}, TITLED),
        ({"schema": OBJECT}, Answer('```json\n{"title": 1}\n```')),
        ({"schema": {"type": "null"}}, Answer("null")),
        ({"regex": "(?m)^b"}, Answer("a\nb")),
        ({"regex": '"title"'}, TITLED),
    ],
)
def test_an_answer_that_meets_it(check: dict[str, Any], answer: Answer) -> None:
    assert verdict(answer, **check) == RawVerdict(True)


@pytest.mark.parametrize(
    ("check", "answer", "reason"),
    [
        ({"check": "size(output.title) < 4"}, TITLED, "`size(output.title) < 4` is false"),
        ({"schema": {"properties": {"title": {"type": "number"}}}}, TITLED, 'at .title: "long" is not of type "number"'),
        ({"schema": OBJECT}, Answer(""), "the answer is empty"),
        ({"regex": "^b"}, Answer("ab"), "the answer does not match '^b'"),
    ],
)  # fmt: skip
def test_an_answer_that_fails_it_says_why_unless_the_requirement_does(
    check: dict[str, Any], answer: Answer, reason: str
) -> None:
    assert verdict(answer, **check) == RawVerdict(False, reason=reason)
    assert verdict(answer, **check, reason="No good.") == RawVerdict(False, reason="No good.")


def test_a_reason_is_bounded() -> None:
    reason = verdict(Answer(f'"{"x" * 10_000}"'), schema={"type": "number"}).reason

    assert reason is not None
    assert len(reason) < MOST_REASON + 40


@pytest.mark.parametrize(
    ("check", "answer", "said"),
    [
        ({"check": "size(output.titel) < 4"}, TITLED, ["`size(output.titel) < 4`", "titel"]),
        ({"check": "output.title"}, TITLED, ["`output.title` is neither true nor false, but 'long'"]),
        ({"check": "output.title > 4"}, Answer("plain"), ["`output.title > 4`"]),
        ({"check": "output.title >\n 4 +"}, TITLED, ["line 2, column"]),
        ({"regex": "(x"}, TITLED, ["'(x'", "unterminated subpattern"]),
        ({"schema": {"type": "objec"}}, TITLED, ["its schema"]),
    ],
)
def test_what_cannot_be_evaluated_is_no_verdict(check: dict[str, Any], answer: Answer, said: list[str]) -> None:
    with pytest.raises(CannotEvaluateError) as raised:
        verdict(answer, **check)

    assert raised.value.requirement == "r"
    for part in ["The requirement 'r' cannot be evaluated", *said]:
        assert part in str(raised.value)


def test_answers_are_voted_by_their_canonical_json_or_by_a_key() -> None:
    one, other = Answer("", {"a": 1, "b": 2}), Answer("", {"b": 2, "a": 1})

    assert vote_key(None, one) == vote_key(None, other) == b'{"a":1,"b":2}'
    assert vote_key("output.b", one) == b"2"
    assert vote_key(None, Answer("yes")) == b'"yes"'
    with pytest.raises(CannotEvaluateError, match=r"sampling\.key"):
        vote_key("output.c", one)
