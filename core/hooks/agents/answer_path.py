"""Where in a JSON document an answer stands: `result`, `choices[0].message.content`."""

from __future__ import annotations

import re
from typing import Any

from hooks.errors import UsageError

_STEP = re.compile(r"(?:\A|(?!\A)\.)([^.\[\]]+)|\[(\d+)\]")


class AnswerPath:
    """A parsed path. Raises UsageError for a text that is none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps: list[str | int] = []
        position = 0
        while position < len(text) and (match := _STEP.match(text, position)):
            key, index = match.groups()
            self._steps.append(key if index is None else int(index))
            position = match.end()
        if not text or position < len(text):
            raise UsageError(
                f"{text!r} is not a path into a JSON document.", fix="Write it like `result` or `choices[0].text`."
            )

    def find(self, document: Any, default: Any = None) -> Any:
        """What the document has there, or `default`."""
        found: Any = document
        for step in self._steps:
            try:
                found = _member(found, step)
            except LookupError:
                return default
        return found


def _member(holder: Any, step: str | int) -> Any:
    if isinstance(step, int) and isinstance(holder, list):
        return holder[step]
    if isinstance(step, str) and isinstance(holder, dict):
        return holder[step]
    raise LookupError(step)
