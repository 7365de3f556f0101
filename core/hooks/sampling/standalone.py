"""One check in a process of its own, which can be ended: `python -m hooks.sampling.standalone`.

A regular expression, or CEL that goes through a list within a list, can take longer than anybody waits, and neither
lets go of the interpreter meanwhile: no thread, no timeout of the event loop could end it. A JSON Schema that refers to
itself can besides take all the memory there is; here it gets no more than MOST_BYTES. The question comes on stdin,
the verdict goes to stdout.
"""

from __future__ import annotations

import resource
import sys
from typing import Any

import msgspec

from hooks.definition.model import Requirement
from hooks.sampling.answers import Answer
from hooks.sampling.checks import check_answer
from hooks.sampling.verdicts import CannotEvaluateError, RawVerdict

MOST_BYTES = 2 * 1024**3


class Question(msgspec.Struct, frozen=True):
    """A requirement that needs nothing but the answer, and the answer."""

    requirement: Requirement
    text: str
    value: Any = None
    is_null: bool = False


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict, or why there is none."""

    verdict: RawVerdict | None = None
    problem: str | None = None


def reply_to(question: Question) -> Reply:
    try:
        return Reply(check_answer(question.requirement, Answer(question.text, question.value, question.is_null)))
    except CannotEvaluateError as error:
        return Reply(problem=error.problem)


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most > MOST_BYTES:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    sys.stdout.buffer.write(msgspec.json.encode(reply_to(question)))


if __name__ == "__main__":
    main()
