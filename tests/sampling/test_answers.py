"""The value in an agent's text."""

from __future__ import annotations

import pytest

from hooks.sampling.answers import ParsedAnswer, parse_answer, shown


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (' {"a": 1}\n', {"a": 1}),
        ("[]", []),
        ("null", None),
        ('Here it is:\n```json\n{"a": 1}\n```\nGood luck!', {"a": 1}),
        ("```\n5\n```", 5),
    ],
)
def test_json_is_found_alone_or_in_the_only_fenced_block(text: str, value: object) -> None:
    assert parse_answer(text) == ParsedAnswer(value)


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("", "the answer is empty"),
        (" \n", "the answer is empty"),
        ("Sure!", "the answer is not JSON: "),
        ('{"a": 1, "a": 2}', "the answer is not JSON: the key 'a' stands twice"),
        ("NaN", "the answer is not JSON: "),
        ("```\n{]\n```", "the fenced block of the answer is not JSON: "),
    ],
)
def test_what_has_no_value_says_why(text: str, beginning: str) -> None:
    parsed = parse_answer(text)

    assert parsed.value is None
    assert parsed.problem is not None
    assert parsed.problem.startswith(beginning)


def test_of_two_fenced_blocks_none_is_chosen() -> None:
    problem = parse_answer("```\n1\n```\n```\n2\n```").problem

    assert problem is not None
    assert problem.endswith("it has 2 fenced blocks, of which one would do")


def test_an_answer_is_shown_by_its_beginning() -> None:
    assert shown(" \n") == "The agent printed nothing."
    assert shown("no\n") == r"The answer: 'no\n'"
    assert shown("x" * 1_300) == f"The answer: {'x' * 300!r}… (+1,000 characters)"
