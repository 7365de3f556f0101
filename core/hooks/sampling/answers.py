"""An agent's answer as a value: alone, or as the only fenced block of what it wrote around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from hooks.errors import JsonBorderError
from hooks.jsonio import parse_strict

Json: TypeAlias = Any

_FENCED = re.compile(r"^[ \t]*```[^`\n]*\n(?P<body>.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent said: the text, and the value where it gave one, or where its text was parsed (output_schema).

    `is_null`: what was parsed is JSON null, a value like any other; else None stands for no value.
    """

    text: str
    value: Json = None
    is_null: bool = False

    @property
    def output(self) -> Json:
        """What it comes to: the value, else the text."""
        return self.text if self.value is None and not self.is_null else self.value


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The value of a text, or why it has none."""

    value: Json = None
    problem: str | None = None


def parse_answer(text: str) -> ParsedAnswer:
    """The JSON value a text holds, alone or as its only fenced block."""
    if not text.strip():
        return ParsedAnswer(problem="the answer is empty")
    try:
        return ParsedAnswer(parse_strict(text.strip().encode()))
    except (JsonBorderError, UnicodeEncodeError) as error:
        problem = f"the answer is not JSON: {error}"
    blocks = [match["body"] for match in _FENCED.finditer(text)]
    if len(blocks) != 1:
        return ParsedAnswer(
            problem=f"{problem}; it has {len(blocks)} fenced blocks, of which one would do" if blocks else problem
        )
    try:
        return ParsedAnswer(parse_strict(blocks[0].strip().encode()))
    except (JsonBorderError, UnicodeEncodeError) as error:
        return ParsedAnswer(problem=f"the fenced block of the answer is not JSON: {error}")


def shown(text: str) -> str:
    """The beginning of an answer, for whoever has to see why it did not do."""
    if not text.strip():
        return "The agent printed nothing."
    more = f"… (+{len(text) - _SHOWN:,} characters)" if len(text) > _SHOWN else ""
    return f"The answer: {text[:_SHOWN]!r}{more}"
