"""Where in a JSON document an answer stands: `result`, `choices[0].message.content`, `item[type=message].text`.

`[key=value]` leads on only from an object that has this value there; without quotes, as JSON or as plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from hooks.errors import UsageError
from hooks.jsonio import canonical

_STEP = re.compile(r"(?:\A|(?!\A)\.)([^.\[\]]+)|\[(\d+)\]|\[([^.\[\]=]+)=([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class _Condition:
    key: str
    value: str


_Step: TypeAlias = str | int | _Condition


class AnswerPath:
    """A parsed path. Raises UsageError for a text that is none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps: list[_Step] = []
        position = 0
        while position < len(text) and (match := _STEP.match(text, position)):
            self._steps.append(_step(match))
            position = match.end()
        if not text or position < len(text):
            raise UsageError(
                f"{text!r} is not a path into a JSON document.", fix="Write it like `result` or `choices[0].text`."
            )

    @property
    def last_key(self) -> str | None:
        """The key it ends with."""
        last = self._steps[-1]
        return last if isinstance(last, str) else None

    def find(self, document: Any, default: Any = None) -> Any:
        """What the document has there, or `default`."""
        found: Any = document
        for step in self._steps:
            try:
                found = _member(found, step)
            except LookupError:
                return default
        return found


def _step(match: re.Match[str]) -> _Step:
    key, index, tested, value = match.groups()
    if tested is not None:
        return _Condition(tested, value)
    return key if index is None else int(index)


def _member(holder: Any, step: _Step) -> Any:
    if isinstance(step, _Condition):
        if isinstance(holder, dict) and step.key in holder and _is_written(holder[step.key], step.value):
            return holder
        raise LookupError(step)
    if isinstance(step, int) and isinstance(holder, list):
        return holder[step]
    if isinstance(step, str) and isinstance(holder, dict):
        return holder[step]
    raise LookupError(step)


def _is_written(value: Any, text: str) -> bool:
    return value == text if isinstance(value, str) else canonical(value).decode() == text
